"""Store the rules, decisions and corrections that a user states as memories.

Each statement is stored in a form that makes sense alone, with the typed words and the rule. A
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
from ..memory import lifecycle as memory_lifecycle
from ..memory import sql as memory_sql
from ..memory import sql_lists as memory_sql_lists
from ..memory import steps as memory_steps
from ..memory import steps_learn as memory_steps_learn
from ..memory import steps_neighbours as memory_steps_neighbours
from ..memory import steps_revisions as memory_steps_revisions
from ..secrets import redaction
from ..storage import sql as storage_sql
from ..storage.database import Tx
from ..text import messages
from ..types.records import Json, Learned, Memory, Message
from . import repetition, sentences, standalone, statements

MARK = memory_lifecycle.CAPTURED
MOST_EARLIER = 12
"""Earlier messages, and memories, that an instruction is compared with."""

MOST_QUOTES = 6
"""Quotes that a repeated instruction keeps."""


class UserMessage(NamedTuple):
    """The typed text of a message, its session and time."""

    text: str
    session: str
    at: int


def written_in(message: Message, session: str, at: int) -> UserMessage:
    """Return the typed text of a message, without attachments."""
    return UserMessage(sentences.without_attachments(message), session, at)


def prepare(
    message: UserMessage, new_id: Callable[[str], str], personal: bool = False
) -> list[memory_steps.PreparedMemory]:
    """Return the statements in a message that are worth keeping, ready to be written.

    `personal` puts preferences about the person into the user layer.
    """
    stated = _capture(message.text)
    if not stated:
        return []
    # Redact first: a sentence cut out of the middle of a secret does not look like one.
    clean = redaction.redact(message.text)
    if clean != message.text:
        stated = _capture(clean)
    ready = []
    for found in stated:
        layer = "user" if personal and found.personal and not found.doubt else "project"
        if not hygiene.find_refusal(found.text, found.kind, layer):
            ready.append(_prepare_one(found, message, new_id("m"), layer))
        if personal and found.withdraws and not found.doubt:
            # The rule may be in the other space.
            other = found._replace(rule=statements.WITHDRAWAL)
            place = "project" if layer == "user" else "user"
            ready.append(_prepare_one(other, message, new_id("m"), place))
    return ready


def _capture(text: str) -> list[sentences.Captured]:
    """Return the statements of a message, with those that take a rule back."""
    stated = sentences.capture(text)
    if not statements.may_withdraw(text):
        return stated
    from . import withdrawals  # few messages take something back

    return withdrawals.add_withdrawals(text, stated)


def _prepare_one(
    found: sentences.Captured, message: UserMessage, id: str, layer: str
) -> memory_steps.PreparedMemory:
    detail: dict[str, Json] = {MARK: found.rule, "quote": found.quote}
    if found.doubt:
        detail[statements.DOUBT] = found.doubt
    key = f"capture:{message.session}:{messages.text_digest(found.text)[:16]}"
    draft = memory_steps.Draft(
        text=found.text,
        kind=found.kind,
        detail=detail,
        scope=found.scope if layer == "project" else (),
        evidence=(f"memory://session/{message.session}",),
        # A doubted statement has the priority of its kind: only a person can make it critical.
        priority="" if found.doubt else found.priority,
        layer=layer,
        # The same text, pasted and later typed, is stored twice: as proposed and as stated.
        key=f"{key}:proposed" if found.doubt else key,
    )
    origin = "tool" if found.doubt else "user"
    ready = memory_steps.prepare(draft, origin, message.at, id, propose=bool(found.doubt))
    return ready._replace(withdraws=None if found.doubt else found.withdraws)


def is_personal(ready: memory_steps.PreparedMemory) -> bool:
    """Check whether a statement goes to the user's space."""
    return ready.row.layer == "user"


def is_withdrawal(ready: memory_steps.PreparedMemory) -> bool:
    """Check whether a sentence takes a rule back and states nothing else."""
    return bool(ready.withdraws) and ready.memory.detail[MARK] == statements.WITHDRAWAL


def _is_order(ready: memory_steps.PreparedMemory) -> bool:
    """Check whether the whole sentence takes an order back: no other statement follows it."""
    return bool(ready.withdraws and statements.Withdrawal(*ready.withdraws).is_alone)


def without_answered(
    ready: Sequence[memory_steps.PreparedMemory], looked: Mapping[str, FoundBefore | None]
) -> list[memory_steps.PreparedMemory]:
    """Leave out the orders to take back a rule that took it back in the other space: they state
    nothing beside."""
    done = {
        item.row.text
        for item in ready
        if is_withdrawal(item) and (found := looked.get(item.row.id)) and found.withdrawn
    }
    return [
        item
        for item in ready
        if is_withdrawal(item) or not (_is_order(item) and item.row.text in done)
    ]


class FoundBefore(NamedTuple):
    """The memories that a statement touches, read before the transaction that saves it."""

    around: memory_steps_neighbours.Neighbours
    is_new: bool
    """True if no memory in use has this text, for any files, and it was never forgotten."""
    withdrawn: str = ""
    """The id of the rule that it takes back."""


def look_up(tx: Tx, ready: Iterable[memory_steps.PreparedMemory]) -> dict[str, FoundBefore | None]:
    """Find the memories that statements change, contradict or repeat, by their ids; None for
    statements that were stored from the same message before."""
    return {item.row.id: _look_up(tx, item) for item in ready}


def _look_up(tx: Tx, item: memory_steps.PreparedMemory) -> FoundBefore | None:
    earlier = storage_sql.find_write(tx, f"learn {item.key}", item.row.text)
    kept = memory_sql_lists.find_kept_texts(tx, [item.row])
    around = memory_steps_neighbours.NONE
    if item.row.status == "active":
        around = memory_steps_neighbours.find_neighbours(tx, item.row)
    if earlier and memory_sql.get(tx, earlier):
        return None
    withdrawn = ""
    if item.withdraws:
        from . import steps_withdrawals

        withdrawn = steps_withdrawals.find_rule(
            tx, item.row, statements.Withdrawal(*item.withdraws)
        )
    if withdrawn:
        around = around._replace(revised=withdrawn, opposite=(), replaced=())
    return FoundBefore(around, not kept, withdrawn)


def keep(
    tx: Tx,
    ready: Iterable[memory_steps.PreparedMemory],
    now: int,
    looked: Mapping[str, FoundBefore | None] = {},
) -> list[Learned]:
    """Store statements, except those that were stored from the same message before.

    A changed value revises the earlier memory, an opposite statement is linked to it.

    looked: the result of `look_up`, which does not know the other statements of the message
    """
    done: list[Learned] = []
    for item in ready:
        related = any(
            similarity.find_relation(("", one.memory.text), ("", item.row.text)) for one in done
        )
        is_known = item.row.id in looked and not related
        found = looked[item.row.id] if is_known else _look_up(tx, item)
        if found and (is_withdrawal(item) or (found.withdrawn and _is_order(item))):
            from . import steps_withdrawals

            done += steps_withdrawals.withdraw(tx, item, found.withdrawn, now)
        elif found:
            done.append(memory_steps_learn.learn(tx, item, now, found.around, is_new=found.is_new))
    return done


def find_repeated(tx: Tx, session: str, row: archive_sql.TypedRow) -> list[memory_steps.Draft]:
    """Return the instructions of a typed message that the user gave in an earlier session too.

    An instruction that is a memory already gains this session as evidence; one that was not
    captured before is captured now, with both quotes.
    """
    found = []
    for unit in repetition.find_instructions(_typed_text(row)):
        if len(unit.words) < 2:
            continue
        if memory := _find_memory(tx, unit):
            draft = _add_quote(memory, session, unit)
        else:
            draft = _habit(session, unit, _find_earlier(tx, session, row.at, unit))
        if draft is not None:
            found.append(draft)
    return found


def _typed_text(row: archive_sql.TypedRow) -> str:
    return sentences.without_attachments(messages.message_from_body(json.loads(row.body)))


def _find_memory(tx: Tx, unit: repetition.Instruction) -> Memory | None:
    """Return the captured memory with this instruction, active or hidden."""
    filters = {"source": ["memory"], "label": ["user"], "status": ["active", "hidden"]}
    for match in index_sql.find_candidates(tx, sorted(unit.words), MOST_EARLIER, filters):
        memory = memory_sql.get(tx, match.ref)
        if memory is None or MARK not in memory.detail:
            continue
        if repetition.is_repeated(unit.words, repetition.words_of(memory.text)):
            return memory
    return None


def _add_quote(
    memory: Memory, session: str, unit: repetition.Instruction
) -> memory_steps.Draft | None:
    """Return the memory with a new quote; None if the session counts already, or if the user hid
    the memory: a request does not restore a rule."""
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


def _find_earlier(
    tx: Tx, session: str, at: int, unit: repetition.Instruction
) -> list[tuple[str, repetition.Instruction]]:
    """Return the instructions of earlier messages with similar words, and their sessions; none
    unless one of them is the same."""
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
        for one in repetition.find_instructions(
            _typed_text(archive_sql.TypedRow(row.seq, row.body, row.at))
        ):
            same = same or repetition.is_repeated(unit.words, one.words)
            found.append((match.ref, one))
    return found if same else []


def _habit(
    session: str, unit: repetition.Instruction, earlier: list[tuple[str, repetition.Instruction]]
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
    """Add a quote, one for each session; of too many, keep the first and the newest."""
    kept = [quote for quote in quotes if quote["session"] != session]
    kept.append({"session": session, "text": text})
    return kept if len(kept) <= MOST_QUOTES else [kept[0], *kept[-MOST_QUOTES + 1 :]]


def _repetition_key(session: str, text: str) -> str:
    return f"repetition:{session}:{messages.text_digest(text)[:16]}"


def remember_previous(
    session: str, before: archive_sql.TypedRow, row: archive_sql.TypedRow
) -> memory_steps.Draft | None:
    """Return a draft of the message before, if this one only asks to remember it."""
    if not standalone.asks_to_remember_previous(_typed_text(row)):
        return None
    previous = _typed_text(before).strip()
    if len(previous) > sentences.LONGEST_TOGETHER or sentences.find_pasted(previous):
        return None
    if hygiene.find_refusal(previous, "fact", "project"):
        return None
    return memory_steps.Draft(
        text=previous,
        kind="fact",
        detail={MARK: "remember", "quote": previous},
        evidence=(f"memory://session/{session}",),
        priority="high",
        key=f"capture:{session}:{messages.text_digest(previous)[:16]}",
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
    """Hide a captured memory and restore the one that it replaced; None without such a memory.

    It stays searchable, and is restored when the user states it again.
    """
    memory = memory_steps_revisions.find(tx, id)
    if memory is None or MARK not in memory.detail:
        return None
    memory_steps_neighbours.take_back(tx, memory, now)
    return memory._replace(status="hidden")
