"""A member's space with many memories on a server that holds other teams' beside it.

python -m bench.team_scale                          100,000 memories, and 10 teams with 100,000
python -m bench.team_scale --learned 10000 --others 30000 --vectors 1000

It starts a server of its own and connects as a member, as the how-to for teams says. The member's
space is filled with generated sentences and their vectors (with `--learned` only so many are
sentences, the rest numbered copies, made on the server); the rows of the others are copies of
them, of which only the first `--vectors` have a vector, so that the common vector index can be
built in minutes. SQLite gets as many sentences, or `--sqlite`. Then: the processor time of
this process for a recall beside SQLite's; the processor time of the server's process, and the time
that passes, for a recall, a learn and hooks; and the plan of each of their statements: how many
rows it read and threw away, and whether it scanned a table.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import psycopg

import recollect
from recollect.agents import registry
from recollect.agents.operations_events import answer_event
from recollect.storage.postgres_schema import find_tables

from .foundation import opened
from .team import SHARED, Member, Server, set_up, started
from .texts import UNANSWERED, Sentences
from .yardstick import line, own_time, report

COPIED = ("entries", "postings", "facets", "memories", "vectors")
"""Tables whose rows other teams get; the rest are counts."""

TOO_MANY = 2_000
"""Rows that a part of a plan may read and throw away."""


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def fill(memory: recollect.Recollect, count: int) -> None:
    """Learn sentences, and make their vectors."""
    texts = Sentences()
    for start in range(0, count, 2000):
        some = min(2000, count - start)
        memory.learn_many([{"text": texts.next()} for _ in range(some)])
        if start % 20_000 == 0:
            say(f"{start + some:,} learned")
    memory.store.rebuild(missing=True)


def grow(member: Member, learned: int, wanted: int) -> None:
    """Add numbered copies of what the member has learned, made on the server in the member's name,
    with triggers: many memories in minutes."""
    url = member.memory.context.project_space.url  # type: ignore[attr-defined]
    with psycopg.connect(url, autocommit=True) as connection:
        connection.deferrable = True  # its writes are sealed, as those of Recollect are
        columns = {table: _columns(connection, table) for table in COPIED}
        for number in range(1, -(-wanted // learned)):
            mark, text = f"-{number}", f"text || ' ({number})'"
            changed = {
                "id": f"held.id || '{mark}'",
                "root": f"held.id || '{mark}'",
                "text": text,
                "digest": f"encode(sha256(convert_to({text}, 'UTF8')), 'hex')",
            }
            names = [name for name in columns["memories"] if name != "seal"]
            parts = [
                f"INSERT INTO recollect.memories (space, {', '.join(names)}) SELECT %(space)s, "
                f"{', '.join(changed.get(name, name) for name in names)} FROM recollect.memories "
                "held JOIN given ON given.ref = held.id WHERE held.space = %(space)s"
            ]
            for table in ("entries", "postings", "facets", "vectors"):
                names = columns[table]
                key = "id" if table == "entries" else "entry"
                new = {key: "given.new", "ref": f"held.ref || '{mark}'"}
                parts.append(
                    f"INSERT INTO recollect.{table} (space, {', '.join(names)}) SELECT %(space)s, "
                    f"{', '.join(new.get(name, f'held.{name}') for name in names)} FROM "
                    f"recollect.{table} held JOIN given ON given.id = held.{key} "
                    "WHERE held.space = %(space)s"
                )
            with connection.transaction():
                connection.execute(
                    "WITH given AS MATERIALIZED (SELECT id, ref, nextval('recollect.entries_id_seq'"
                    ") AS new FROM (SELECT id, ref FROM recollect.entries WHERE space = %(space)s "
                    "AND source = 'memory' ORDER BY id LIMIT %(learned)s) first), "
                    + ", ".join(f"part{at} AS ({sql})" for at, sql in enumerate(parts))
                    + " INSERT INTO recollect.word_totals (space, shard, entries, length) "
                    "SELECT %(space)s, %(shard)s, count(*), sum(held.length) FROM given JOIN "
                    "recollect.entries held ON held.space = %(space)s AND held.id = given.id",
                    {"space": SHARED, "learned": learned, "shard": 100 + number},
                )
            say(f"{learned * (number + 1):,} memories")


def _columns(connection: psycopg.Connection[Any], table: str) -> list[str]:
    """Return the columns of a table besides its space."""
    rows = connection.execute(
        "SELECT quote_ident(attname) FROM pg_attribute WHERE attrelid = %s::regclass "
        "AND attnum > 0 AND NOT attisdropped AND attname <> 'space' ORDER BY attnum",
        (f"recollect.{table}",),
    ).fetchall()
    return [row[0] for row in rows]


def drop_vector_index(server: Server) -> list[str]:
    """Drop the index of vectors, which is built faster over all rows than row by row; return the
    statements that make it again."""
    with psycopg.connect(server.admin, autocommit=True) as connection:
        found = connection.execute(
            "SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid) FROM pg_index "
            "WHERE indrelid = 'recollect.vectors'::regclass AND NOT indisprimary"
        ).fetchall()
        for name, _ in found:
            connection.execute(f"DROP INDEX {name}")
    return [definition for _, definition in found]


def copy_teams(server: Server, given: argparse.Namespace, indexes: list[str]) -> None:
    """Give other teams copies of the first rows of the member's space, then make the indexes."""
    with psycopg.connect(server.admin, autocommit=True) as connection:
        # Copies need no triggers.
        for setting in ("session_replication_role TO replica", "maintenance_work_mem TO '1GB'"):
            connection.execute(f"SET {setting}")
        bounds = connection.execute(
            "SELECT (SELECT id FROM recollect.entries WHERE space = %(space)s ORDER BY id "
            "OFFSET %(others)s LIMIT 1), (SELECT id FROM recollect.entries WHERE space = %(space)s "
            "ORDER BY id OFFSET %(vectors)s LIMIT 1)",
            {"space": SHARED, "others": given.others, "vectors": given.vectors},
        ).fetchone()
        last, last_vector = (one if one is not None else 2**62 for one in bounds or (None, None))
        for number in range(given.teams):
            for table in COPIED:
                _copy_rows(connection, table, f"other{number}", last, last_vector)
            connection.execute(
                "INSERT INTO recollect.word_totals (space, shard, entries, length) SELECT %s, 0, "
                "count(*), sum(length) FROM recollect.entries WHERE space = %s",
                (f"other{number}", f"other{number}"),
            )
            say(f"team {number + 1} of {given.teams}")
        for definition in indexes:
            connection.execute(definition)
            say("the index of vectors is built")
        connection.execute("VACUUM ANALYZE")


def _copy_rows(
    connection: psycopg.Connection[Any], table: str, space: str, last: int, last_vector: int
) -> None:
    columns = ", ".join(_columns(connection, table))
    key = {"entries": "id < %(last)s", "vectors": "entry < %(vector)s"}.get(
        table, "entry < %(last)s"
    )
    if table == "memories":
        key = "id IN (SELECT ref FROM recollect.entries WHERE space = %(space)s AND source = "
        key += "'memory' AND id < %(last)s)"
    connection.execute(
        f"INSERT INTO recollect.{table} (space, {columns}) SELECT %(to)s, {columns} "
        f"FROM recollect.{table} WHERE space = %(space)s AND {key}",
        {"to": space, "space": SHARED, "last": last, "vector": last_vector},
    )


class Watched:
    """The member's connection: its statements, and the processor time of the server's process."""

    def __init__(self, memory: recollect.Recollect) -> None:
        self._pool = memory.context.project_space._pool  # type: ignore[attr-defined]
        self.sent: list[tuple[str, Any]] = []

    def server_time(self) -> float:
        """Return the seconds of the server's process for the connection that is idle now."""
        connection = self._pool._idle[-1].connection
        with open(f"/proc/{connection.info.backend_pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Note every statement."""
        whole = psycopg.Cursor.execute
        noted = self.sent

        def spy(self: Any, query: Any, values: Any = None, **more: Any) -> Any:
            noted.append((str(query), values))
            return whole(self, query, values, **more)

        psycopg.Cursor.execute = spy  # type: ignore[method-assign,assignment]
        try:
            yield
        finally:
            psycopg.Cursor.execute = whole  # type: ignore[method-assign]


def hook(member: Member, event: str, number: int, prompt: str = "") -> None:
    payload = {
        "hook_event_name": event, "session_id": f"s-{number}", "cwd": str(member.project),
        "prompt_id": f"p-{number}", "prompt": prompt, "source": "startup",
    }  # fmt: skip
    answer = answer_event(
        member.memory.context, registry.load_hooks("claude-code").parse(payload, {})
    )
    if answer.trouble:
        raise answer.trouble


def works_of(member: Member, texts: Sentences) -> Mapping[str, Callable[[int], object]]:
    """Return what is measured, by name; each is called with a number."""
    memory = member.memory
    return {
        "recall, words answer": lambda number: memory.recall(texts.question()),
        "recall, only meaning answers": lambda number: memory.recall(UNANSWERED[number % 6]),
        "recall of one kind": lambda number: memory.recall(texts.question(), kind=["decision"]),
        "recall for a file": lambda number: memory.recall(texts.question(), file="src/api/db.py"),
        "learn": lambda number: memory.learn(f"{texts.next()} ({number})"),
        "hook: start": lambda number: hook(member, "SessionStart", number),
        "hook: prompt": lambda number: hook(
            member, "UserPromptSubmit", number % 3, f"{texts.question()}? {number}"
        ),
        "hook: prompt that saves a rule": lambda number: hook(
            member,
            "UserPromptSubmit",
            number % 3,
            f"always run `make check-{number}` before you commit",
        ),
    }


def measure(member: Member, rounds: int) -> list[str]:
    """Return a table of times; all in milliseconds."""
    watched = Watched(member.memory)
    rows = [
        "| what | statements | passed | slowest | this process | server's process |",
        "|---|---|---|---|---|---|",
    ]
    for name, work in works_of(member, Sentences(seed=5)).items():
        work(0)
        work(1)  # makes the vectors of what was learned
        with watched.noting():
            watched.sent.clear()
            work(2)
        passed, ours, server = [], [], watched.server_time()
        for number in range(3, 3 + rounds):
            began = time.perf_counter()
            ours.append(own_time(partial(work, number)))
            passed.append(time.perf_counter() - began)
        server = (watched.server_time() - server) / rounds
        numbers = (median(passed), max(passed), median(ours), server)
        cells = " | ".join(f"{1000 * one:.1f}" for one in numbers)
        rows.append(f"| {name} | {len(watched.sent)} | {cells} |")
        say(rows[-1])
    return rows


def find_waste(member: Member) -> list[str]:
    """Return a line for each part of a plan that scans a table or reads rows for nothing, over the
    statements of everything that is measured."""
    watched = Watched(member.memory)
    with watched.noting():
        for number, work in enumerate(works_of(member, Sentences(seed=6)).values()):
            work(1000 + number)
    worst: dict[str, int] = {}
    asked = {sql: values for sql, values in watched.sent if "recollect" in sql}
    url = member.memory.context.project_space.url  # type: ignore[attr-defined]
    with psycopg.connect(url, autocommit=True, prepare_threshold=None) as connection:
        # How far vectors are searched: the first statement of a search sets it.
        for name, value in (("ef_search", "200"), ("iterative_scan", "relaxed_order")):
            connection.execute("SELECT set_config(%s, %s, false)", (f"hnsw.{name}", value))
        for sql, values in asked.items():
            # A write is not done again: its plan is that of the planner.
            how = "" if find_tables(sql).changed else "ANALYZE, "
            plan = connection.execute(f"EXPLAIN ({how}FORMAT JSON) {sql}", values).fetchone()
            for node in _nodes(plan[0][0]["Plan"] if plan else {}):
                table = node.get("Relation Name", "")
                thrown = node.get("Rows Removed by Filter", 0) * node.get("Actual Loops", 1)
                read = thrown + node.get("Actual Rows", node["Plan Rows"])
                scans = node["Node Type"] == "Seq Scan" and table
                if thrown > TOO_MANY or (scans and read > TOO_MANY):
                    name = f"{node['Node Type']} of {table} ({node.get('Filter', '')[:60]})"
                    worst[name] = max(worst.get(name, 0), int(thrown))
    say(f"{len(asked)} statements explained")
    return [f"{name}: {rows:,} rows read for nothing" for name, rows in worst.items()]


def _nodes(plan: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if plan:
        yield plan
    for below in plan.get("Plans", ()):
        yield from _nodes(below)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, number in (
        ("entries", 100_000), ("learned", 0), ("teams", 10), ("others", 100_000),
        ("vectors", 10_000), ("rounds", 20), ("sqlite", 0),
    ):  # fmt: skip
        parser.add_argument(f"--{name}", type=int, default=number)
    given = parser.parse_args()
    with started() as server, TemporaryDirectory() as folder:
        (member,) = set_up(server, Path(folder), 1, 0, 0)
        indexes = drop_vector_index(server)
        learned = min(given.learned or given.entries, given.entries)
        fill(member.memory, learned)
        grow(member, learned, given.entries)
        say("the member's space is filled")
        copy_teams(server, given, indexes)
        with psycopg.connect(server.admin, autocommit=True) as connection:
            held = connection.execute(
                "SELECT (SELECT count(*) FROM recollect.entries), (SELECT count(*) FROM "
                "recollect.postings), (SELECT count(*) FROM recollect.vectors), "
                "pg_database_size(current_database()) / 1048576"
            ).fetchone()
        print(f"entries, postings, vectors, MB on the server: {json.dumps(held)}\n")
        print("\n".join(measure(member, given.rounds)), "\n")
        waste = find_waste(member)
        print("\n".join(waste) or f"no statement read more than {TOO_MANY:,} rows for nothing")
        os.mkdir(f"{folder}/sqlite")
        say("SQLite is filled")
        with opened(f"{folder}/sqlite") as ours:
            fill(ours, given.sqlite or given.entries)
            texts, found = Sentences(seed=7), []
            for title, asked in (
                ("words answer", [texts.question() for _ in range(given.rounds + 1)]),
                ("only meaning answers", UNANSWERED * 4),
            ):
                pairs = [
                    [own_time(partial(each.recall, one)) for each in (member.memory, ours)]
                    for one in asked
                ]
                mine, yard = (1000 * median(times) for times in zip(*pairs[1:], strict=True))
                name = f"recall as a member, {title}, {given.entries:,} memories, to SQLite"
                found.append(line(name, mine, yard, "ms CPU", ("at most", 3.0)))
        member.memory.close()
        return report(found) or (1 if waste else 0)


if __name__ == "__main__":
    sys.exit(main())
