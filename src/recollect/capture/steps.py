"""Capture: what a person states as a rule, a decision or a correction becomes a memory.

The statement is kept so that it stands alone, with the words that were typed and the rule that
heard it. One that may be pasted text (`capture.authorship`) is only proposed, with the trust of a
pasted text, until the person confirms it. The same statement of the same conversation is learned
once, whether the hook saw it first or the transcript.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..index import sql as index_sql
from ..memory import hygiene, steps_versions
from ..memory import sql as memory_sql
from ..memory import steps as memory_steps
from ..secrets import redaction
from ..storage.database import Tx
from ..text import addresses, digests, display
from ..types.records import Json, Learned, Memory, Message
from . import sentences

MARK = "captured"
DOUBT = "doubt"
"""The detail that says why a captured sentence is only proposed."""


class Said(NamedTuple):
    """What a person said, where and when."""

    text: str
    session: str
    at: int


def written_in(message: Message, session: str, at: int) -> Said:
    """What a person wrote in a message; not what they added to it."""
    return Said(sentences.without_attachments(message), session, at)


def prepare(
    said: Said, new_id: Callable[[str], str], personal: bool = False
) -> list[memory_steps.Prepared]:
    """Return the statements in a message that are worth keeping, ready to be written.

    `personal` puts preferences about the person into the user layer.
    """
    stated = sentences.capture(said.text)
    if not stated:
        return []
    # Secrets and private spans go first: what is cut out of the middle of one looks like none.
    clean = redaction.safe(said.text)
    if clean != said.text:
        stated = sentences.capture(clean)
    ready = []
    for found in stated:
        layer = "user" if personal and found.personal and not found.doubt else "project"
        if not hygiene.refusal(found.text, found.kind, layer):
            ready.append(_ready(found, said, new_id("m"), layer))
    return ready


def _ready(found: sentences.Captured, said: Said, id: str, layer: str) -> memory_steps.Prepared:
    detail: dict[str, Json] = {MARK: found.rule, "quote": found.quote}
    if found.doubt:
        detail[DOUBT] = found.doubt
    key = f"capture:{said.session}:{digests.text_digest(found.text)[:16]}"
    draft = memory_steps.Draft(
        text=found.text,
        kind=found.kind,
        detail=detail,
        scope=found.scope if layer == "project" else (),
        evidence=(f"memory://session/{said.session}",),
        # Doubted, it has the priority of its kind: only a person makes something critical.
        priority="" if found.doubt else found.priority,
        layer=layer,
        # Typed after it was pasted, it is another statement.
        key=f"{key}:proposed" if found.doubt else key,
    )
    origin = "tool" if found.doubt else "user"
    return memory_steps.prepare(draft, origin, said.at, id, propose=bool(found.doubt))


def is_personal(ready: memory_steps.Prepared) -> bool:
    """Check whether a statement goes to the user's space."""
    return ready.row.layer == "user"


def keep(tx: Tx, ready: list[memory_steps.Prepared], now: int) -> list[Learned]:
    """Learn them; those of an earlier look at the same message are not learned again.

    A changed value revises what was said before, the opposite is linked to it.
    """
    done = []
    for item in ready:
        around = steps_versions.NONE
        if item.row.status == "active":
            around = steps_versions.neighbours(tx, item.row)
        done.append(memory_steps.learn(tx, item, now, around))
    return [learned for learned in done if learned.action != "unchanged"]


def listing(tx: Tx, limit: int) -> list[Memory]:
    """What was captured and is in force or waits to be confirmed, newest first."""
    found = [
        memory
        for origin, status in (("user", "active"), ("tool", "proposed"))
        for memory in memory_sql.listing(tx, {"origin": origin, "status": status}, 10_000)
        if MARK in memory.detail
    ]
    return sorted(found, key=lambda memory: (-memory.first_seen, memory.id))[:limit]


def undo(tx: Tx, id: str) -> Memory | None:
    """Take a captured memory out of use; None when there is none with this id.

    It stays searchable, and said again it is back.
    """
    memory = memory_sql.get(tx, id)
    if memory is None and (ids := memory_sql.starting_with(tx, id)):
        memory = memory_sql.get(tx, addresses.only(id, ids))
    if memory is None or MARK not in memory.detail:
        return None
    memory_sql.update(tx, memory.id, {"status": "archived"})
    index_sql.set_status(tx, "memory", memory.id, "archived")
    return memory._replace(status="archived")


def notice(captured: Sequence[Learned]) -> str:
    """Return the lines that tell the user what was captured, and how to confirm or undo it."""
    lines = []
    for item in captured:
        memory = item.memory
        said = f"a {memory.kind}: “{display.one_line(memory.text, 200)}”"
        if memory.status == "proposed":
            doubt = memory.detail.get(DOUBT, "")
            lines.append(
                f"Recollect proposes {said}, not in use: {doubt}. "
                f"Your rule? recollect confirm {item.id} (or: recollect capture undo {item.id})"
            )
        else:
            lines.append(f"Recollect noted {said} (recollect capture undo {item.id})")
    return "\n".join(lines)
