"""Cost as a store grows: each class of question, list, stats, hooks, learning, and vectors.

python -m bench.scale                          10,000 and 100,000 records
python -m bench.scale --count 1000000          another large store
python -m bench.scale --texts FOLDER           sentences from the text files of a folder
python -m bench.scale --stores FOLDER          keep the stores there; go on where one is not whole
python -m bench.scale --recalls                only recalls

Half of the records are memories, the others messages. A million takes about 15 minutes of CPU
time to build, and can be built in pieces with --stores.

Each class of recall by words and meaning is compared with a recall by words only of the same
questions with the same filter, in the same store: both take turns and go first by turns, each
question counts with its best time of four, and each class with the median of its questions.
"""

from __future__ import annotations

import argparse
import compileall
import os
import sys
import uuid
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from heapq import nsmallest
from statistics import mean, median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import apsw

import recollect
from recollect.agents import registry
from recollect.agents.operations_events import answer_event
from recollect.archive import steps as archive_steps
from recollect.index import sql_vectors as index_sql_vectors
from recollect.index import steps_nearest as index_steps_nearest
from recollect.index import vectors
from recollect.storage.database import Tx
from recollect.storage.sqlite import SqliteDatabase

from .foundation import opened, raw_store
from .texts import UNANSWERED, Sentences
from .yardstick import Ratio, line, own_time, report

SMALL = 10_000
BATCH = 2_000
KINDS = ("fact", "fact", "fact", "reference", "solution", "pitfall")
NEAREST, TEN = 100, 10
ROUNDS = 4
SESSION, ROLES = 1_000, ("user", "assistant", "assistant")


def fill(memory: recollect.Recollect, count: int, texts: Sentences) -> tuple[float, float]:
    """Learn sentences in bulk; return the CPU seconds of it, and of raw SQLite for the texts."""
    with TemporaryDirectory() as folder, raw_store(f"{folder}/raw.db") as connection:
        return _fill(memory, connection, count, texts)


def _fill(
    memory: recollect.Recollect, connection: apsw.Connection, count: int, texts: Sentences
) -> tuple[float, float]:
    ours = raw = 0.0
    connection.pragma("journal_mode", "wal")  # as durable as ours
    connection.execute("CREATE VIRTUAL TABLE words USING fts5(stems)")
    connection.execute("CREATE TABLE notes (id TEXT PRIMARY KEY, text TEXT, kind TEXT)")
    made = 0
    while made < count:
        batch = [
            {
                "text": texts.next(),
                "kind": KINDS[number % len(KINDS)],
                "tags": ["rare"] if (made + number) % 1000 == 7 else [],
            }
            for number in range(min(BATCH, count - made))
        ]
        ours += own_time(partial(memory.learn_many, batch))
        raw += own_time(partial(_insert, connection, made, [str(one["text"]) for one in batch]))
        made += len(batch)
    return ours, raw


def _insert(connection: apsw.Connection, first: int, texts: Sequence[str]) -> None:
    connection.execute("BEGIN IMMEDIATE")
    rows = [(f"m-{first + place}", text, "fact") for place, text in enumerate(texts)]
    connection.executemany("INSERT INTO notes VALUES (?, ?, ?)", rows)
    connection.executemany("INSERT INTO words (stems) VALUES (?)", [(text,) for text in texts])
    connection.execute("COMMIT")


def fill_mixed(
    memory: recollect.Recollect, count: int, texts: Sentences
) -> tuple[float, float] | None:
    """Fill a store half with memories and half with messages, and make their vectors; return the
    times of `fill`, or None if it had some records before."""
    held = memory.store.stats()
    for _ in range(held.memories + held.messages):
        texts.next()
    left = count // 2 - held.memories
    times = fill(memory, left, texts) if left > 0 else None
    for start in range(held.messages, count - max(held.memories, count // 2), SESSION):
        said = [recollect.Message(ROLES[place % 3], texts.next()) for place in range(SESSION)]
        session = archive_steps.build_session(
            f"s-{start}", "", agent="", cwd="", branch="", origin="user"
        )
        first = 1_700_000_000_000_000 + start * 60_000_000
        ready = [archive_steps.prepare(archive_steps.Incoming(one), first) for one in said]
        memory.context.project_space.write(partial(_record, session=session, ready=ready))
    memory.store.rebuild(missing=True)
    return None if held.memories else times


def _record(
    tx: Tx,
    session: archive_steps.NewSession,
    ready: Sequence[archive_steps.PreparedMessage],
) -> None:
    archive_steps.record(tx, session, ready, ready[-1].at)


class RecallCosts(NamedTuple):
    """The median CPU milliseconds of a class of recall, the same by words only, and those of FTS5
    for all words of the questions."""

    both: float
    words: float
    raw: float


def recall_costs(
    memory: recollect.Recollect, words_only: recollect.Recollect, texts: Sentences
) -> dict[str, RecallCosts]:
    """Return the costs of each class of recall; the two memories are of the same store."""
    asked = [texts.question() for _ in range(15)]
    classes: dict[str, tuple[Sequence[str], dict[str, Any]]] = {
        "recall, words answer": (asked, {}),
        "recall, only meaning answers": (UNANSWERED, {}),
        "recall, a kind": (asked, {"kind": ["pitfall"]}),
        "recall, a kind that none has": (asked, {"kind": ["workflow"]}),
        "recall, a rare tag": (asked, {"tags": ["rare"]}),
        "recall, a file": (asked, {"file": "src/api/auth.py"}),
        "recall by meaning, a rare tag": (UNANSWERED, {"tags": ["rare"]}),
        "recall by meaning, a kind": (UNANSWERED, {"kind": ["pitfall"]}),
    }
    database = memory.context.project_space
    assert isinstance(database, SqliteDatabase)
    found = {}
    with raw_store(database.path) as connection:
        for name, (questions, filters) in classes.items():
            best = []
            for question in questions:
                match = " OR ".join(f'"{word}"' for word in question.split())
                ways: Sequence[Callable[[], object]] = (
                    partial(memory.recall, question, **filters),
                    partial(words_only.recall, question, **filters),
                    partial(_search, connection, match),
                )
                rounds = [_turn(ways, first) for first in (0, 1) * (ROUNDS // 2)]
                best.append([min(times) for times in zip(*rounds, strict=True)])
            middle = [1000 * median(times) for times in zip(*best, strict=True)]
            found[name] = RecallCosts(*middle)
    return found


def _turn(ways: Sequence[Callable[[], object]], first: int) -> list[float]:
    """Return the seconds of each way, of the first two `first` before the other: what comes after
    FTS5 finds the caches of the processor cold."""
    order = sorted(range(len(ways)), key=lambda place: (place == 2, place != first))
    spent = {place: own_time(ways[place]) for place in order}
    return [spent[place] for place in range(len(ways))]


def _search(connection: apsw.Connection, match: str) -> object:
    sql = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT 10"
    return connection.execute(sql, (match,)).fetchall()


def costs(memory: recollect.Recollect, texts: Sentences) -> dict[str, float]:
    """Return the median CPU milliseconds of each class of call beside recalls."""
    prompts = [f"please fix this: {texts.next()}" for _ in range(15)]
    calls: dict[str, Sequence[Callable[[], object]]] = {
        "list": [partial(memory.list, limit=50)] * 9,
        "list of a kind": [partial(memory.list, kind="solution", limit=50)] * 9,
        "stats": [memory.store.stats] * 9,
        "briefing": [memory.briefing] * 9,
        "hook: session start": [partial(_hook, memory, "SessionStart", session="")] * 9,
        "hook: prompt": [partial(_hook, memory, "UserPromptSubmit", prompt=p) for p in prompts],
        "hook: edit": [
            partial(_hook, memory, "PreToolUse", tool_input={"file_path": "src/part3/tax.py"})
        ]
        * 9,
        "learn": [partial(memory.learn, texts.next()) for _ in range(30)],
    }
    found = {}
    for name, works in calls.items():
        works[0]()
        works[1]()
        found[name] = 1000 * median(own_time(work) for work in works[2:])
    return found


def _hook(
    memory: recollect.Recollect, event: str, session: str = "bench", **fields: object
) -> object:
    """Answer an event in this process."""
    payload = {
        "hook_event_name": event,
        "session_id": session or uuid.uuid4().hex,
        "cwd": memory.context.project.root,
        "tool_name": "Edit",
        "source": "startup",
        "prompt_id": uuid.uuid4().hex,
        "tool_use_id": uuid.uuid4().hex,
        **fields,
    }
    return answer_event(memory.context, registry.load_hooks("claude-code").parse(payload, {}))


def nearest_share(memory: recollect.Recollect, texts: Sentences) -> tuple[str, float, float]:
    """Return the share of the nearest vectors that cells find, and the milliseconds of both."""
    embedder = memory.context.embedder()
    if embedder is None:
        return "", 0.0, 0.0
    questions = embedder.embed([texts.question() for _ in range(10)] + list(UNANSWERED))
    shares, first, fast, slow = [], [], [], []

    def exactly(tx: Tx) -> list[list[int]]:
        best: list[list[tuple[float, int]]] = [[] for _ in questions]
        for block in index_sql_vectors.list_blocks(tx):
            held = index_sql_vectors.load_block_vectors(tx, block)
            for place, question in enumerate(questions):
                found = index_steps_nearest.cosines_by_entry(question, held)
                near = [(-cosine, entry) for entry, cosine in found.items()]
                best[place] = nsmallest(NEAREST, [*best[place], *near])
        return [[entry for _, entry in near] for near in best]

    def whole(tx: Tx, question: bytes) -> dict[int, float]:
        """Search the signs of all vectors, as without cells."""
        blocks = index_sql_vectors.list_blocks(tx)
        scores = vectors.score_blocks(question, [block.signs for block in blocks])
        numbers = [entry for block in blocks for entry in block.entries]
        best = vectors.pick_best(scores, index_steps_nearest.SIGNED * NEAREST)
        held = index_sql_vectors.load_vectors(tx, [numbers[place] for place in best])
        return index_steps_nearest.cosines_by_entry(question, held)

    space = memory.context.project_space
    for question, best in zip(questions, space.read(exactly), strict=True):
        near = partial(
            index_steps_nearest.find_nearest,
            question=question,
            count=index_steps_nearest.SIGNED * NEAREST,
        )
        found = list(space.read(near))[:NEAREST]
        shares.append(len({*best} & {*found}) / max(len(best), 1))
        first.append(len({*best[:TEN]} & {*found}) / max(len(best[:TEN]), 1))
        fast.append(own_time(partial(space.read, near)))
        slow.append(own_time(partial(space.read, partial(whole, question=question))))
    told = f"{mean(shares):.1%} of those of an exact scan, {mean(first):.1%} of its first {TEN}"
    return told, 1000 * median(fast), 1000 * median(slow)


def measures(
    large: int = 100_000, folder: str = "", stores: str = "", recalls_only: bool = False
) -> Iterator[Ratio]:
    """Compare a small with a large store, and both with raw SQLite."""
    known: dict[int, dict[str, float]] = {}
    for count in (SMALL, large):
        texts = Sentences(folder)
        with TemporaryDirectory() as temporary:
            place = os.path.join(stores, str(count)) if stores else temporary
            os.makedirs(place, exist_ok=True)
            with opened(place) as memory, opened(place, "off") as words_only:
                if times := fill_mixed(memory, count, texts):
                    title = f"learn_many of {count // 2:,}"
                    yield line(title, *times, "s CPU", ("at most", 15.0))
                found = recall_costs(memory, words_only, texts)
                known[count] = {name: one.both for name, one in found.items()}
                known[count]["recall by words only"] = found["recall, words answer"].words
                if not recalls_only:
                    known[count] |= costs(memory, texts)
                    share, fast, slow = nearest_share(memory, texts)
        for name, one in found.items():
            title = f"{name}, at {count:,}, to words only"
            yield line(title, one.both, one.words, "ms CPU", ("at most", 2.0))
        title = f"recall, words answer, at {count:,}, to FTS5"
        bound = 4.0 if count <= SMALL else 1.0
        one = found["recall, words answer"]
        yield line(title, one.both, one.raw, "ms CPU", ("at most", bound))
        if recalls_only:
            continue
        title = f"{NEAREST} nearest at {count:,}, to a scan of all signs"
        yield line(title, fast, slow, "ms CPU", ("at most", 1.2))
        print(f"{NEAREST} nearest at {count:,}: {share}")
    for name, cost in known[large].items():
        title = f"{name} at {large:,}, to {SMALL:,}"
        yield line(title, cost, known[SMALL][name], "ms CPU", ("at most", 2.0))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--texts", default="")
    parser.add_argument("--stores", default="")
    parser.add_argument("--recalls", action="store_true", help="measure only recalls")
    given = parser.parse_args()
    with TemporaryDirectory() as compiled:
        # As installing does: else a first call also compiles the modules that it loads.
        sys.pycache_prefix = compiled
        compileall.compile_dir(os.path.dirname(recollect.__file__), quiet=1)
        return report(measures(given.count, given.texts, given.stores, given.recalls))


if __name__ == "__main__":
    sys.exit(main())
