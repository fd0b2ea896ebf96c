"""Upkeep of episodes: full for a week, then with a synopsis, archived after a month unless a memory
refers to them. Nothing is deleted, and all of them stay searchable."""

from collections.abc import Container, Iterable
from typing import NamedTuple

from ..core.distill_steps import ref
from ..core.episodes import Episode
from ..core.rank import DAY
from ..types import Memory

FULL_DAYS, KEPT_DAYS = 7, 30
_MOST = 3


class Aged(NamedTuple):
    """What becomes of an episode: another status, a synopsis, or both, and why."""

    id: str
    status: str
    synopsis: str
    reason: str


def referred_to(memories: Iterable[Memory]) -> set[str]:
    """The ids of all records that memories in use were made from or are supported by."""
    return {
        ref(one)
        for memory in memories
        if memory.status in ("active", "proposed")
        for one in (*memory.sources, *memory.evidence)
    }


def aged(episodes: Iterable[tuple[Episode, str]], referred: Container[str], now: int) -> list[Aged]:
    """What upkeep does to episodes in use; each comes with the synopsis it has."""
    found = []
    for episode, synopsis in episodes:
        days = (now - episode.at) // DAY
        if days < FULL_DAYS:
            continue
        short = synopsis or synopsis_of(episode)
        if days >= KEPT_DAYS and episode.id not in referred:
            why = f"{days} days old, and no memory refers to it"
            found.append(Aged(episode.id, "archived", short, why))
        elif not synopsis:
            found.append(Aged(episode.id, "active", short, f"{days} days old"))
    return found


def synopsis_of(episode: Episode) -> str:
    """An episode in a few lines: what was to be done, what came of it, and what was learned."""
    told = [f"{episode.goal or 'A task'} ({episode.outcome}, {len(episode.actions)} steps)"]
    files = episode.artifacts or episode.files
    if files:
        more = f" and {len(files) - _MOST} more" if len(files) > _MOST else ""
        told.append(f"Files: {', '.join(files[:_MOST])}{more}")
    told += [f"{one.type}: {one.message} -> {one.resolution}" for one in episode.resolved[:_MOST]]
    if episode.commit:
        told.append(f"Commit: {episode.commit}")
    return "\n".join(told)
