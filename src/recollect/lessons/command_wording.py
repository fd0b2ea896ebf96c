"""Choose the wording that a command is shown in: one that worked, as it was run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from ..types.records import Json

Bodies = Sequence[Mapping[str, Json]]


def choose_wording(bodies: Bodies, typical: Bodies) -> str:
    """Return the wording to show, one that worked: of most sessions, and the bare command where it
    worked, too. What failed since it last worked is left out; empty if nothing worked.

    typical: the bodies to choose from. Early versions stored a wording that may not have been run;
        it is shown as long as there is no other
    """
    works: dict[str, bool] = {}
    for one in bodies:
        for words, worked in ((one.get("ran", ()), True), (one.get("broken", ()), False)):
            for name in words:
                works.setdefault(name, worked)
    given = [one["ran"] for one in typical if "ran" in one]
    if not given:
        return most_common([one["wording"] for one in typical if one.get("wording")] or [""])
    alive = [names for one in given if (names := [name for name in one if works[name]])] or given
    known = {name for names in alive for name in names}
    return most_common([_without_setup(names[0], known) for names in alive])


def _without_setup(wording: str, known: Collection[str]) -> str:
    """Return the bare command, if it is known too: `pytest` for `CI=1 pytest`."""
    return min((one for one in known if wording.endswith(f" {one}")), key=len, default=wording)


def most_common(words: Sequence[str]) -> str:
    """Return the most common word; of several, the shortest."""
    counts = Counter(words)
    return min(counts, key=lambda word: (-counts[word], len(word), word))
