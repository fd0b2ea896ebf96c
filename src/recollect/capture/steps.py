"""Store the rules, decisions and corrections that a user states as memories.

Each statement is stored so that it stands alone, with the typed words and the rule that matched. A
statement that may be pasted text (`capture.authorship`) is only proposed, with the trust of pasted
text, until the user confirms it. The same statement of one conversation is stored once, whether the
hook or the transcript has it first.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence

from ..archive import sql as archive_sql
from ..fast_typing import NamedTuple
from ..index import sql as index_sql
from ..memory import hygiene, similarity
from ..memory import sql as memory_sql
from ..memory import sql_lists as memory_sql_lists
from ..memory import steps as memory_steps
from ..memory import steps_learn as memory_steps_learn
from ..memory import steps_neighbours as memory_steps_neighbours
from ..memory import steps_revisions as memory_steps_revisions
from ..secrets import redaction
from ..storage import sql as storage_sql
from ..storage.database import Tx
from ..text import display, messages
from ..types.records import Json, Learned, Memory, Message
from . import repetition, sentences, standalone

MARK = "captured"
DOUBT = "doubt"
"""The detail that says why a captured sentence is only proposed."""

MOST_EARLIER = 12
"""Earlier messages, and memories, that an instruction is compared with."""

MOST_QUOTES = 6
"""Quotes that a repeated instruction keeps."""


class Said(NamedTuple):
    """What a person said, where and when."""

    text: str
    session: str
    at: int


def written_in(message: Message, session: str, at: int) -> Said:
    """Return what a person wrote in a message; not what they added to it."""
    return Said(sentences.without_attachments(message), session, at)


def prepare(
    said: Said, new_id: Callable[[str], str], personal: bool = False
) -> list[memory_steps.PreparedMemory]:
    """Return the statements in a message that are worth keeping, ready to be written.

    `personal` puts preferences about the person into the user layer.
    """
    stated = sentences.capture(said.text)
    if not stated:
        return []
    # Secrets and private spans go first: what is cut out of the middle of one looks like none.
    clean = redaction.redact(said.text)
    if clean != said.text:
        stated = sentences.capture(clean)
    ready = []
    for found in stated:
        layer = "user" if personal and found.personal and not found.doubt else "project"
        if not hygiene.find_refusal(found.text, found.kind, layer):
            ready.append(_ready(found, said, new_id("m"), layer))
    return ready


def _ready(
    found: sentences.Captured, said: Said, id: str, layer: str
) -> memory_steps.PreparedMemory:
    detail: dict[str, Json] = {MARK: found.rule, "quote": found.quote}
    if found.doubt:
        detail[DOUBT] = found.doubt
    key = f"capture:{said.session}:{messages.text_digest(found.text)[:16]}"
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


def is_personal(ready: memory_steps.PreparedMemory) -> bool:
    """Check whether a statement goes to the user's space."""
    return ready.row.layer == "user"


class FoundBefore(NamedTuple):
    """The memories that a statement touches, read before the transaction that saves it."""

    around: memory_steps_neighbours.Neighbours
    is_new: bool
    """True if no memory in use has this text, for any files, and it was never forgotten."""


def look_up(tx: Tx, ready: Iterable[memory_steps.PreparedMemory]) -> dict[str, FoundBefore | None]:
    """Find the memories that statements change, contradict or repeat, by their ids; None for
    statements that were stored from the same message before."""
    return {item.row.id: _look_up(tx, item) for item in ready}


def _look_up(tx: Tx, item: memory_steps.PreparedMemory) -> FoundBefore | None:
    earlier = storage_sql.find_write(tx, f"learn {item.key}", item.row.text)
    kept = memory_sql.find_kept_texts(tx, [item.row])
    around = memory_steps_neighbours.NONE
    if item.row.status == "active":
        around = memory_steps_neighbours.find_neighbours(tx, item.row)
    if earlier and memory_sql.get(tx, earlier):
        return None
    return FoundBefore(around, not kept)


def keep(
    tx: Tx,
    ready: Iterable[memory_steps.PreparedMemory],
    now: int,
    looked: Mapping[str, FoundBefore | None] = {},
) -> list[Learned]:
    """Learn them; those of an earlier look at the same message are not learned again.

    A changed value revises what was said before, the opposite is linked to it. `looked` is what
    `look_up` found a moment ago; it cannot know what the same message states before the item.
    """
    done: list[Learned] = []
    for item in ready:
        said = [("", one.memory.text) for one in done]
        related = any(similarity.find_relation(one, ("", item.row.text)) for one in said)
        is_known = item.row.id in looked and not related
        found = looked[item.row.id] if is_known else _look_up(tx, item)
        if found:
            done.append(memory_steps_learn.learn(tx, item, now, found.around, is_new=found.is_new))
    return done


def find_repeated(tx: Tx, session: str, row: archive_sql.TypedRow) -> list[memory_steps.Draft]:
    """Return the instructions of a typed message that the user gave in an earlier session too.

    One that is a memory already gains this session as evidence; one that no rule of capture heard
    is captured now, with both quotes.
    """
    found = []
    for unit in repetition.units(_typed_text(row)):
        if len(unit.words) < 2:
            continue
        if memory := _known_as(tx, unit):
            draft = _said_again(memory, session, unit)
        else:
            draft = _habit(session, unit, _said_before(tx, session, row.at, unit))
        if draft is not None:
            found.append(draft)
    return found


def _typed_text(row: archive_sql.TypedRow) -> str:
    return sentences.without_attachments(messages.message_from_body(json.loads(row.body)))


def _known_as(tx: Tx, unit: repetition.SaidUnit) -> Memory | None:
    """Return the captured memory that states this instruction, in use or taken back."""
    filters = {"source": ["memory"], "label": ["user"], "status": ["active", "hidden"]}
    for match in index_sql.find_candidates(tx, sorted(unit.words), MOST_EARLIER, filters):
        memory = memory_sql.get(tx, match.ref)
        if memory is None or MARK not in memory.detail:
            continue
        if repetition.is_repeated(unit.words, repetition.words_of(memory.text)):
            return memory
    return None


def _said_again(
    memory: Memory, session: str, unit: repetition.SaidUnit
) -> memory_steps.Draft | None:
    """Return the memory with a new quote; None when the session counts already, or when the user
    took the memory back: asking for something is not asking for a rule."""
    place = f"memory://session/{session}"
    if memory.status != "active" or place in memory.evidence:
        return None
    quotes = _quotes(memory.detail.get("quotes", ()), session, unit.text)
    return memory_steps.Draft(
        text=memory.text,
        kind=memory.kind,
        detail={**memory.detail, "quotes": quotes},
        scope=memory.scope,
        evidence=(place,),
        priority=memory.priority,
        key=_repetition_key(session, memory.text),
    )


def _said_before(
    tx: Tx, session: str, at: int, unit: repetition.SaidUnit
) -> list[tuple[str, repetition.SaidUnit]]:
    """Return what the user asked for in earlier sessions that is the same, with its session."""
    filters: dict[str, list[str] | list[int]] = {
        "source": ["message"],
        "kind": ["user"],
        "label": ["user"],
        "until": [at],
    }
    found = []
    same = False
    for match in index_sql.find_candidates(tx, sorted(unit.words), MOST_EARLIER, filters):
        row = archive_sql.message(tx, match.ref, match.seq) if match.ref != session else None
        if row is None:
            continue
        for one in repetition.units(_typed_text(archive_sql.TypedRow(row.seq, row.body, row.at))):
            same = same or repetition.is_repeated(unit.words, one.words)
            found.append((match.ref, one))
    return found if same else []


def _habit(
    session: str, unit: repetition.SaidUnit, earlier: list[tuple[str, repetition.SaidUnit]]
) -> memory_steps.Draft | None:
    """Return the draft of a repeated instruction; None for a new one."""
    if not earlier:
        return None
    best = repetition.pick_fullest(unit, (one for _, one in earlier))
    text = standalone.order_of(best.text)
    if standalone.points_elsewhere(text) or hygiene.find_refusal(text, "preference", "project"):
        return None
    same = [(place, one) for place, one in earlier if repetition.is_repeated(unit.words, one.words)]
    quotes: list[Json] = []
    for place, one in (*same, (session, unit)):
        quotes = _quotes(quotes, place, one.text)
    return memory_steps.Draft(
        text=text,
        kind="preference",
        detail={MARK: "repetition", "quote": best.text, "quotes": quotes},
        evidence=tuple(dict.fromkeys(f"memory://session/{quote['session']}" for quote in quotes)),
        priority="normal",
        key=_repetition_key(session, text),
    )


def _quotes(quotes: Iterable[Json], session: str, text: str) -> list[Json]:
    """Add what was said in a session, once a session; the first and the newest are kept."""
    kept = [quote for quote in quotes if quote["session"] != session]
    kept.append({"session": session, "text": text})
    return kept if len(kept) <= MOST_QUOTES else [kept[0], *kept[-MOST_QUOTES + 1 :]]


def _repetition_key(session: str, text: str) -> str:
    return f"repetition:{session}:{messages.text_digest(text)[:16]}"


def meant_before(
    session: str, before: archive_sql.TypedRow, row: archive_sql.TypedRow
) -> memory_steps.Draft | None:
    """Return the message before, when this one only asks to remember it."""
    if not standalone.means_what_was_before(_typed_text(row)):
        return None
    meant = _typed_text(before).strip()
    if len(meant) > sentences.LONGEST_TOGETHER or sentences.find_pasted(meant):
        return None
    if hygiene.find_refusal(meant, "fact", "project"):
        return None
    return memory_steps.Draft(
        text=meant,
        kind="fact",
        detail={MARK: "remember", "quote": meant},
        evidence=(f"memory://session/{session}",),
        priority="high",
        key=f"capture:{session}:{messages.text_digest(meant)[:16]}",
    )


def list_captured(tx: Tx, limit: int) -> list[Memory]:
    """Return the captured memories that are in force or wait for confirmation, newest first."""
    found = [
        memory
        for origin, status in (("user", "active"), ("tool", "proposed"))
        for memory in memory_sql_lists.list_open(tx, {"origin": origin, "status": status}, 10_000)
        if MARK in memory.detail
    ]
    return sorted(found, key=lambda memory: (-memory.first_seen, memory.id))[:limit]


def undo(tx: Tx, id: str, now: int) -> Memory | None:
    """Hide a captured memory; None when there is none with this id. What it took the place of is
    in use again.

    It stays searchable, and said again it is back.
    """
    memory = memory_steps_revisions.find(tx, id)
    if memory is None or MARK not in memory.detail:
        return None
    memory_steps_neighbours.take_back(tx, memory, now)
    return memory._replace(status="hidden")


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
                f"Your rule? recollect confirm {item.id} (or: recollect undo {item.id})"
            )
        else:
            where = " for all your projects" if memory.layer == "user" else ""
            said = said.replace(":", f"{where}:", 1)
            lines.append(f"Recollect noted {said} (recollect undo {item.id})")
    return "\n".join(lines)
