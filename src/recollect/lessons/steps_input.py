"""Load the input of a consolidation: records that are new since the last run, their neighbours in
the index, aged episodes, and the lessons that these may belong to.

The cost depends on the new records, not on the store; if half of the store is new, all of it is
read. Each kind is limited per run: the rest is left for the next run, which is then due at once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from ..episodes import aging
from ..episodes import sql as episodes_sql
from ..episodes import steps as episodes_steps
from ..episodes.records import Episode
from ..index import sql as index_sql
from ..index import steps as index_steps
from ..index import steps_nearest as index_steps_nearest
from ..jobs import sql as jobs_sql
from ..links import sql as links_sql
from ..memory import lifecycle
from ..memory import sql as memory_sql
from ..memory import sql_lists as memory_sql_lists
from ..memory import steps_neighbours as memory_steps_neighbours
from ..storage.database import Tx
from ..text import terms
from ..types import records
from ..types.records import FOREVER, KINDS, STATUSES_IN_USE, Json, Memory
from .plan_rules import ref

JOB = "consolidate"
MOST = 500
"""The most new episodes, new memories, faded memories and aged episodes of a run, each."""

NEAR = 8
"""The most neighbours of a new episode or memory."""

FEW = 100
"""Up to so many new episodes, neighbours are also searched by meaning, which is slower."""

COMMON, ENOUGH = 0.02, 250
"""Words in a greater share of all entries are not used to find neighbours, nor more words than
promise enough entries."""

SLACK = 180_000_000
"""Microseconds. A transaction may commit after another one with later times, so the last three
minutes are always read again."""

_PAGE = 5_000
_LAST = "\U0010ffff"
_KNOWN = (*STATUSES_IN_USE, "hidden")
_LESSONS = ("pattern", "pitfall")
Place = tuple[int, str]
"""The time and id of the last record that was read."""


class ConsolidationInput(NamedTuple):
    """The input of a plan. `new` are the ids of new episodes, `progress` is the position up
    to which records were read, `aged` are changes to old episodes."""

    episodes: list[Episode]
    new: frozenset[str]
    memories: list[Memory]
    links: list[tuple[str, str, str]]
    progress: dict[str, Json]
    aged: list[aging.Aged]

    @property
    def more(self) -> bool:
        """Check whether something is left for the next run."""
        return bool(self.progress["more"])


def load(tx: Tx, now: int, embedder: records.Embedder | None = None) -> ConsolidationInput:
    """Load new records, the lessons that they may belong to, and aged episodes."""
    progress = read_position(jobs_sql.get_job(tx, JOB))
    rows = episodes_sql.list_written_after(tx, _place(progress["episodes"]), MOST)
    new = [episodes_steps.episode_of(row) for row in rows]
    episodes = {episode.id: episode for episode in new}
    for row in episodes_sql.get_many(tx, _find_similar_episodes(tx, rows, new, embedder)).values():
        episodes.setdefault(row.id, episodes_steps.episode_of(row))
    changed = memory_sql_lists.find_reinforced_after(tx, _place(progress["memories"]), MOST)
    faded = lifecycle.find_weak(
        memory_sql_lists.list_ageing(tx, *lifecycle.find_decay_limits(now)), now
    )
    known = _memories(tx, [id for _, id in changed], [one.id for one in faded[:MOST]])
    known |= _lessons(tx, new, list(episodes))
    aged, more_aged = _aged(tx, now)
    written = [(row.updated, row.id) for row in rows]
    return ConsolidationInput(
        episodes=list(episodes.values()),
        new=frozenset(episode.id for episode in new),
        memories=list(known.values()),
        links=[link[:3] for link in links_sql.find_touching(tx, list(known), "contradicts")],
        progress={
            "episodes": _last_position(_place(progress["episodes"]), written, now),
            "memories": _last_position(_place(progress["memories"]), changed, now),
            "more": MOST in (len(rows), len(changed)) or len(faded) > MOST or more_aged,
        },
        aged=aged,
    )


def read_position(job: jobs_sql.Job | None) -> Mapping[str, Json]:
    """Return the positions up to which consolidation has read. Earlier versions read all memories
    each time, and stored the time of the newest episode."""
    if job is None:
        return {"episodes": (0, ""), "memories": (0, "")}
    seen = {"episodes": (job.success_watermark, _LAST), "memories": (job.updated, _LAST)}
    return {**seen, **job.progress}


def read_old_position(episode: int) -> dict[str, Json]:
    """Return the position of an earlier version, which stored the time of an episode."""
    return {"episodes": (episode, _LAST), "memories": (0, "")}


def has_new_records(tx: Tx, moment: int) -> bool:
    """Check whether records for consolidation were written after a time."""
    place = (moment, _LAST)
    return bool(
        episodes_sql.list_written_after(tx, place, 1)
        or memory_sql_lists.find_reinforced_after(tx, place, 1)
    )


def _place(stored: Sequence[Json]) -> Place:
    return int(stored[0]), str(stored[1])


def _last_position(before: Place, found: Sequence[Place], now: int) -> Place:
    """Return the position of the last record that was found."""
    if len(found) == MOST:
        return found[-1]
    return max(before, min(found[-1], (now - SLACK, ""))) if found else before


# ---------------------------------------------------------------- neighbours


def _find_similar(
    tx: Tx, texts: Iterable[str], filters: Mapping[str, Sequence[str]]
) -> dict[str, None]:
    """Return the ids of records that share content words with one of these texts."""
    found: dict[str, None] = {}
    for text in dict.fromkeys(texts):
        stems = terms.query_stems(text)[: memory_steps_neighbours.MOST_WORDS]
        known = tx.frequencies(stems)
        asked = memory_steps_neighbours.pick_rarest(known, ENOUGH, least=1, share=COMMON)
        found |= dict.fromkeys(
            one.ref for one in index_sql.find_candidates(tx, asked, NEAR, filters)
        )
    return found


def _all_if_half_new(list_ids: Callable[[int], Iterable[str]], new: int) -> list[str] | None:
    """Return all ids if at least half of the records are new, else None."""
    found = list(list_ids(2 * new + 1))
    return found if len(found) <= 2 * new else None


def _errors(new: Iterable[Episode]) -> list[str]:
    return [f"{one.type} {one.message}" for episode in new for one in episode.resolved]


def _find_similar_episodes(
    tx: Tx,
    rows: Sequence[episodes_sql.EpisodeRow],
    new: Sequence[Episode],
    embedder: records.Embedder | None,
) -> list[str]:
    """Return the ids of episodes in use with a similar goal, error or meaning."""
    ours = {episode.id for episode in new}
    used = _all_if_half_new(lambda most: episodes_sql.list_in_use(tx, FOREVER, most), len(new))
    if used is not None:
        return [id for id in used if id not in ours]
    filters = {"source": ("episode",), "status": ("active",)}
    found = _find_similar(tx, [*(episode.goal for episode in new), *_errors(new)], filters)
    if embedder and 0 < len(rows) <= FEW:
        for vector in index_steps.embed_comparable(
            tx, embedder, list(map(episodes_steps.searchable, rows))
        ):
            near = index_steps_nearest.find_near_records(tx, vector, filters, NEAR)
            found |= dict.fromkeys([one.ref for one, _ in near])
    return [id for id in found if id not in ours]


def _memories(tx: Tx, changed: Sequence[str], faded: Sequence[str]) -> dict[str, Memory]:
    """Return new memories, similar ones, and faded ones."""
    over = set(faded)
    found = memory_sql.get_many(tx, [id for id in changed if id not in over])
    used = _all_if_half_new(
        lambda most: memory_sql_lists.find_ids(tx, tuple(KINDS), STATUSES_IN_USE, most), len(found)
    )
    if used is not None:
        return memory_sql.get_many(tx, list(dict.fromkeys((*used, *faded))))
    texts = [f"{one.subject} {one.text}" for one in found.values()]
    near = _find_similar(tx, texts, {"source": ("memory",), "status": STATUSES_IN_USE})
    near |= dict.fromkeys(faded)
    return found | memory_sql.get_many(tx, [id for id in near if id not in found])


def _lessons(tx: Tx, new: Sequence[Episode], episodes: list[str]) -> dict[str, Memory]:
    """Return the patterns and pitfalls that were made from these episodes, or are similar."""
    if not new:
        return {}
    every = _all_if_half_new(
        lambda most: memory_sql_lists.find_ids(tx, _LESSONS, _KNOWN, most), len(new)
    )
    if every is not None:
        return memory_sql.get_many(tx, every)
    found: dict[str, None] = {}
    for link in links_sql.find_touching(tx, episodes):
        found |= dict.fromkeys((link.source, link.target))
    filters = {"source": ("memory",), "status": _KNOWN}
    goals = (episode.goal for episode in new)
    found |= _find_similar(tx, goals, {**filters, "kind": ("pattern",)})
    found |= _find_similar(tx, _errors(new), {**filters, "kind": ("pitfall",)})
    memories = memory_sql.get_many(tx, list(found))
    return {id: one for id, one in memories.items() if one.kind in _LESSONS}


# ---------------------------------------------------------------- ageing


def _aged(tx: Tx, now: int) -> tuple[list[aging.Aged], bool]:
    """Return the changes to aged episodes, and whether there are more of them."""
    whole = episodes_sql.list_without_synopsis(tx, aging.older_than(aging.WHOLE_DAYS, now), MOST)
    old = episodes_sql.list_in_use(tx, aging.older_than(aging.KEPT_DAYS, now), FOREVER)
    referred = _find_referred(tx, old)
    free = [id for id in old if id not in referred]
    pairs = [(episodes_steps.episode_of(row), "") for row in whole]
    for id, synopsis in episodes_sql.load_synopses(tx, free[:MOST]).items():
        pairs.append((Episode(id=id, at=old[id]), synopsis))
    return aging.plan_aging(pairs, referred, now), MOST in (len(whole), len(free[:MOST]))


def _find_referred(tx: Tx, ids: Mapping[str, int]) -> set[str]:
    """Return the ids of episodes that a memory in use refers to."""
    found: set[str] = set()
    last = ""
    while ids and (page := memory_sql_lists.list_references(tx, last, _PAGE)):
        for _, sources, evidence in page:
            named = (ref(str(one)) for one in (*json.loads(sources), *json.loads(evidence)))
            found.update(id for id in named if id in ids)
        last = page[-1][0]
    return found
