"""Durable writes against raw SQLite doing the same statements, recall against raw FTS5, a cold
command against a bare interpreter."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import count
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import apsw

import recollect
from recollect.archive import steps as archive_steps
from recollect.archive.sql import NewSession
from recollect.context import new_id
from recollect.memory import steps as memory_steps
from recollect.memory import steps_learn as memory_steps_learn
from recollect.memory import steps_neighbours as memory_steps_neighbours
from recollect.recall import questions as recall_questions
from recollect.storage.database import StemFrequencies, Tx
from recollect.storage.sqlite import _PRAGMAS, SqliteDatabase
from recollect.storage.sqlite_files import define_seal
from recollect.text import terms

from .texts import Sentences
from .yardstick import (
    EnglishNotes,
    Notes,
    Ratio,
    line,
    own_time,
    paired,
    processor_milliseconds,
    wall,
)

Statements = list[tuple[str, Any]]
WRITES, TURNS, ROUNDS = 20, 20, 4


SEARCHES = {"off": "words", "static": "words and meaning"}
"""How a recall searches, by the setting `embedder`."""


@contextmanager
def opened(folder: str, embedder: str = "static") -> Iterator[recollect.Recollect]:
    variables = {"RECOLLECT_HOME": f"{folder}/home", "RECOLLECT_EMBEDDER": embedder}
    with recollect.open(folder, environment=variables) as memory:
        yield memory


def fill(memory: recollect.Recollect, count: int, notes: Notes) -> None:
    """Learn many notes, a thousand in a transaction."""

    def batch(tx: Any, texts: list[str]) -> None:
        for text in texts:
            now = 1_700_000_000_000_000
            try:
                ready = memory_steps.prepare(memory_steps.Draft(text), "agent", now, new_id("m"))
            except recollect.Refused:
                continue  # a note that happens to read like the passing state of a task
            memory_steps_learn.learn(tx, ready, now)

    for start in range(0, count, 1000):
        texts = [notes.note() for _ in range(min(1000, count - start))]
        memory.context.project_space.write(partial(batch, texts=texts))


def statements_of(database: SqliteDatabase, work: Callable[[], object]) -> Statements:
    """Every statement that the work runs, with its parameters."""
    seen: Statements = []

    def look(cursor: apsw.Cursor, sql: str, bindings: Any) -> bool:
        seen.append((sql, bindings))
        return True

    connection = database._connect()
    connection.exec_trace = look
    try:
        work()
    finally:
        connection.exec_trace = None
    return seen


def durable(
    name: str, work: Callable[[recollect.Recollect, str], object], bound: float
) -> Iterator[Ratio]:
    """The rate of single durable writes, as a share of raw SQLite's for the same statements.

    Both take turns, a few writes each, so that a slow spell of the disk hits both."""
    notes = Notes()
    with TemporaryDirectory() as base:
        empty = f"{base}/empty"
        os.mkdir(empty)
        with opened(empty) as memory:
            memory.agents.init()
            memory.record("s", "the first message makes the session")
            memory.learn("the first fact")
        number = count()

        def fresh() -> str:
            target = f"{base}/{next(number)}"
            shutil.copytree(empty, target)
            return target

        def some(memory: recollect.Recollect) -> Callable[[], object]:
            texts = [notes.note() for _ in range(WRITES)]
            return lambda: [work(memory, text) for text in texts]

        with opened(fresh()) as memory:
            memory.store.stats()
            database = memory.context.project_space
            assert isinstance(database, SqliteDatabase)
            recorded = [statements_of(database, some(memory)) for _ in range(TURNS)]

        def ours() -> Iterator[float]:
            for _ in range(ROUNDS):
                with opened(fresh()) as memory:
                    memory.store.stats()
                    for _ in range(TURNS):
                        yield wall(some(memory))

        def raw() -> Iterator[float]:
            for _ in range(ROUNDS):
                with raw_store(f"{fresh()}/.recollect/memory.db") as connection:
                    for statements in recorded:
                        yield wall(partial(run, connection, statements))

        mine, yardstick = paired(ours().__next__, raw().__next__, ROUNDS * TURNS)
    rates = WRITES / mine, WRITES / yardstick
    yield line(name, *rates, "per second", ("at least", bound))


@contextmanager
def raw_store(path: str) -> Iterator[apsw.Connection]:
    """SQLite alone, set up as we do it."""
    connection = apsw.Connection(path)
    connection.execute(_PRAGMAS).fetchall()
    define_seal(connection)
    try:
        yield connection
    finally:
        connection.close()


def run(connection: apsw.Connection, statements: Statements) -> None:
    for sql, bindings in statements:
        connection.execute(sql, bindings).fetchall()


def _looked_up(tx: Tx, question: str, by_meaning: bool) -> list[str]:
    stems = terms.query_stems(question)
    known = tx.frequencies(stems)
    return recall_questions.choose_stems(stems, known.entries, known.holding, by_meaning)


def recall(count: int, embedder: str, bound: float) -> Ratio:
    """A recall in a warm process, against FTS5 answering the same terms: those that we look up,
    of which the most common ones are left out in a large store. Medians over the questions."""
    notes = EnglishNotes()
    with TemporaryDirectory() as folder, opened(folder, embedder) as memory:
        fill(memory, count, notes)
        if embedder != "off":
            memory.store.rebuild(missing=True)
        questions = [notes.question() for _ in range(40)]
        database = memory.context.project_space
        assert isinstance(database, SqliteDatabase)
        asked = [
            database.read(partial(_looked_up, question=question, by_meaning=embedder != "off"))
            for question in questions
        ]
        with raw_store(database.path) as connection:
            sql = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT 10"

            def raw(found: list[str]) -> object:
                return connection.execute(sql, (" OR ".join(f'"{x}"' for x in found),)).fetchall()

            mine, yardstick = paired(
                lambda: _median(memory.recall, questions), lambda: _median(raw, asked), 7
            )
    return line(
        f"recall by {SEARCHES[embedder]} at {count:,} memories",
        mine * 1000,
        yardstick * 1000,
        "ms CPU",
        ("at most", bound),
    )


def _median(work: Callable[[Any], object], items: Sequence[Any]) -> float:
    """The middle one of the times that the work takes for each item."""
    return median(own_time(partial(work, item)) for item in items)


def cold(count: int = 10_000) -> Iterator[Ratio]:
    """The whole process of `recollect recall`, against `python -c pass`."""
    notes = EnglishNotes()
    with TemporaryDirectory() as folder:
        with opened(folder) as memory:
            fill(memory, count, notes)
            memory.store.rebuild(missing=True)
        environment = {**os.environ, "RECOLLECT_HOME": f"{folder}/home"}
        script = os.path.join(sysconfig.get_path("scripts"), "recollect")
        command = [script, "recall", notes.question(), "--project", folder]
        bare = [sys.executable, "-c", "pass"]
        # The first one compiles what was changed, as installing does.
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for embedder, bound in (("off", 4.0), ("static", 6.0)):
            environment["RECOLLECT_EMBEDDER"] = embedder
            processor_milliseconds(command, environment)
            mine, yardstick = paired(
                lambda: processor_milliseconds(command, environment),
                lambda: processor_milliseconds(bare, environment),
                15,
            )
            name = f"cold `recollect recall` by {SEARCHES[embedder]} at {count:,} memories"
            yield line(name, mine, yardstick, "ms CPU", ("at most", bound))


def learn() -> Iterator[Ratio]:
    yield from durable("durable learn", lambda memory, text: memory.learn(text), 0.7)
    yield single_learn()


def single_learn(count: int = 2_500) -> Ratio:
    """A `learn` in a warm process, against raw SQLite that writes the same text to a table and to
    FTS5, with `synchronous=FULL` and its default journal: processor time, sentences like those
    that engineers write."""
    texts = Sentences()
    with TemporaryDirectory() as folder, opened(folder) as memory:
        held = [texts.next() for _ in range(count)]
        memory.learn_many([{"text": text} for text in held])
        connection = apsw.Connection(f"{folder}/raw.db")
        connection.pragma("synchronous", "full")
        connection.execute("CREATE VIRTUAL TABLE words USING fts5(stems)")
        connection.execute("CREATE TABLE notes (id TEXT PRIMARY KEY, text TEXT, kind TEXT)")

        def raw(text: str) -> None:
            connection.execute("BEGIN IMMEDIATE")
            row = (new_id("m"), text, "fact")
            connection.execute("INSERT INTO notes VALUES (?, ?, ?)", row)
            connection.execute("INSERT INTO words (stems) VALUES (?)", (text,))
            connection.execute("COMMIT")

        connection.execute("BEGIN")
        connection.executemany("INSERT INTO words (stems) VALUES (?)", [(text,) for text in held])
        connection.execute("COMMIT")
        mine, yardstick = paired(
            lambda: _median(memory.learn, [texts.next() for _ in range(30)]),
            lambda: _median(raw, [texts.next() for _ in range(30)]),
            9,
        )
        connection.close()
    name = f"learn at {count:,} memories, to raw SQLite"
    return line(name, 1000 * mine, 1000 * yardstick, "ms CPU", ("at most", 2.5))


def learned(count: int, bound: float) -> Ratio:
    """A `learn` in a warm process, against FTS5 taking the same words and answering those of them
    by which we look for neighbours: it must not grow with all that was ever learned."""
    notes = EnglishNotes()
    with TemporaryDirectory() as folder, opened(folder, "off") as memory:
        fill(memory, count, notes)
        database = memory.context.project_space
        assert isinstance(database, SqliteDatabase)
        path = f"{folder}/raw.db"
        memory.store.backup(path)
        with raw_store(path) as connection:

            def raw(pair: tuple[list[str], list[str]]) -> None:
                held, asked = pair
                connection.execute("INSERT INTO words (stems) VALUES (?)", (" ".join(held),))
                question = " OR ".join(f'"{stem}"' for stem in asked)
                sql = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT 6"
                connection.execute(sql, (question,)).fetchall()

            def ours() -> float:
                return _median(memory.learn, [notes.note() for _ in range(30)])

            def theirs() -> float:
                held = [terms.query_stems(notes.note()) for _ in range(30)]
                asked = [
                    memory_steps_neighbours.pick_rarest(database.read(partial(_count, stems=stems)))
                    for stems in held
                ]
                return _median(raw, list(zip(held, asked, strict=True)))

            mine, yardstick = paired(ours, theirs, 7)
    name = f"learn at {count:,} memories"
    return line(name, 1000 * mine, 1000 * yardstick, "ms CPU", ("at most", bound))


def _count(tx: Tx, stems: Sequence[str]) -> StemFrequencies:
    return tx.frequencies(stems)


def grown() -> Iterator[Ratio]:
    for memories in (1_000, 10_000, 40_000, 100_000):
        yield learned(memories, 3.0)


def append() -> Iterator[Ratio]:
    yield from durable("durable append", lambda memory, text: memory.record("s", text), 0.5)


def recalls() -> Iterator[Ratio]:
    # At 10,000 the common words are left out already, by the yardstick too: what is the same for
    # every question, some two milliseconds, weighs most there.
    for memories, bound in ((1_000, 4.0), (10_000, 5.0), (100_000, 1.5)):
        yield recall(memories, "off", bound)
    for memories in (1_000, 10_000, 100_000):
        yield recall(memories, "static", 3.0)


def _record(tx: Tx, session: NewSession, ready: Sequence[archive_steps.PreparedMessage]) -> None:
    archive_steps.record(tx, session, ready, 1)


def million(count: int = 1_000_000) -> Iterator[Ratio]:
    """Recall over a million messages, against FTS5 OR-ing the words of the question that are no
    stop words. It takes some twenty minutes, most of them to fill the store."""
    notes = EnglishNotes()
    with TemporaryDirectory() as folder, opened(folder, "static") as memory:
        for start in range(0, count, 1000):
            session = archive_steps.build_session(
                f"s-{start}", "", agent="", cwd="", branch="", origin="user"
            )
            said = [recollect.Message("user", notes.note()) for _ in range(1000)]
            ready = [archive_steps.prepare(archive_steps.Incoming(one), start + 1) for one in said]
            memory.context.project_space.write(partial(_record, session=session, ready=ready))
        memory.store.rebuild(missing=True)
        questions = [notes.question() for _ in range(30)]
        asked = [terms.query_stems(question) for question in questions]
        database = memory.context.project_space
        assert isinstance(database, SqliteDatabase)
        with raw_store(database.path) as connection:
            sql = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT 10"

            def raw(found: list[str]) -> object:
                return connection.execute(sql, (" OR ".join(f'"{x}"' for x in found),)).fetchall()

            for embedder, bound in (("static", 1.0), ("off", 1 / 3)):
                memory.context.settings = memory.settings._replace(embedder=embedder)
                memory.context._embedder = None
                mine, yardstick = paired(
                    lambda: _median(memory.recall, questions), lambda: _median(raw, asked), 3
                )
                name = f"recall by {SEARCHES[embedder]} at {count:,} messages"
                yield line(name, mine * 1000, yardstick * 1000, "ms CPU", ("at most", bound))
