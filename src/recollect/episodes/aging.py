"""Age episodes: complete for a week, then with a synopsis, hidden after a month.

An episode that a memory refers to is never hidden. Nothing is deleted: episodes with a synopsis and
hidden ones stay searchable, and their sessions stay in the archive. Also lists the errors of
episodes by day.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import NamedTuple

from ..memory.lifecycle import DAY
from ..text.display import shorten
from ..types.json_records import write_time
from .records import Episode

WHOLE_DAYS, KEPT_DAYS = 7, 30
_MOST = 3
_LONGEST = 600


class Aged(NamedTuple):
    """The new status and synopsis of an episode, and the reason."""

    id: str
    status: str
    synopsis: str
    reason: str


def older_than(days: int, now: int) -> int:
    """Return the time before which episodes are more than `days` whole days old."""
    return now - (days + 1) * DAY + 1


def plan_aging(
    episodes: Iterable[tuple[Episode, str]], referred: Container[str], now: int
) -> list[Aged]:
    """Return the changes to episodes in use, which are given with their synopses.

    referred: the ids of episodes that a memory refers to
    """
    found = []
    for episode, synopsis in episodes:
        days = (now - episode.at) // DAY
        if days <= WHOLE_DAYS:
            continue
        short = synopsis or synopsis_of(episode)
        if days > KEPT_DAYS and episode.id not in referred:
            why = f"{days} days old, and no memory refers to it"
            found.append(Aged(episode.id, "hidden", short, why))
        elif not synopsis:
            found.append(Aged(episode.id, "active", short, f"{days} days old"))
    return found


def synopsis_of(episode: Episode) -> str:
    """Return an episode in a few lines: the goal, the outcome, and the lessons."""
    lines = [f"{episode.goal or 'A task'} ({episode.outcome}, {len(episode.actions)} steps)"]
    files = episode.artifacts or episode.files
    if files:
        more = f" and {len(files) - _MOST} more" if len(files) > _MOST else ""
        lines.append(f"Files: {', '.join(files[:_MOST])}{more}")
    lines += [f"{one.type}: {one.message} -> {one.resolution}" for one in episode.resolved[:_MOST]]
    unresolved = [one.message for one in episode.errors if not one.resolution]
    if unresolved:
        lines.append(f"Not resolved: {unresolved[-1]}")
    if episode.commit:
        lines.append(f"Commit: {episode.commit}")
    return shorten("\n".join(lines), _LONGEST)


# ---------------------------------------------------------------- errors by day


class Learning(NamedTuple):
    """An error, its resolution (empty while there is none), and its episode."""

    type: str
    message: str
    resolution: str
    episode: str


class LearningDay(NamedTuple):
    """The errors of one day, in UTC."""

    day: str
    learnings: tuple[Learning, ...]


def learnings(episodes: Iterable[Episode]) -> list[LearningDay]:
    """Return the errors of episodes by day, the newest day first."""
    found: dict[str, list[Learning]] = {}
    for episode in sorted(episodes, key=lambda one: (one.at, one.id)):
        for error in episode.errors:
            learning = Learning(error.type, error.message, error.resolution, episode.id)
            found.setdefault(write_time(episode.at)[:10], []).append(learning)
    return [LearningDay(day, tuple(all_)) for day, all_ in sorted(found.items(), reverse=True)]
