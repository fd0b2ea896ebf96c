"""Load the records of index matches as hits."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ..actions import tool_calls
from ..archive import sql as archive_sql
from ..documents import sql as documents_sql
from ..episodes import sql as episodes_sql
from ..episodes import steps_found as episodes_steps_found
from ..fast_typing import TYPE_CHECKING, NamedTuple
from ..memory import lifecycle
from ..memory import sql_sketches as memory_sql_sketches
from ..memory import steps_revisions as memory_steps_revisions
from ..procedures import sql as procedures_sql
from ..storage import database
from ..storage.database import IndexMatch, Tx
from ..text import display, messages, tokens
from ..text import terms as text_terms
from ..types.records import (
    KINDS,
    STATUSES_IN_USE,
    TRUSTED_ORIGINS,
    Hit,
    Message,
    NearbyMessage,
    ToolCall,
)
from . import questions

if TYPE_CHECKING:
    from .steps import RecallQuestion


_TRUST = {"system": 1.02, "user": 1.02, "teammate": 1.0, "agent": 1.0, "tool": 0.9, "import": 0.85}
_STATUS = {"active": 1.0, "proposed": 0.95, "hidden": 0.8, "superseded": 0.7, "quarantined": 0.6}
_TIE = 0.3
"""The share of the factor for trust that counts for a message."""

_NO_TEXT = "(no output)"
"""The result of a command that printed nothing, which often means that it worked."""


class LoadedHit(NamedTuple):
    """A hit without its score, the factor that its record adds, and the user's own words in it."""

    hit: Hit
    factor: float
    stated: str = ""
    form: str = "prose"
    """What a message is: see `questions.FORMS`."""
    calls: frozenset[str] = frozenset()
    """The ids of its calls, if the message does nothing but call."""
    spelled: float = 0.0
    """How literally it holds a name of the question: see `spell_name`."""
    edit: tuple[str, str] | None = None
    """What a call that writes takes out of a file and puts in: what was read before is older."""
    file: str = ""
    """The file that it writes."""
    before: archive_sql.MessageRow | None = None
    """The message before a result, mostly its call."""
    command: str = ""
    """The only call of a message, or the call whose result it is."""
    turn: Sequence[archive_sql.MessageRow] | None = None
    """The end of the turn that it began, if that was read already."""


def load_hits(
    tx: Tx,
    found: Sequence[IndexMatch],
    question: RecallQuestion,
    searched: Sequence[str],
    now: int,
    everywhere: Sequence[str] = (),
    known: Mapping[tuple[str, int], archive_sql.MessageRow] | None = None,
) -> dict[int, LoadedHit]:
    """Load the hits of index matches by entry number; missing records are left out. `everywhere`
    are the memories of the matches in all spaces, so that each asks the same; `known` are messages
    that were read already."""
    if not found:
        return {}
    current = [item.ref for item in found if item.source == "memory" and not item.seq]
    current = list(everywhere) if current and everywhere else current
    earlier = {(item.ref, item.seq) for item in found if item.source == "memory" and item.seq}
    held = memory_sql_sketches.load_sketches(tx, current)
    before = memory_sql_sketches.load_earlier_sketches(tx, earlier) if earlier else {}
    around = question.around
    rows = dict(known or {})
    said = [item for item in found if item.source == "message"]
    wanted = [
        (item.ref, item.seq - max(around, item.kind == "tool"), item.seq + around)
        for item in said
        if around or (item.ref, item.seq) not in rows
    ]
    read = archive_sql.message_ranges(tx, wanted) if wanted else ()
    rows |= {(row.session, row.seq): row for row in read}
    hits: dict[int, LoadedHit] = {}
    for item in found:
        if item.source == "memory":
            sketch = before.get((item.ref, item.seq)) if item.seq else held.get(item.ref)
            one = _load_memory(sketch, now)
            if one and sketch and sketch.against and sketch.status in STATUSES_IN_USE:
                one = one._replace(hit=_add_contradictions(one.hit, sketch.against.split()))
        elif item.source == "message":
            one = _load_message(rows, item, question, searched)
        elif item.source == "document":
            one = _load_document(tx, item, searched)
        else:
            one = _load_experience(tx, item, searched)
        if one:
            hits[item.entry] = one
    # A server is asked at once, whether they are superseded or not.
    ahead = tx.is_remote and ("superseded" in question.statuses or question.as_of)
    revisions = [f"{id}@{revision}" for id, revision in sorted(earlier)] if ahead else []
    return _with_successors(tx, hits, [*dict.fromkeys(current if ahead else ()), *revisions])


def load_by_id(tx: Tx, id: str, now: int) -> Hit | None:
    """Return the memory with this id, or the only one whose id begins with it, as a certain hit."""
    memory = memory_steps_revisions.find(tx, id)
    held = memory_sql_sketches.load_sketches(tx, [memory.id]) if memory else {}
    loaded = _load_memory(next(iter(held.values()), None), now)
    if loaded is None:
        return None
    cost = tokens.count_text(loaded.hit.text)
    return loaded.hit._replace(score=1.0, tokens=cost, why="it has this id")


def _load_memory(memory: memory_sql_sketches.MemorySketch | None, now: int) -> LoadedHit | None:
    if memory is None:
        return None
    weight = lifecycle.compute_weight(memory, now)
    # Called directly, a constructor takes a third of the time.
    hit = Hit.__new__(
        Hit,
        id=memory.id,
        address=f"memory://{memory.id}",
        kind=memory.kind,
        text=memory.text,
        score=0.0,
        why=f"strength {weight * (memory.reinforcement + memory.recalls):.2f}",
        layer=memory.layer,
        status=memory.status,
        trust=memory.label,
        at=memory.valid_from,
        # Until they are checked: see `operations`.
        freshness=memory.claims if memory.claims and memory.layer != "user" else "",
    )
    stated = memory.text if memory.label in TRUSTED_ORIGINS else ""
    # Asking must not change the order: recalls do not count here.
    strong = weight * memory.reinforcement
    factor = weigh_trust(memory.label, memory.status, strong)
    return LoadedHit.__new__(LoadedHit, hit, factor, stated)


def _load_message(
    rows: Mapping[tuple[str, int], archive_sql.MessageRow],
    item: IndexMatch,
    question: RecallQuestion,
    searched: Sequence[str],
) -> LoadedHit | None:
    row = rows.get((item.ref, item.seq))
    if row is None or not messages.is_unchanged(row.body, row.digest, row.role):
        return None
    message = parse_message(row)
    text = messages.searchable_text(message)
    near = range(item.seq - question.around, item.seq + question.around + 1)
    others = [rows[item.ref, seq] for seq in near if seq != item.seq and (item.ref, seq) in rows]
    hit = Hit(
        id=f"{row.session}:{row.seq}",
        address=messages.range_address(row.session, row.seq, row.seq),
        kind="message",
        text=display.cut_snippet(text, searched) or _NO_TEXT,
        score=0.0,
        why="",
        layer="session",
        status="active",
        trust=row.label,
        at=row.at,
        session=row.session,
        role=row.role,
        around=tuple(
            NearbyMessage(
                messages.range_address(other.session, other.seq, other.seq),
                other.role,
                display.cut_snippet(messages.searchable_text(parse_message(other)), searched),
            )
            for other in others
            if messages.is_unchanged(other.body, other.digest, other.role)
        ),
    )
    own = row.role == row.label == "user"
    stated = messages.typed_text(message) if own else ""
    writing = [call for call in message.calls if tool_calls.read_effects(call).writes]
    form = questions.read_form(message, bool(writing))
    # Trust only breaks ties between messages; the ranking judges which speaker is asked for.
    factor = 1.0 - _TIE * (1.0 - min(weigh_trust(row.label, "active"), 1.0))
    return LoadedHit(
        hit=hit,
        factor=factor,
        stated=stated,
        form=form,
        calls=frozenset([call.id for call in message.calls] if form == "call" else ()),
        spelled=spell_name(text, question.query),
        edit=tool_calls.read_edit(writing[0]) if writing else None,
        file=tool_calls.read_effects(writing[0]).writes[0] if writing else "",
        before=rows.get((item.ref, item.seq - 1)) if row.role == "tool" else None,
        command=_describe_call(message.calls[0]) if len(message.calls) == 1 else "",
    )


def _describe_call(call: ToolCall) -> str:
    """Return a call without its description, which varies."""
    return tool_calls.find_script(messages.parse_arguments(call.arguments) or {}) or (
        f"{call.name} {call.arguments}"
    )


def spell_name(text: str, query: str) -> float:
    """Return how literally a text holds a name of the query: 1 in the same spelling on its own, 0.5
    as the name of a file without its ending, else 0."""
    best = 0.0
    for name in text_terms.find_names(query):
        if name in text:
            pattern = rf"(?<![\w.-]){re.escape(name)}(?![\w-]|\.\d)(\.\w)?"
            found: list[str] = re.findall(pattern, text)
            best = max([best, *[0.5 if ending else 1.0 for ending in found]])
    return best


def find_spelled(
    tx: Tx, found: Sequence[IndexMatch], query: str, most: int
) -> dict[tuple[str, int], archive_sql.MessageRow]:
    """Return the messages among index matches, by session and number, that may hold a name of the
    query in the same spelling: neither case nor endings are indexed."""
    names = list(text_terms.find_names(query))
    ranges = [(item.ref, item.seq, item.seq) for item in found if item.source == "message"]
    rows = archive_sql.message_ranges(tx, ranges) if names else []
    spelled = {(row.session, row.seq): row for row in rows if any(one in row.body for one in names)}
    keys = [(item.ref, item.seq) for item in found if (item.ref, item.seq) in spelled]
    return {key: spelled[key] for key in keys[:most]}


def parse_message(row: archive_sql.MessageRow) -> Message:
    """Return the message of a row."""
    from json import loads

    return messages.message_from_body(loads(row.body))


def _load_document(tx: Tx, item: IndexMatch, searched: Sequence[str]) -> LoadedHit | None:
    document = database.read_or_none(lambda: documents_sql.get_document(tx, item.ref))
    if document is None:
        return None
    hit = Hit(
        id=document.address.removeprefix("memory://"),
        address=document.address,
        kind=document.type,
        text=display.cut_snippet(document.text, searched),
        score=0.0,
        why="",
        layer=document.layer,
        status=document.status,
        trust=document.label,
        at=document.valid_from,
    )
    return LoadedHit(hit, weigh_trust(document.label, "active"))


def _load_experience(tx: Tx, item: IndexMatch, searched: Sequence[str]) -> LoadedHit | None:
    """Return the hit of an episode or a procedure. Its words may be in what is not shown of it."""
    sketch = episodes_sql.sketch if item.source == "episode" else procedures_sql.sketch
    kept = sketch(tx, item.ref)
    if kept is None or kept.status not in _STATUS:
        return None
    small = kept.text.casefold()
    is_shown = any(term in small for term in searched)
    text = kept.text
    if item.source == "episode" and not is_shown:
        text = episodes_steps_found.describe(tx, item.ref, text, searched)
    hit = Hit(
        id=item.ref,
        address=f"memory://{item.ref}",
        kind=item.source,
        text=text,
        score=0.0,
        why="",
        layer="project",
        status=kept.status,
        trust=kept.label,
        at=kept.at,
        session=item.owner,
    )
    form = "prose" if is_shown else "receipt"
    return LoadedHit(hit, weigh_trust(kept.label, kept.status), form=form)


def _with_successors(
    tx: Tx, hits: Mapping[int, LoadedHit], ids: Sequence[str]
) -> dict[int, LoadedHit]:
    """Add to superseded memories and earlier revisions the address of what replaced them. They are
    looked up by these `ids`, or else by those of the superseded hits."""
    old = ids or [one.hit.id for one in hits.values() if one.hit.status == "superseded"]
    if not old:
        return dict(hits)
    newer = memory_sql_sketches.find_successors(tx, old)
    newer |= memory_sql_sketches.find_reworded(tx, [id for id in old if "@" in id])
    found = dict(hits)
    for entry, loaded in hits.items():
        if loaded.hit.id in newer and loaded.hit.status == "superseded":
            address = f"memory://{newer[loaded.hit.id]}"
            found[entry] = loaded._replace(hit=loaded.hit._replace(outdated_by=address))
    return found


def _add_contradictions(hit: Hit, others: Sequence[str]) -> Hit:
    why = f"{hit.why}, contradicts {', '.join(sorted(others))}"
    return hit._replace(why=why) if others else hit


def memory_ids(hits: Sequence[Hit]) -> list[str]:
    """Return the ids of hits that are memories."""
    return [hit.id for hit in hits if hit.address == f"memory://{hit.id}" and hit.kind in KINDS]


def weigh_trust(label: str, status: str, strong: float = 1.0) -> float:
    """Return the factor of a match for a record's trust, status and strength (±10 %)."""
    return _TRUST[label] * _STATUS[status] * (0.9 + 0.2 * strong / (strong + 1.0))
