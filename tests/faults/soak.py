"""Hammer one store with agents that do everything at once, and check that nothing is lost.

python -m tests.faults.soak FOLDER SECONDS [AGENTS]

Each agent is a process that records, learns and recalls, and writes the log back to the file in
every way that SQLite has after each write (libraries before 3.51.3 lose row updates when several
processes do so). A second thread of it opens, reads, copies and closes the same store all the time
(a program that opens the file by other means than SQLite drops the locks of its process), and runs
commands. Prints what each agent acknowledged, and its memory and open files after the first fifth
and at the end.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Event, Lock, Thread
from time import monotonic
from typing import Any

import apsw

import recollect

ROOT = Path(__file__).parents[2]
_CHECKPOINTS = (
    apsw.SQLITE_CHECKPOINT_PASSIVE,
    apsw.SQLITE_CHECKPOINT_FULL,
    apsw.SQLITE_CHECKPOINT_RESTART,
    apsw.SQLITE_CHECKPOINT_TRUNCATE,
)


def _megabytes() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def _sibling(project: str, done: Event, turn: Any, with_commands: bool) -> None:
    """Open, read, copy and close the store, again and again."""
    number = 0
    while not done.is_set():
        with turn, recollect.open(project) as memory:
            memory.list(limit=5)
            if number % 10 == 0:
                copy = Path(project, f"copy-{os.getpid()}.db")
                memory.store.backup(str(copy))
                copy.unlink()
            if number % 20 == 10 and with_commands:
                command = [sys.executable, "-m", "recollect", "recall", "fact"]
                subprocess.run(command, cwd=project, check=True, stdout=subprocess.DEVNULL)
        number += 1


def _count(tx: Any, name: str, expected: int) -> None:
    """Add one to a number in a row, which must be what was acknowledged last."""
    row = tx.one("SELECT value FROM state WHERE space = :space AND key = :name", {"name": name})
    assert int(row[0] if row else 0) == expected, f"{name}: {row}, not {expected}"
    tx.run(
        "INSERT INTO state (space, key, value, updated) VALUES (:space, :name, :value, 0) "
        "ON CONFLICT (space, key) DO UPDATE SET value = excluded.value",
        {"name": name, "value": str(expected + 1)},
    )


def run_agent(project: str, name: str, goes_on: Callable[[int], bool], long: bool) -> None:
    """Work until told to stop, and print the figures."""
    done, turn, writes = Event(), Lock(), 0
    sibling = Thread(target=_sibling, args=(project, done, turn, long))
    samples: list[tuple[float, int]] = []
    with recollect.open(project) as memory:
        space: Any = memory.context.project_space
        sibling.start()
        try:
            while goes_on(writes):
                space.write(lambda tx, writes=writes: _count(tx, name, writes))
                writes += 1
                memory.record(name, f"message {writes} of {name}")
                if writes % 5 == 0:
                    memory.learn(f"fact {writes % 500} of {name} is worth keeping")
                    memory.recall(f"fact {writes} of {name}")
                try:
                    space._connect().wal_checkpoint(mode=_CHECKPOINTS[writes % 4])
                except apsw.BusyError:
                    pass  # another process reads or writes
                if writes % 20 == 0:
                    with turn:  # the sibling has nothing open
                        samples.append((_megabytes(), len(os.listdir("/proc/self/fd"))))
        finally:
            done.set()
            sibling.join()
    early = samples[len(samples) // 5 :] or [(0.0, 0)]
    print(
        json.dumps(
            {
                "name": name, "writes": writes,
                "megabytes": [round(early[0][0], 1), round(early[-1][0], 1)],
                "files": [early[0][1], early[-1][1]],
            }
        )
    )  # fmt: skip


def soak(project: Path, agents: int, limit: str, variables: dict[str, str]) -> list[dict[str, Any]]:
    """Run agents for `20 writes` or `60 seconds`; check the store; return what each one said."""
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.faults.soak", "--agent", str(project), f"a{at}", *limit.split()],
            cwd=ROOT, env={**variables, "PYTHONPATH": str(ROOT / "src")}, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        for at in range(agents)
    ]  # fmt: skip
    told = []
    for process in running:
        out, err = process.communicate()
        assert process.returncode == 0, err
        told.append(json.loads(out))
    with recollect.open(project, environment=variables) as memory:
        for agent in told:
            name, writes = agent["name"], agent["writes"]
            memory.context.project_space.write(
                lambda tx, name=name, writes=writes: _count(tx, name, writes)  # type: ignore[misc]
            )
        assert memory.verify(archive=True).messages == sum(agent["writes"] for agent in told)
        assert memory.store.doctor().ok
    return told


def main() -> None:
    if sys.argv[1] == "--agent":
        project, name, amount, unit = sys.argv[2:]
        end = monotonic() + float(amount)
        if unit == "seconds":
            run_agent(project, name, lambda _: monotonic() < end, long=True)
        else:
            run_agent(project, name, lambda writes: writes < int(amount), long=False)
        return
    folder, seconds, *agents = sys.argv[1:]
    place = Path(folder, "project")
    place.mkdir(parents=True)
    variables = {"RECOLLECT_HOME": str(Path(folder, "home")), "RECOLLECT_LOCK_WAIT": "600"}
    variables |= {"HOME": folder, "PATH": os.environ["PATH"]}
    for agent in soak(place, int(agents[0]) if agents else 8, f"{seconds} seconds", variables):
        print(agent)


if __name__ == "__main__":
    main()
