"""`python -m bench.recall.filters`: whether a filtered recall finds all that it should.

python -m bench.recall.filters --count 100000 FOLDER     fill a store there, or use the one there
python -m bench.recall.filters --count 10000 --postgres FOLDER    on a server of its own
    --words N      words to ask for with each filter (12)
    --embedder E   static searches by meaning too; off (the default) by words only

Every record that fulfils a filter and holds a word of the question is looked up by reading all of
them. A recall with this filter and word must find each, whatever else it finds. The filters are a
tag, a file, a kind, a layer, a time, and pairs of these; the words are common, rare and between.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import recollect
from recollect.text import display, globs, terms
from recollect.types.records import FOREVER

from ..scale import KINDS
from ..team import started
from ..texts import Sentences

_BATCH = 500
_DAY = 86_400_000_000
_START = 1_750_000_000_000_000
_MOST = 400
"""Records that one question may have to find."""

_SCOPES = ("", "", "", "src/api/**", "docs/*.md", "src/**/test_*.py")


class Kept(NamedTuple):
    """A memory as it was learned, with the stems of its text."""

    id: str
    kind: str
    tags: frozenset[str]
    scope: str
    at: int
    stems: frozenset[str]


class Filter(NamedTuple):
    """A filter of recall, and the same as a test of a record."""

    asked: Mapping[str, Any]
    holds: Callable[[Kept], bool]


def _tags(number: int) -> list[str]:
    return [f"every{step}" for step in (2, 30, 1000) if number % step == 1]


def fill(memory: recollect.Recollect, now: list[int], count: int) -> None:
    """Learn sentences of all kinds, a day after each batch."""
    texts = Sentences("", seed=3)
    for first in range(0, count, _BATCH):
        memory.learn_many(
            [
                {
                    "text": texts.next(),
                    "kind": KINDS[number % len(KINDS)],
                    "tags": _tags(number),
                    "scope": [scope] if (scope := _SCOPES[number // 7 % len(_SCOPES)]) else [],
                }
                for number in range(first, min(first + _BATCH, count))
            ]
        )
        now[0] += _DAY


def read_all(memory: recollect.Recollect) -> list[Kept]:
    """Read every memory, with its own stems."""
    database = memory.context.project_space
    rows = database.read(
        lambda tx: tx.run("SELECT id, ref, kind, at FROM entries WHERE space = :space AND seq = 0")
    )
    facets: dict[int, list[tuple[str, str]]] = {}
    for entry, name, value in database.read(
        lambda tx: tx.run("SELECT entry, name, value FROM facets WHERE space = :space")
    ):
        facets.setdefault(entry, []).append((name, value))
    texts: dict[str, str] = dict(
        database.read(lambda tx: tx.run("SELECT id, text FROM memories WHERE space = :space"))
    )
    return [
        Kept(
            id=ref,
            kind=kind,
            tags=frozenset(value for name, value in facets.get(entry, ()) if name == "tag"),
            scope=next((value for name, value in facets.get(entry, ()) if name == "scope"), ""),
            at=at,
            stems=frozenset(terms.stem_text(texts[ref]).split()),
        )
        for entry, ref, kind, at in rows
    ]


def filters(kept: Sequence[Kept], middle: int) -> list[Filter]:
    """Return single filters for the kinds and tags that there are, and pairs of different ones."""
    day = _date(middle)
    kinds = sorted({one.kind for one in kept})
    tags = sorted({tag for one in kept for tag in one.tags})
    files = ("src/api/users.py", "docs/setup.md", "src/a/b/test_x.py", "other.txt")
    single = [
        *[Filter({"kind": [kind]}, partial(_is_kind, kind)) for kind in kinds],
        *[Filter({"tags": [tag]}, partial(_has_tag, tag)) for tag in tags],
        *[Filter({"file": file}, partial(_covers, file)) for file in files],
        Filter({"since": day}, partial(_is_between, middle, FOREVER)),
        Filter({"until": day}, partial(_is_between, 0, middle)),
        Filter({"layer": ["project"]}, partial(_is_between, 0, FOREVER)),
    ]
    pairs = [
        Filter({**a.asked, **b.asked}, partial(_both, a, b))
        for place, a in enumerate(single)
        for b in single[place + 1 :]
        if set(a.asked).isdisjoint(b.asked)
    ]
    return single + pairs


def _is_kind(kind: str, one: Kept) -> bool:
    return one.kind == kind


def _has_tag(tag: str, one: Kept) -> bool:
    return tag in one.tags


def _covers(file: str, one: Kept) -> bool:
    return not one.scope or globs.matches(one.scope, file)


def _is_between(first: int, end: int, one: Kept) -> bool:
    return first <= one.at < end


def _both(one: Filter, other: Filter, kept: Kept) -> bool:
    return one.holds(kept) and other.holds(kept)


def _date(at: int) -> str:
    return display.format_time(at)[:10]


def choose_words(kept: Sequence[Kept], count: int, random: Random) -> list[str]:
    """Return words of all frequencies: a third each of common, middle and rare ones."""
    held: dict[str, int] = {}
    for one in kept:
        for stem in one.stems:
            held[stem] = held.get(stem, 0) + 1
    known = sorted(
        [word for word in held if word.isalpha() and len(word) > 3 and _finds_itself(word)],
        key=lambda word: (held[word], word),
    )
    third = len(known) // 3
    return [
        word
        for part in (known[:third], known[third : 2 * third], known[2 * third :])
        for word in random.sample(part, min(len(part), count // 3))
    ]


def _finds_itself(word: str) -> bool:
    return terms.query_stems(word) == [word]


def check(memory: recollect.Recollect, words: int) -> tuple[int, int, int]:
    """Ask each word with each filter; return the questions, records to find, and those missed."""
    kept = read_all(memory)
    random = Random(5)
    times = sorted(one.at for one in kept)
    middle = times[len(times) // 2] // _DAY * _DAY
    asked = wanted = missed = 0
    chosen = choose_words(kept, words, random)
    for one in filters(kept, middle):
        left = [item for item in kept if one.holds(item)]
        for word in chosen:
            due = {item.id for item in left if word in item.stems}
            if not 0 < len(due) <= _MOST:
                continue
            found = memory.recall(word, limit=len(due) + 50, budget=1_000_000_000, **one.asked)
            lost = due - {hit.id for hit in found}
            asked, wanted, missed = asked + 1, wanted + len(due), missed + len(lost)
            if lost:
                print(f"{word!r} {dict(one.asked)}: {len(lost)} of {len(due)} missed", flush=True)
    return asked, wanted, missed


@contextmanager
def _opened(args: argparse.Namespace, now: list[int]) -> Iterator[recollect.Recollect]:
    args.folder.mkdir(parents=True, exist_ok=True)
    variables = {"RECOLLECT_HOME": f"{args.folder}/home", "RECOLLECT_EMBEDDER": args.embedder}
    if not args.postgres:
        with recollect.open(
            str(args.folder), environment=variables, origin="user", clock=lambda: now[0]
        ) as memory:
            yield memory
        return
    with started() as server:
        variables |= {"RECOLLECT_DATABASE": server.admin, "RECOLLECT_SPACE": "filters"}
        with recollect.open(
            str(args.folder), environment=variables, origin="user", clock=lambda: now[0]
        ) as memory:
            yield memory


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.recall.filters", description=__doc__)
    parser.add_argument("folder", type=Path, help="the folder of the store")
    parser.add_argument("--count", type=int, default=10_000, help="memories to learn")
    parser.add_argument("--words", type=int, default=12, help="words to ask for with each filter")
    parser.add_argument("--embedder", default="off", choices=("off", "static"))
    parser.add_argument("--postgres", action="store_true", help="on a server of its own")
    args = parser.parse_args()
    now = [_START]
    with _opened(args, now) as memory:
        if not memory.store.stats().memories:
            fill(memory, now, args.count)
        now[0] = _START + (args.count // _BATCH + 2) * _DAY
        asked, wanted, missed = check(memory, args.words)
    print(f"{asked} filtered questions, {wanted} records to find, {missed} missed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
