"""Cost as a store grows: each class of question, list, stats, learning, and vectors.

python -m bench.scale                          10,000 and 100,000 memories
python -m bench.scale --count 1000000          another large store
python -m bench.scale --texts FOLDER           sentences from the text files of a folder
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from statistics import median
from tempfile import TemporaryDirectory

import apsw

import recollect
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
NEAREST = 100


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


def costs(memory: recollect.Recollect, texts: Sentences) -> dict[str, float]:
    """Return the median CPU milliseconds of each class of call."""
    asked = [texts.question() for _ in range(15)]
    calls: dict[str, Sequence[Callable[[], object]]] = {
        "recall, words answer": [partial(memory.recall, one) for one in asked],
        "recall, only meaning answers": [partial(memory.recall, one) for one in UNANSWERED * 2],
        "recall, a kind": [partial(memory.recall, one, kind=["pitfall"]) for one in asked],
        "recall, a rare tag": [partial(memory.recall, one, tags=["rare"]) for one in asked],
        "recall by meaning, a rare tag": [
            partial(memory.recall, one, tags=["rare"]) for one in UNANSWERED * 2
        ],
        "list": [partial(memory.list, limit=50)] * 9,
        "list of a kind": [partial(memory.list, kind="solution", limit=50)] * 9,
        "stats": [memory.store.stats] * 9,
        "briefing": [memory.briefing] * 9,
        "learn": [partial(memory.learn, texts.next()) for _ in range(15)],
    }
    found = {}
    for name, works in calls.items():
        works[0]()
        found[name] = 1000 * median(own_time(work) for work in works)
    return found


def words_only(folder: str, texts: Sentences) -> float:
    """Return the median CPU milliseconds of a recall by words alone in the same store."""
    with opened(folder, "off") as memory:
        asked = [texts.question() for _ in range(15)]
        memory.recall(asked[0])
        return 1000 * median(own_time(partial(memory.recall, one)) for one in asked)


def raw_words(database: SqliteDatabase, texts: Sentences) -> float:
    """Return the median CPU milliseconds of FTS5 for all words of a question."""
    with raw_store(database.path) as connection:
        sql = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT 10"

        def ask(question: str) -> object:
            words = " OR ".join(f'"{word}"' for word in question.split())
            return connection.execute(sql, (words,)).fetchall()

        return 1000 * median(
            own_time(partial(ask, question)) for question in [texts.question() for _ in range(15)]
        )


def nearest_share(memory: recollect.Recollect, texts: Sentences) -> tuple[float, float, float]:
    """Return the share of the nearest vectors that cells find, and the milliseconds of both."""
    embedder = memory.context.embedder()
    if embedder is None:
        return 0.0, 0.0, 0.0
    questions = embedder.embed([texts.question() for _ in range(10)] + list(UNANSWERED))
    shares, fast, slow = [], [], []

    def exactly(tx: Tx, question: bytes) -> list[int]:
        held: dict[int, bytes] = {}
        for block in index_sql_vectors.list_blocks(tx):
            held |= index_sql_vectors.load_block_vectors(tx, block)
        found = index_steps_nearest.cosines_by_entry(question, held)
        return sorted(found, key=lambda entry: (-found[entry], entry))[:NEAREST]

    def whole(tx: Tx, question: bytes) -> dict[int, float]:
        """Search the signs of all vectors, as without cells."""
        blocks = index_sql_vectors.list_blocks(tx)
        scores = vectors.score_blocks(question, [block.planes for block in blocks])
        numbers = [entry for block in blocks for entry in block.entries]
        best = vectors.pick_best(scores, index_steps_nearest.SIGNED * NEAREST)
        held = index_sql_vectors.load_vectors(tx, [numbers[place] for place in best])
        return index_steps_nearest.cosines_by_entry(question, held)

    space = memory.context.project_space
    for question in questions:
        best = set(space.read(partial(exactly, question=question)))
        near = partial(
            index_steps_nearest.find_nearest,
            question=question,
            count=index_steps_nearest.SIGNED * NEAREST,
        )
        found = list(space.read(near))[:NEAREST]
        shares.append(len(best & set(found)) / max(len(best), 1))
        fast.append(own_time(partial(space.read, near)))
        slow.append(own_time(partial(space.read, partial(whole, question=question))))
    return sum(shares) / len(shares), 1000 * median(fast), 1000 * median(slow)


def measures(large: int = 100_000, folder: str = "") -> Iterator[Ratio]:
    """Compare a small with a large store, and both with raw SQLite."""
    known: dict[int, dict[str, float]] = {}
    for count in (SMALL, large):
        texts = Sentences(folder)
        with TemporaryDirectory() as place:
            with opened(place) as memory:
                ours, raw = fill(memory, count, texts)
                yield line(f"learn_many of {count:,}", ours, raw, "s CPU", ("at most", 15.0))
                memory.store.rebuild(missing=True)
                known[count] = costs(memory, texts)
                database = memory.context.project_space
                assert isinstance(database, SqliteDatabase)
                fts = raw_words(database, texts)
                share, fast, slow = nearest_share(memory, texts)
            alone = words_only(place, texts)
            for name in [name for name in known[count] if name.startswith("recall")]:
                title = f"{name}, at {count:,}, to words only"
                yield line(title, known[count][name], alone, "ms CPU", ("at most", 2.0))
            title = f"recall, words answer, at {count:,}, to FTS5"
            bound = 4.0 if count <= SMALL else 1.0
            yield line(
                title, known[count]["recall, words answer"], fts, "ms CPU", ("at most", bound)
            )
            title = f"{NEAREST} nearest at {count:,}, to a scan of all signs"
            yield line(title, fast, slow, "ms CPU", ("at most", 1.2))
            print(f"{NEAREST} nearest at {count:,}: {share:.1%} of those of an exact scan")
    for name in ("list", "list of a kind", "stats", "briefing", "learn"):
        title = f"{name} at {large:,}, to {SMALL:,}"
        yield line(title, known[large][name], known[SMALL][name], "ms CPU", ("at most", 2.0))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--texts", default="")
    given = parser.parse_args()
    return report(measures(given.count, given.texts))


if __name__ == "__main__":
    sys.exit(main())
