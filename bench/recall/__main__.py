"""The table: each measure for the baselines and for Recollect, and how sure the gain is."""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from . import baselines
from .baselines import Retriever
from .datasets import SETS, Haystack
from .in_memory import InMemory
from .measures import Rows, difference, mean, measured
from .product import Product

DEPTH = 200  # how many hits are asked for, so that sessions can be ranked from them

RETRIEVERS: Mapping[str, Callable[[], Retriever]] = {
    "words": baselines.Words,
    "telling words": baselines.telling_words,
    "vectors": baselines.Vectors,
    "both by rank": baselines.ByRank,
    "ranking in memory": InMemory,
    "Recollect": Product,
}


def rows_of(make: Callable[[], Retriever], stacks: Iterable[Haystack]) -> Rows:
    """Every question of a set, put to a fresh index of its haystack."""
    rows = {}
    for stack in stacks:
        retriever = make()
        retriever.add(stack.items)
        session_of = {item.id: item.session for item in stack.items}
        for query in stack.queries:
            ranked = retriever.search(query.text, DEPTH)
            rows[query.id] = measured(query, ranked, session_of)
        retriever.close()
    return rows


def sampled(stacks: Iterable[Haystack], count: int, seed: int) -> list[Haystack]:
    """The haystacks with only so many of all their questions; those left without one are gone."""
    held = list(stacks)
    ids = [query.id for stack in held for query in stack.queries]
    chosen = set(random.Random(seed).sample(ids, min(count, len(ids))))
    kept = [
        Haystack(stack.items, [query for query in stack.queries if query.id in chosen])
        for stack in held
    ]
    return [stack for stack in kept if stack.queries]


def main() -> int:
    args = _arguments()
    columns = {name: RETRIEVERS[name] for name in RETRIEVERS if name in (args.only or RETRIEVERS)}
    print(
        f"| set, measure | questions | {' | '.join(columns)} | gain over the best of the others |"
    )
    print("|---" * (len(columns) + 3) + "|")
    for name in args.sets or SETS:
        stacks = list(SETS[name][0](args.data))
        if args.sample:
            stacks = sampled(stacks, args.sample, args.seed)
        found = {}
        for retriever, make in columns.items():
            print(f"{name}: {retriever}", file=sys.stderr)
            found[retriever] = rows_of(make, stacks)
        for measure in SETS[name][1]:
            print(_line(name, measure, found), flush=True)
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.recall", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder with the sets")
    parser.add_argument("--sample", type=int, default=0, help="only so many questions of each set")
    parser.add_argument("--seed", type=int, default=0, help="which ones")
    parser.add_argument("--only", action="append", choices=RETRIEVERS, help="only this column")
    parser.add_argument("sets", nargs="*", help=f"of: {', '.join(SETS)}; all if none is named")
    args = parser.parse_args()
    if unknown := [name for name in args.sets if name not in SETS]:
        parser.error(f"no such set: {', '.join(unknown)}")
    return args


def _line(name: str, measure: str, found: Mapping[str, Rows]) -> str:
    asked = sum(measure in row for row in next(iter(found.values())).values())
    if not asked:
        return f"| {name}, {measure} | 0 |" + " – |" * (len(found) + 1)
    means = {retriever: mean(rows, measure) for retriever, rows in found.items()}
    cells = " | ".join(f"{value:.3f}" for value in means.values())
    return f"| {name}, {measure} | {asked} | {cells} | {_gain(measure, found, means)} |"


def _gain(measure: str, found: Mapping[str, Rows], means: Mapping[str, float]) -> str:
    """How much better the last column is than the best of those that are no part of ours."""
    *others, ours = means
    rivals: Sequence[str] = [name for name in others if name != "ranking in memory"]
    if not rivals:
        return "–"
    best = max(rivals, key=lambda retriever: means[retriever])
    gain = difference(found[ours], found[best], measure)
    return f"{gain.mean:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}]"


if __name__ == "__main__":
    sys.exit(main())
