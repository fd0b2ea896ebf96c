"""Word the notice that a user sees about statements of theirs that were saved."""

from __future__ import annotations

from collections.abc import Sequence

from ..text import display
from ..types.records import Learned
from .statements import DOUBT

_RULES = ("policy", "preference")
"""Kinds that are called rules where the user reads of them: see `docs/concepts/memory.md`."""


def word_notice(captured: Sequence[Learned]) -> str:
    """Return the notice about captured statements, with the commands that confirm or undo them."""
    lines = []
    for item in captured:
        memory = item.memory
        noun = "rule" if memory.kind in _RULES else memory.kind
        article = "an" if noun[0] in "aeiou" else "a"
        statement = f"{article} {noun}: “{display.format_line(memory.text, 200)}”"
        if item.action == "skipped":
            lines.append(f"Recollect did not save {statement}; {' '.join(item.notes)}")
        elif item.action == "withdrawn":
            lines.append(f"Recollect took back {statement} (recollect undo {item.id})")
        elif item.action == "reinforced" and memory.status == "active":
            lines.append(f"Recollect knows this already, {statement} ({item.id})")
        elif memory.status == "proposed":
            doubt = memory.detail.get(DOUBT, "")
            lines.append(
                f"Recollect proposes {statement}, not in use: {doubt}. "
                f"Your rule? recollect confirm {item.id} (or: recollect undo {item.id})"
            )
        else:
            where = " for all your projects" if memory.layer == "user" else ""
            statement = statement.replace(":", f"{where}:", 1)
            about = [note for note in item.notes if item.contradicts or item.action == "revised"]
            notes = "".join(f"; {note}" for note in about)
            lines.append(f"Recollect saved {statement}{notes} (recollect undo {item.id})")
    return "\n".join(lines)
