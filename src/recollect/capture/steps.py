"""Capture: what a person states as a rule, a preference or a correction becomes a memory.

The sentence is kept verbatim with the words it was found by, so that the person can see why and
take it back. One that may be pasted text (`capture.authorship`) is kept as proposed, with the
trust of a pasted text: it is no rule until the person confirms it. The same sentence of the same
conversation is learned once, whether the hook saw it first or the transcript.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..errors import NotFound
from ..index import sql as index_sql
from ..memory import hygiene
from ..memory import sql as memory_sql
from ..memory import steps as memory_steps
from ..secrets import redaction
from ..storage.database import Tx
from ..text import addresses, display, messages
from ..types.records import Learned, Memory, Message
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


def prepare(said: Said, new_id: Callable[[str], str]) -> list[memory_steps.PreparedMemory]:
    """The statements in a message that are worth keeping, ready to be written."""
    stated = sentences.capture(said.text)
    if not stated:
        return []
    # Secrets and private spans go first: what is cut out of the middle of one looks like none.
    clean = redaction.redact(said.text)
    if clean != said.text:
        stated = sentences.capture(clean)
    ready = []
    for found in stated:
        if hygiene.find_refusal(found.text, found.kind, "project"):
            continue
        detail = {MARK: found.rule, "quote": found.text}
        key = f"capture:{said.session}:{messages.text_digest(found.text)[:16]}"
        draft = memory_steps.Draft(
            text=found.text,
            kind=found.kind,
            detail={**detail, DOUBT: found.doubt} if found.doubt else detail,
            evidence=(f"memory://session/{said.session}",),
            # Doubted, it has the priority of its kind: only a person makes something critical.
            priority="" if found.doubt else found.priority,
            # Typed after it was pasted, it is another statement.
            key=f"{key}:proposed" if found.doubt else key,
        )
        origin = "tool" if found.doubt else "user"
        ready.append(
            memory_steps.prepare(draft, origin, said.at, new_id("m"), propose=bool(found.doubt))
        )
    return ready


def keep(tx: Tx, ready: list[memory_steps.PreparedMemory], now: int) -> list[Learned]:
    """Learn them; those of an earlier look at the same message are not learned again."""
    done = [memory_steps.learn(tx, item, now) for item in ready]
    return [learned for learned in done if learned.action != "unchanged"]


def listing(tx: Tx, limit: int) -> list[Memory]:
    """What was captured and is in force or waits to be confirmed, newest first."""
    found = [
        memory
        for origin, status in (("user", "active"), ("tool", "proposed"))
        for memory in memory_sql.list_open(tx, {"origin": origin, "status": status}, 10_000)
        if MARK in memory.detail
    ]
    return sorted(found, key=lambda memory: (-memory.first_seen, memory.id))[:limit]


def undo(tx: Tx, id: str) -> Memory:
    """Take a captured memory out of use. It stays searchable, and said again it is back."""
    memory = memory_sql.get(tx, id)
    if memory is None:
        memory = memory_sql.get(
            tx, addresses.pick_unique_id(id, memory_sql.find_ids_starting_with(tx, id))
        )
    if memory is None or MARK not in memory.detail:
        raise NotFound(
            "there is no captured memory with this id",
            where=id,
            hint="`recollect capture list` shows what was captured",
        )
    memory_sql.update(tx, memory.id, {"status": "archived"})
    index_sql.set_status(tx, "memory", memory.id, "archived")
    return memory._replace(status="archived")


def notice(captured: Sequence[Learned]) -> str:
    """Return the lines that tell the user what was captured, and how to confirm or undo it."""
    lines = []
    for item in captured:
        memory = item.memory
        said = f"a {memory.kind}: “{display.format_line(memory.text, 200)}”"
        if memory.status == "proposed":
            doubt = memory.detail.get(DOUBT, "")
            lines.append(
                f"Recollect proposes {said}, not in use: {doubt}. "
                f"Your rule? recollect confirm {item.id} (or: recollect capture undo {item.id})"
            )
        else:
            lines.append(f"Recollect noted {said} (recollect capture undo {item.id})")
    return "\n".join(lines)
