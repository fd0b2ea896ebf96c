"""Read what an overview shows: what agents were shown, sizes by part, the last change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..briefing import steps_follow_up as briefing_steps_follow_up
from ..fast_typing import NamedTuple
from ..memory import sql as memory_sql
from ..memory import steps_lifecycle as memory_steps_lifecycle
from ..storage.database import Row, Tx
from ..text import charts, display
from ..types.overview import SeenItem, SizePart
from ..types.records import Memory
from ..undo import sql as undo_sql
from . import sql

_MOMENTS = {
    "turn": "your prompt named it",
    "command": "the agent was about to run this",
    "edit": "the agent was about to edit a file it applies to",
    "failure": "the same error had happened before",
}
_BLOCKS = {
    "A": "your rule, in every start block",
    "B": "learned here, in the start block",
    "C": "where things stand, in the start block",
    "D": "in the start block",
}


def read_shown(txs: Sequence[Tx], session: str) -> list[SeenItem]:
    """Return what a session was shown, in order, with the texts of memories."""
    lines = [line for tx in txs for line in sql.list_shown(tx, session)]
    ids = list(dict.fromkeys(line.ref for line in lines if line.ref.startswith("m-")))
    held: dict[str, Memory] = {}
    for tx in txs:
        held.update(memory_sql.get_many(tx, ids))
    # A file or a further command is logged beside the item that names it.
    own = {(line.at, line.moment) for line in lines if not line.ref.startswith("file:")}
    return [
        _seen(line, held.get(line.ref))
        for line in sorted(lines, key=lambda line: line.at)
        if not (line.ref.startswith("file:") and (line.at, line.moment) in own)
    ]


def _seen(line: sql.ShownLine, memory: Memory | None) -> SeenItem:
    kind, _, name = line.ref.partition(":")
    if memory:
        kind, text = memory.kind, memory.text
    elif line.ref.startswith("memory://"):
        kind, text = "passage", line.ref
    else:
        kind, text = (kind, name) if name else ("record", line.ref)
    why = _MOMENTS.get(line.moment) or _BLOCKS.get(line.block, "in the start block")
    return SeenItem(
        id=memory.id if memory else "",
        kind=kind,
        text=text,
        status=memory.status if memory else "",
        moment=line.moment,
        why=why,
        tokens=line.tokens,
        outcome=line.outcome,
        at=line.at,
    )


class _Part(NamedTuple):
    tables: tuple[str, ...]
    holds: str
    less: str


_PARTS = {
    "conversations": _Part(
        ("messages", "sessions", "windows", "blocks", "cursors", "attachments"),
        "every message, as it was said",
        "they are the archive and stay; a project you do not want kept: "
        "`recollect config set enabled false --scope project`",
    ),
    "search by words": _Part(
        ("entries", "facets", "words", "postings", "terms"),
        "the index of all texts",
        "derived from the rest; `recollect rebuild` makes it anew",
    ),
    "search by meaning": _Part(
        ("vectors", "unembedded", "points"),
        "one vector for each text",
        "`recollect config set embedder off` makes no new ones",
    ),
    "memories": _Part(
        ("memories", "memory_revisions", "memory_aliases", "claims", "links", "undos"),
        "statements with their revisions",
        "`recollect prune` hides what is old and unused",
    ),
    "experience": _Part(
        ("episodes", "procedures", "observations", "findings", "jobs"),
        "episodes, lessons and skills",
        "`recollect config set consolidate false` stops making them",
    ),
    "documents": _Part(
        ("documents", "events"),
        "notes, tasks, handoffs and scratch notes",
        "`recollect scratch delete NAME`",
    ),
    "log": _Part(
        ("injections", "spend", "writes", "state", "tombstones"),
        "what was shown to agents, and counters",
        "small; it stays",
    ),
}
_OTHER = _Part((), "the file's own pages", "")


def measure_parts(tx: Tx) -> tuple[SizePart, ...]:
    """Return the parts of a store, largest first."""
    totals: dict[str, int] = {}
    for table, size in sql.measure_tables(tx):
        totals[_part_of(str(table))] = totals.get(_part_of(str(table)), 0) + int(size or 0)
    parts = [
        SizePart(name, size, _PARTS.get(name, _OTHER).holds, _PARTS.get(name, _OTHER).less)
        for name, size in totals.items()
    ]
    return tuple(sorted(parts, key=lambda part: -part.bytes))


def _part_of(table: str) -> str:
    for name, part in _PARTS.items():
        if table.startswith(part.tables):
            return name
    return "other"


class LastChange(NamedTuple):
    """The last change of a space; one of the records is set."""

    at: int
    memory: sql.ChangedMemory | None = None
    record: undo_sql.UndoRecord | None = None
    note: sql.ChangedDocument | None = None


def find_last_change(tx: Tx) -> LastChange | None:
    """Return the change of this space that was made last."""
    memory, record = sql.last_changed_memory(tx), undo_sql.find_last(tx)
    note = sql.last_changed_note(tx)
    found = [LastChange(memory.at, memory=memory)] if memory else []
    found += [LastChange(record.at, record=record)] if record else []
    found += [LastChange(note.at, note=note)] if note else []
    return max(found, key=lambda one: one.at, default=None)


def undo_statuses(tx: Tx, record: undo_sql.UndoRecord, origin: str) -> list[Memory]:
    """Put back the statuses that a hide, restore or prune changed."""
    return memory_steps_lifecycle.undo_status(tx, record, origin)


SHORTEST = 4
"""Characters of a short id after its prefix."""


def shorten_ids(txs: Sequence[Tx], ids: Sequence[str]) -> Mapping[str, str]:
    """Return prefixes of these ids that are unique in all spaces, all of the same length."""
    if not ids:
        return {}
    wanted = sorted(set(ids))
    others = [*wanted, *(id for tx in txs for id in sql.nearest_ids(tx, wanted))]
    length = len("m-") + SHORTEST
    while length < len(wanted[0]) and _is_ambiguous(wanted, others, length):
        length += 1
    return {id: id[:length] for id in wanted}


def _is_ambiguous(wanted: Sequence[str], others: Sequence[str], length: int) -> bool:
    count: dict[str, set[str]] = {}
    for id in others:
        count.setdefault(id[:length], set()).add(id)
    return any(len(count[id[:length]]) > 1 for id in wanted)


# ---------------------------------------------------------------- plots

_DAY = 86_400_000_000


def draw_stats(
    days: Sequence[Row],
    tokens: int,
    budget: int,
    in_time: Sequence[briefing_steps_follow_up.InTime],
) -> str:
    """Return the picture; `days` are rows of kind, day and number."""
    share = tokens / budget if budget else 0.0
    spent = [charts.Bar("start block", share, f"{tokens} of {budget} tokens")]
    shown = [
        charts.Bar(
            f"{one.moment}: followed",
            one.followed / judged if (judged := one.followed + one.ignored) else 0.0,
            f"{one.followed} of {judged} judged",
        )
        for one in in_time
    ]
    return charts.draw_page(
        [
            _draw_growth(days),
            charts.draw_bars("Budget", spent),
            charts.draw_bars("What came of what was shown", shown),
        ]
    )


def _draw_growth(days: Sequence[Row]) -> charts.Chart:
    if not days:
        return charts.draw_bars("Memories in use", [])
    first, last = min(int(row[1]) for row in days), max(int(row[1]) for row in days)
    step, columns = charts.bin_days(first, last)
    counts: dict[str, dict[int, int]] = {}
    for kind, day, number in days:
        column = (int(day) - first) // step
        held = counts.setdefault(str(kind), {})
        held[column] = held.get(column, 0) + int(number)
    labels = [display.format_time((first + at * step) * _DAY + 1)[:10] for at in range(columns)]
    return charts.draw_growth("Memories in use, by the day they were first saved", counts, labels)
