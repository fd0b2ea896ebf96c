"""The table: each measure for the baselines and for Recollect, and how sure the gain is."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from . import baselines
from .baselines import Retriever
from .datasets import SETS
from .in_memory import InMemory
from .measures import Rows, difference, mean, measured

DEPTH = 200  # how many hits are asked for, so that sessions can be ranked from them

RETRIEVERS: Mapping[str, Callable[[], Retriever]] = {
    "words": baselines.Words,
    "telling words": baselines.telling_words,
    "vectors": baselines.Vectors,
    "both by rank": baselines.ByRank,
    "Recollect": InMemory,
}


def rows_of(name: str, make: Callable[[], Retriever], data: Path) -> Rows:
    """Every question of a set, put to a fresh index of its haystack."""
    rows = {}
    for stack in SETS[name][0](data):
        retriever = make()
        retriever.add(stack.items)
        session_of = {item.id: item.session for item in stack.items}
        for query in stack.queries:
            ranked = retriever.search(query.text, DEPTH)
            rows[query.id] = measured(query, ranked, session_of)
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.recall", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder with the sets")
    parser.add_argument("sets", nargs="*", help=f"of: {', '.join(SETS)}; all if none is named")
    args = parser.parse_args()
    if unknown := [name for name in args.sets if name not in SETS]:
        parser.error(f"no such set: {', '.join(unknown)}")
    print(f"| set, measure | {' | '.join(RETRIEVERS)} | gain over the best baseline |")
    print("|---" * (len(RETRIEVERS) + 2) + "|")
    for name in args.sets or SETS:
        found = {}
        for retriever, make in RETRIEVERS.items():
            print(f"{name}: {retriever}", file=sys.stderr)
            found[retriever] = rows_of(name, make, args.data)
        for measure in SETS[name][1]:
            print(_line(name, measure, found))
    return 0


def _line(name: str, measure: str, found: Mapping[str, Rows]) -> str:
    means = {retriever: mean(rows, measure) for retriever, rows in found.items()}
    ours = list(means)[-1]
    best = max(list(means)[:-1], key=lambda retriever: means[retriever])
    gain = difference(found[ours], found[best], measure)
    cells = " | ".join(f"{value:.3f}" for value in means.values())
    return f"| {name}, {measure} | {cells} | {gain.mean:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}] |"


if __name__ == "__main__":
    sys.exit(main())
