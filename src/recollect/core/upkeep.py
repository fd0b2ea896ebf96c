"""How episodes age: whole for a week, then in a few words, after a month out of the way.

What a memory refers to is never archived. Nothing is deleted, and what is summarised or archived
stays searchable; the session it was read from stays in the archive. Also: the errors of episodes
by day, for those who keep a diary of them. It does not know the store.
"""

from collections.abc import Container, Iterable
from typing import NamedTuple

from ..types import Json
from .episodes import Episode
from .lossless import iso
from .rank import DAY

WHOLE_DAYS = 7
SUMMARISED_DAYS = 30
LONGEST = 600


class Kept(NamedTuple):
    """An episode as it is kept: its id, when it was, and whether it is whole."""

    id: str
    at: int
    status: str


class Ageing(NamedTuple):
    """What becomes of an episode, and why."""

    id: str
    status: str
    reason: str


def ageing(kept: Iterable[Kept], referenced: Container[str], now: int) -> list[Ageing]:
    """What to do with episodes that have grown old, the oldest first."""
    found = []
    for one in sorted(kept, key=lambda each: (each.at, each.id)):
        days = (now - one.at) // DAY
        if days > SUMMARISED_DAYS and one.status != "archived" and one.id not in referenced:
            reason = f"{days} days old, and no memory refers to it"
            found.append(Ageing(one.id, "archived", reason))
        elif days > WHOLE_DAYS and one.status == "active":
            found.append(Ageing(one.id, "summarised", f"{days} days old"))
    return found


def synopsis(episode: Episode) -> str:
    """An episode in a few words: what was wanted, what was done, what went wrong, how it ended."""
    parts = [f"{episode.goal or 'A task'} ({episode.outcome})"]
    if episode.artifacts:
        more = f" and {len(episode.artifacts) - 5} more" if len(episode.artifacts) > 5 else ""
        parts.append(f"Changed {', '.join(episode.artifacts[:5])}{more}")
    parts += [f"{error.message}: {error.resolution}" for error in episode.resolved[:3]]
    unresolved = [error.message for error in episode.errors if not error.resolution]
    if unresolved:
        parts.append(f"Not resolved: {unresolved[-1]}")
    if episode.commit:
        parts.append(f"Commit {episode.commit}")
    text = ". ".join(part.rstrip(".") for part in parts) + "."
    return text if len(text) <= LONGEST else text[: LONGEST - 1].rstrip() + "…"


def learnings(episodes: Iterable[Episode]) -> dict[str, list[dict[str, Json]]]:
    """The errors of episodes by day, each with what resolved it and where it happened."""
    found: dict[str, list[dict[str, Json]]] = {}
    for episode in sorted(episodes, key=lambda one: (one.at, one.id)):
        for error in episode.errors:
            told: dict[str, Json] = {"type": error.type, "message": error.message}
            told |= {"resolution": error.resolution, "episode": episode.id}
            found.setdefault(iso(episode.at)[:10], []).append(told)
    return found
