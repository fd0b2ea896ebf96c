"""`python -m bench.recall.work`: whether recall answers questions about real coding sessions.

python -m bench.recall.work build GOLD FOLDER…     write the questions, before anything is tuned
python -m bench.recall.work ask GOLD FOLDER…       answer them: raw FTS5 and Recollect
    --marked FILE    statements marked by hand (FOLDER's name .jsonl); may be repeated
    --part held      the part that is kept aside (a third of the transcripts)
    --keep DIR       keep the stores there, for the next run
    --missed N       also print N missed questions of each class

Each folder of transcripts is one haystack; every message of it is recorded. `found` is the share of
questions with a gold message among the first five (quotes: ten; tickets and hashes: first). For
changes it is the share in which the newer comes before the older (the same edit made again in the
session is as good), and for questions that nothing answers the share without a hit, or with weak
ones only.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from os import environ
from pathlib import Path
from tempfile import TemporaryDirectory

import recollect
from recollect.recall.judgement import PROBABLY_WRONG
from recollect.text import messages

from .baselines import Words
from .datasets import Item
from .product import record_session
from .work_questions import PARTS, Turn, WorkQuestion, build, read_turns

DEPTH = 20
_EVERYTHING = 1_000_000_000
_FIRST = ("ticket", "hash")

Hits = Sequence[tuple[str, float]]
"""The ids of the hits with their scores, best first."""


class WorkStore:
    """The messages of a haystack in a project of its own."""

    def __init__(self, folder: Path, turns: Sequence[Turn]) -> None:
        variables = {"RECOLLECT_HOME": f"{folder}/home", "PATH": environ["PATH"]}
        self._now = max(turn.message.at for turn in turns) + 60_000_000
        self.opened = recollect.open(
            str(folder), clock=lambda: self._now, origin="user", environment=variables
        )
        filled = folder / "filled.json"
        if filled.exists():
            self._ids = json.loads(filled.read_text("utf-8"))
            return
        sessions: dict[str, list[Turn]] = defaultdict(list)
        for turn in turns:
            sessions[turn.session].append(turn)
        self._ids = {}
        for number, held in enumerate(sessions.values()):
            self._record(f"s-{number}", held)
        self.opened.store.rebuild(missing=True)
        self.opened.store.rebuild(missing=True)
        filled.write_text(json.dumps(self._ids), "utf-8")

    def _record(self, session: str, turns: Sequence[Turn]) -> None:
        messages = [turn.message for turn in turns]
        places = record_session(self.opened, session, messages, self._now)
        for turn, (name, seq) in zip(turns, places, strict=True):
            self._ids.setdefault(f"{name}:{seq}", turn.id)

    def recall(self, question: str) -> Hits:
        found = self.opened.recall(question, limit=DEPTH, budget=_EVERYTHING)
        return [(self._ids[hit.id], hit.score) for hit in found]

    def search(self, mode: str) -> Callable[[str], Hits]:
        def ask(question: str) -> Hits:
            found = self.opened.sessions.search(question, 1000, DEPTH, mode)
            ids = [hit.address.removeprefix("memory://session/") for hit in found]
            places = [one.partition("/messages/") for one in ids]
            return [
                (self._ids[f"{session}:{numbers.partition('-')[0]}"], hit.score)
                for (session, _, numbers), hit in zip(places, found, strict=True)
            ]

        return ask


def score(question: WorkQuestion, hits: Hits) -> float:
    """Whether the hits answer a question, 0 or 1."""
    ids = [id for id, _ in hits]
    if question.kind == "nothing":
        return float(all(value < PROBABLY_WRONG for _, value in hits))
    if question.stale:
        ranks = [ids.index(id) for id in question.stale if id in ids]
        return float(question.gold[0] in ids and ids.index(question.gold[0]) < min([*ranks, DEPTH]))
    first = 10 if question.kind == "quote" else 1 if question.kind in _FIRST else 5
    return float(not set(question.gold).isdisjoint(ids[:first]))


def main() -> int:
    args = _arguments()
    if args.do == "build":
        found = list(build(args.folders, args.marked or []))
        text = "".join(json.dumps(one._asdict(), ensure_ascii=False) + "\n" for one in found)
        args.gold.write_text(text, "utf-8")
        print(f"{len(found)} questions, sha256 {sha256(text.encode()).hexdigest()}")
        return 0
    rows = [json.loads(line) for line in args.gold.read_text("utf-8").splitlines()]
    asked = [
        WorkQuestion(**{**row, "gold": tuple(row["gold"]), "stale": tuple(row["stale"])})
        for row in rows
        if row["part"] == args.part
    ]
    table: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    missed: dict[str, list[str]] = defaultdict(list)
    for folder in args.folders:
        here = [one for one in asked if one.folder == folder.name]
        with TemporaryDirectory() as scratch:
            place = Path(args.keep or scratch) / f"{folder.name}-{args.part}"
            place.mkdir(parents=True, exist_ok=True)
            _ask(here, read_turns(folder, args.part), place, table, missed, args.only)
    _print(table)
    for group, lines in missed.items():
        for line in lines[: args.missed]:
            print(f"{group}: {line}")
    return 0


def _ask(
    asked: Sequence[WorkQuestion],
    turns: Sequence[Turn],
    place: Path,
    table: Mapping[str, dict[str, list[float]]],
    missed: Mapping[str, list[str]],
    only: str,
) -> None:
    raw = Words()
    raw.add(
        [
            Item(turn.id, messages.searchable_text(turn.message), turn.session, "", 0)
            for turn in turns
        ]
    )
    store = WorkStore(place, turns)
    edits: dict[tuple[str, str], str] = {}
    same = {
        turn.id: edits.setdefault((turn.session, messages.searchable_text(turn.message)), turn.id)
        for turn in turns
        if turn.message.calls
    }
    for question in asked:
        if only and not question.group.startswith(only):
            continue
        words = [(id, 1.0) for id in raw.search(question.text, DEPTH)]
        ways: dict[str, Hits] = {"FTS5": words, "Recollect": store.recall(question.text)}
        if question.kind == "quote":
            ways["sessions ranked"] = store.search("ranked")(question.text)
            ways["sessions plain"] = store.search("plain")(question.text)
        if question.group == "change, edit":
            question = question._replace(gold=(same[question.gold[0]],))
            ways = {
                name: [(same.get(id, id), value) for id, value in hits]
                for name, hits in ways.items()
            }
        for name, hits in ways.items():
            table[question.group][name].append(score(question, hits))
        if not score(question, ways["Recollect"]):
            first = ", ".join(f"{id} {value:.2f}" for id, value in ways["Recollect"][:5])
            missed[question.group].append(
                f"{question.folder}: {question.text!r} gold {question.gold} first {first}"
            )
    store.opened.close()


def _print(table: Mapping[str, Mapping[str, list[float]]]) -> None:
    names = ("FTS5", "Recollect", "sessions ranked", "sessions plain")
    print(f"| class | questions | {' | '.join(names)} |")
    print("|---" * (len(names) + 2) + "|")
    total: dict[str, list[float]] = defaultdict(list)
    for group in sorted(table):
        for name, values in table[group].items():
            total[name] += values
    for group, found in (*sorted(table.items()), ("all", total)):
        cells = [
            f"{sum(found[name]) / len(found[name]):.3f}" if found.get(name) else "–"
            for name in names
        ]
        print(f"| {group} | {len(found['FTS5'])} | {' | '.join(cells)} |")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.recall.work", description=__doc__)
    parser.add_argument("do", choices=("build", "ask"))
    parser.add_argument("gold", type=Path, help="the file with the questions")
    parser.add_argument("folders", type=Path, nargs="+", help="folders with transcripts")
    parser.add_argument("--marked", type=Path, action="append", help="statements marked by hand")
    parser.add_argument("--part", choices=PARTS, default="shared")
    parser.add_argument("--keep", type=Path, default=None, help="where to keep the stores")
    parser.add_argument("--missed", type=int, default=0, help="missed questions to print a class")
    parser.add_argument("--only", default="", help="only classes that begin like this")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
