"""Read the data of overviews: items shown to agents, sizes by part, the last change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..fast_typing import NamedTuple
from ..injections import sql as injections_sql
from ..lessons import findings as lessons_findings
from ..lessons import steps_observed as lessons_steps_observed
from ..memory import sql as memory_sql
from ..recall import steps_evaluation as recall_steps_evaluation
from ..storage.database import Row, Tx
from ..text import charts, display
from ..types.records import Memory
from ..types.reports import SeenItem, SizePart
from ..window import sql as window_sql
from . import sql

_MOMENTS = {
    "turn": "your prompt named it",
    "command": "the agent was about to run this",
    "edit": "the agent was about to edit a file it applies to",
    "failure": "the same error had happened before",
}
_BLOCKS = {
    "A": "yours, in every start block",
    "B": "learned here, in the start block",
    "C": "a skill, in the start block",
}


def read_shown(txs: Sequence[Tx], session: str) -> list[SeenItem]:
    """Return the items shown to a session, in order, with the texts of memories."""
    lines = [line for tx in txs for line in injections_sql.list_items(tx, session)]
    ids = list(dict.fromkeys(line.ref for line in lines if line.ref.startswith("m-")))
    memories: dict[str, Memory] = {}
    for tx in txs:
        memories.update(memory_sql.get_many(tx, ids))
    hidden = lessons_steps_observed.hidden_refs(txs[0]) if txs else frozenset()
    block = window_sql.load_block(txs, session)
    order = {ref: place for place, ref in enumerate(block.ids)} if block else {}
    state_lines = (
        {ref: _state_line(block.text, ref) for ref in order if "#" in ref} if block else {}
    )
    # The files of an edit are logged too: leave them out beside the item that was shown for them.
    with_items = {(line.at, line.moment) for line in lines if not line.ref.startswith("file:")}
    return [
        _seen(
            line._replace(ref=state_lines.get(line.ref, line.ref)), memories.get(line.ref), hidden
        )
        for line in sorted(lines, key=lambda line: (line.at, order.get(line.ref, len(order))))
        if not (line.ref.startswith("file:") and (line.at, line.moment) in with_items)
    ]


def count_shown(txs: Sequence[Tx], session: str, items: Sequence[SeenItem]) -> int:
    """Count the tokens that a session was shown; its last start block counts as a whole, with
    headings and reading rules."""
    block = window_sql.load_block(txs, session)
    starts = [item for item in items if item.moment == "start"]
    if block is None or not starts:
        return sum(item.tokens for item in items)
    # A resume adds lines that are not in the block.
    written = max((item.at for item in starts if item.id in block.ids), default=starts[-1].at)
    others = (item for item in items if item.moment != "start" or item.at != written)
    return block.tokens + sum(item.tokens for item in others)


_STATE = "state:"


def _state_line(block: str, ref: str) -> str:
    """Return the line of a start block about the state of the work, by the address of its item; the
    address itself without a line."""
    name = ref.rpartition("#")[2]
    found = (line for line in block.splitlines() if line.startswith(f"- {name}"))
    return next((f"{_STATE}{line[2:]}" for line in found), ref)


def _seen(
    line: injections_sql.Injection, memory: Memory | None, hidden: frozenset[str]
) -> SeenItem:
    kind, _, name = line.ref.partition(":")
    if memory:
        kind, text = memory.kind, memory.text
    elif line.ref.startswith(_STATE):
        kind, text = "state", line.ref.removeprefix(_STATE)
    elif line.ref.startswith("memory://"):
        kind, text = ("state" if "#" in line.ref else "passage"), line.ref
    else:
        kind, text = (kind, name) if name else ("record", line.ref)
    why = _MOMENTS.get(line.moment) or _BLOCKS.get(line.block, "in the start block")
    why = "where things stand, in the start block" if kind == "state" else why
    if memory and memory.label == "teammate" and line.block == "A":
        why = f"stated by {memory.author}, in the start block"  # of that person
    is_hidden = not hidden.isdisjoint(lessons_findings.lesson_refs(line.ref))
    return SeenItem(
        id=memory.id if memory else line.ref if kind in ("command", "avoid", "resolution") else "",
        kind=kind,
        text=text,
        status=memory.status if memory else "hidden" if is_hidden else "",
        moment=line.moment,
        why=why,
        tokens=line.tokens,
        outcome=line.outcome,
        at=line.at,
    )


class _SizeGroup(NamedTuple):
    tables: tuple[str, ...]
    holds: str
    less: str


_PARTS = {
    "conversations": _SizeGroup(
        ("messages", "sessions", "windows", "blocks", "cursors", "attachments"),
        "every message, as it was said",
        "kept for good. Stop recording: `recollect config set enabled false --scope project`",
    ),
    "search by words": _SizeGroup(
        ("entries", "facets", "words", "postings", "terms"),
        "the index of all texts",
        "derived from the texts",
    ),
    "search by meaning": _SizeGroup(
        ("vectors", "unembedded", "points"),
        "one vector for each text",
        "stop making them: `recollect config set embedder off`",
    ),
    "memories": _SizeGroup(
        ("memories", "memory_revisions", "memory_aliases", "claims", "links", "undos"),
        "statements with their revisions",
        "hidden ones and earlier revisions are kept too",
    ),
    "experience": _SizeGroup(
        ("episodes", "procedures", "observations", "findings", "jobs"),
        "episodes, lessons and skills",
        "stop making them: `recollect config set consolidate false`",
    ),
    "documents": _SizeGroup(
        ("documents", "events"),
        "notes, tasks, handoffs and scratch notes",
        "earlier revisions are kept too",
    ),
    "log": _SizeGroup(
        ("injections", "spend", "writes", "state", "tombstones"),
        "what was shown to agents, and counters",
        "small, kept for good",
    ),
}
_OTHER = _SizeGroup((), "the file's own pages", "")


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
    in_time: Sequence[injections_sql.MomentCounts],
) -> str:
    """Return the picture of `stats plot`; `days` are rows of kind, day and number."""
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
            charts.draw_bars("Shown advice that was followed", shown),
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
        by_day = counts.setdefault(str(kind), {})
        by_day[column] = by_day.get(column, 0) + int(number)
    labels = [display.format_time((first + at * step) * _DAY + 1)[:10] for at in range(columns)]
    return charts.draw_growth("Memories in use, by the day they were first saved", counts, labels)


def draw_evaluation(done: recall_steps_evaluation.Evaluation) -> str:
    """Return the picture of `eval plot`: how much was found, by source and way of searching."""
    parts = []
    for title, name in (("Recall@5", "recall_5"), ("Recall@10", "recall_10"), ("MRR@10", "mrr")):
        rows = [
            charts.Bar(f"{line.source}, {line.by}", value, f"{value:.2f} ({line.questions})")
            for line in done.lines
            for value in [float(getattr(line, name))]
        ]
        parts.append(charts.draw_bars(title, rows))
    return charts.draw_page(parts)
