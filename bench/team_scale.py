"""A member's space with many memories on a server that holds other teams' beside it.

python -m bench.team_scale                          100,000 memories, and 10 teams with 100,000
python -m bench.team_scale --entries 10000 --others 10000

It starts a server of its own and connects as a member, as the how-to for teams says. The member's
space is filled with generated sentences and their vectors; the rows of the others are copies of
them, made on the server. SQLite gets as many sentences, or `--sqlite`. Then: the processor time of
this process for a recall beside SQLite's; the processor time of the server's process, and the time
that passes, for a recall, a learn and hooks; the share of the true nearest that the index of
vectors finds, with as many other teams in the same partition as `--beside` names; and the plan of
each of their statements: how many rows it read and threw away, and whether it scanned a table.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from recollect.index.embedders_io import StaticEmbedder
from recollect.storage.postgres import sql as sql_postgres
from recollect.storage.postgres.statements import find_tables, to_driver

from .foundation import opened
from .team import Member, Server, set_up, started
from .texts import UNANSWERED, Sentences
from .yardstick import line, own_time, report

COPIED = ("entries", "postings", "facets", "memories", "vectors")
"""Tables whose rows other teams get; the rest are counts."""

TOO_MANY = 2_000
"""Rows that a part of a plan may read and throw away."""


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def fill(memory: recollect.Recollect, count: int, analyze: Callable[[], object] = bool) -> None:
    """Learn sentences, and make their vectors."""
    texts = Sentences()
    for start in range(0, count, 2000):
        some = min(2000, count - start)
        memory.learn_many([{"text": texts.next()} for _ in range(some)])
        if start % 20_000 == 0:
            say(f"{start + some:,} learned")
            analyze()
    memory.store.rebuild(missing=True)


@contextmanager
def built_in_bulk(server: Server) -> Iterator[psycopg.Connection[Any]]:
    """Let an administrator fill tables without waiting for the disk."""
    with psycopg.connect(server.admin, autocommit=True) as connection:
        for setting in ("fsync = off", "max_wal_size = '16GB'", "autovacuum = off"):
            connection.execute(f"ALTER SYSTEM SET {setting}")
        connection.execute("SELECT pg_reload_conf()")
        connection.execute("SET maintenance_work_mem TO '2GB'")
        connection.execute("SET session_replication_role TO replica")  # copies need no triggers
        yield connection
        connection.execute("ALTER SYSTEM RESET ALL")
        connection.execute("SELECT pg_reload_conf()")
        connection.execute("VACUUM ANALYZE")
        connection.execute("CHECKPOINT")


def drop_indexes(connection: psycopg.Connection[Any], tables: Sequence[str]) -> list[str]:
    """Drop indexes that are built faster over all rows than row by row; return the statements that
    make them again."""
    found = connection.execute(
        "SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid) FROM pg_index "
        "WHERE indrelid = ANY (%s::regclass[]) AND NOT indisprimary",
        ([f"recollect.{table}" for table in tables],),
    ).fetchall()
    for name, _ in found:
        connection.execute(f"DROP INDEX {name}")
    # A partitioned table's index is made for all its partitions again.
    return [definition.replace(" ON ONLY ", " ON ") for _, definition in found]


def name_teams(
    connection: psycopg.Connection[Any], space: str, given: argparse.Namespace
) -> list[str]:
    """Return ids of spaces, of which `--beside` share the partition of the member's."""
    (part,) = _parts(connection, [space])
    names = [f"other{number}" for number in range(400)]
    placed = list(zip(names, _parts(connection, names), strict=True))
    beside = [name for name, place in placed if place == part][: given.beside]
    apart = [name for name, place in placed if place != part]
    return [*beside, *apart][: given.teams]


def _parts(connection: psycopg.Connection[Any], names: Sequence[str]) -> list[int]:
    """Return the number of the partition in which each space lies."""
    rows = connection.execute(
        "SELECT (SELECT part FROM generate_series(0, 15) AS part WHERE satisfies_hash_partition("
        "'recollect.vectors'::regclass, 16, part, n.name)) FROM unnest(%s::text[]) "
        "WITH ORDINALITY AS n (name, place) ORDER BY n.place",
        (list(names),),
    ).fetchall()
    return [row[0] for row in rows]


def copy_teams(
    connection: psycopg.Connection[Any], space: str, names: Sequence[str], others: int
) -> None:
    """Give other teams copies of the first rows of a space."""
    row = connection.execute(
        "SELECT id FROM recollect.entries WHERE space = %s ORDER BY id OFFSET %s LIMIT 1",
        (space, others),
    ).fetchone()
    for number, name in enumerate(names, start=1):
        bound = {"to": name, "space": space, "last": row[0] if row else 2**62}
        for table in COPIED:
            columns = ", ".join(
                name
                for (name,) in connection.execute(
                    "SELECT quote_ident(attname) FROM pg_attribute WHERE attrelid = %s::regclass "
                    "AND attnum > 0 AND NOT attisdropped AND attname <> 'space' ORDER BY attnum",
                    (f"recollect.{table}",),
                )
            )
            key = "id < %(last)s" if table == "entries" else "entry < %(last)s"
            if table == "memories":
                key = "id IN (SELECT ref FROM recollect.entries WHERE space = %(space)s AND source "
                key += "= 'memory' AND id < %(last)s)"
            order = "ORDER BY stem, entry" if table == "postings" else ""
            connection.execute(
                f"INSERT INTO recollect.{table} (space, {columns}) SELECT %(to)s, {columns} "
                f"FROM recollect.{table} WHERE space = %(space)s AND {key} {order}",
                bound,
            )
        connection.execute(
            "INSERT INTO recollect.word_totals (space, shard, entries, length) SELECT %(to)s, 0, "
            "count(*), sum(length) FROM recollect.entries WHERE space = %(to)s",
            bound,
        )
        say(f"team {number} of {len(names)}")


def build(server: Server, member: Member, given: argparse.Namespace) -> None:
    """Fill the member's space through Recollect, and copy its rows for the other teams."""
    with built_in_bulk(server) as connection:
        indexes = drop_indexes(connection, ["vectors"])
        fill(member.memory, given.entries, lambda: connection.execute("ANALYZE"))
        say("the member's space is filled")
        indexes += drop_indexes(connection, COPIED)
        names = name_teams(connection, member.space, given)
        copy_teams(connection, member.space, names, given.others)
        for definition in indexes:
            connection.execute(definition)
            say(definition.split(" ON ")[0])


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


def measure_nearest(member: Member) -> str:
    """Return the share of the true ten nearest that the index of vectors finds, and the vectors of
    other teams that it reads, over 20 questions."""
    texts, model = Sentences(seed=8), StaticEmbedder()
    asked = [*UNANSWERED[:6], *(texts.question() for _ in range(14))]
    found, others, passed = [], [], []
    with psycopg.connect(_address(member), autocommit=True) as connection:
        _search_deep(connection)
        for vector in model.embed(asked):
            bound = {"space": member.space, "vector": sql_postgres._direction(vector)}
            near = to_driver(sql_postgres.NEAR.format(dims=model.dims, near=10))
            # An order by a sum is by no index.
            true = near.replace("ORDER BY ", "ORDER BY (").replace(" LIMIT", ") + 0 LIMIT")
            exact = {row[0] for row in connection.execute(true, bound)}
            began = time.perf_counter()
            held = {row[0] for row in connection.execute(near, bound)}
            passed.append(1000 * (time.perf_counter() - began))
            found.append(len(exact & held) / len(exact))
            plan = connection.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {near}", bound).fetchone()
            nodes = list(_nodes(plan[0][0]["Plan"] if plan else {}))
            others.append(sum(node.get("Rows Removed by Filter", 0) for node in nodes))
    return (
        f"by the index of vectors {sum(found) / len(found):.2f} of the true ten nearest, "
        f"{median(passed):.1f} ms passed, {median(others):.0f} vectors of others read"
    )


def _address(member: Member) -> str:
    return str(member.memory.context.project_space.url)  # type: ignore[attr-defined]


def _search_deep(connection: psycopg.Connection[Any]) -> None:
    """Set how far vectors are searched, as the first statement of a search does."""
    for name, value in (
        ("hnsw.ef_search", str(sql_postgres.DEPTH)),
        ("hnsw.iterative_scan", "relaxed_order"),
        ("enable_seqscan", "off"),
    ):
        connection.execute("SELECT set_config(%s, %s, false)", (name, value))


def find_waste(member: Member) -> list[str]:
    """Return a line for each part of a plan that scans a table or reads rows for nothing, over the
    statements of everything that is measured."""
    watched = Watched(member.memory)
    with watched.noting():
        for number, work in enumerate(works_of(member, Sentences(seed=6)).values()):
            work(1000 + number)
    worst: dict[str, int] = {}
    asked = {sql: values for sql, values in watched.sent if "recollect" in sql}
    with psycopg.connect(_address(member), autocommit=True, prepare_threshold=None) as connection:
        _search_deep(connection)
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
        ("entries", 100_000), ("teams", 10), ("others", 100_000), ("rounds", 20), ("sqlite", 0),
        ("beside", 1),
    ):  # fmt: skip
        parser.add_argument(f"--{name}", type=int, default=number)
    given = parser.parse_args()
    with started() as server, TemporaryDirectory() as folder:
        (member,) = set_up(server, Path(folder), 1, 0, 0)
        build(server, member, given)
        with psycopg.connect(server.admin, autocommit=True) as connection:
            held = connection.execute(
                "SELECT (SELECT count(*) FROM recollect.entries), (SELECT count(*) FROM "
                "recollect.postings), (SELECT count(*) FROM recollect.vectors), "
                "pg_database_size(current_database()) / 1048576"
            ).fetchone()
        print(f"entries, postings, vectors, MB on the server: {json.dumps(held)}\n")
        print("\n".join(measure(member, given.rounds)), "\n")
        print(measure_nearest(member), "\n")
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
