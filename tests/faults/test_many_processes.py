"""Many processes on one store: nothing lost, nothing doubled, nobody starved, on both engines."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import recollect
from tests.conftest import PATIENCE
from tests.faults.soak import soak
from tests.faults.tiers import choose

ROOT = Path(__file__).parents[2]


WRITES = choose(10, 200)


def test_eight_processes_append_and_learn_without_loss(
    project: Path, environment: dict[str, str]
) -> None:
    """Each keeps what it alone says, and what all say is one memory."""
    writers = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.faults.writer", str(project), f"w{place}", str(WRITES),
             "same"],
            cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for place in range(8)
    ]  # fmt: skip
    seqs: list[int] = []
    for writer in writers:
        out, err = writer.communicate()
        assert writer.returncode == 0, err
        seqs += [int(line.split()[1]) for line in out.splitlines() if line[0] == "a"]
    assert sorted(seqs) == list(range(1, 8 * WRITES + 1))
    with recollect.open(project, environment=environment) as memory:
        assert memory.verify(archive=True).messages == 8 * WRITES
        assert memory.store.stats().memories == 9 * WRITES
        hits = memory.recall(f"fact {WRITES - 1} of w7", limit=3, kind=["fact"])
        assert hits[0].text == f"fact {WRITES - 1} of w7 is worth keeping"
        found = memory.list(limit=9 * WRITES)
    shared = [one.reinforcement for one in found if one.text.startswith("shared")]
    assert shared == [8] * WRITES


NEW_STORES = choose(1, 50, 200)


def test_eight_processes_open_a_new_store_at_once(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    script = (
        "import sys, recollect\n"
        "with recollect.open(sys.argv[1]) as memory:\n"
        "    memory.learn('opened by process w' + sys.argv[2] * 3)\n"
    )
    for trial in range(NEW_STORES):
        place = tmp_path / f"project{trial}"
        place.mkdir()
        variables = {**environment, "RECOLLECT_HOME": str(tmp_path / f"home{trial}")}
        workers = [
            subprocess.Popen(
                [sys.executable, "-c", script, str(place), str(number)],
                env=variables,
                stderr=subprocess.PIPE,
                text=True,
            )
            for number in range(8)
        ]
        for worker in workers:
            _, err = worker.communicate()
            assert worker.returncode == 0, f"trial {trial}: {err}"
        with recollect.open(place, environment=variables) as memory:
            assert len(memory.list()) == 8


def sqlite_variables(tmp_path: Path) -> dict[str, str]:
    return {
        "RECOLLECT_HOME": str(tmp_path / "home"),
        "PATH": "/usr/bin:/bin",
        "RECOLLECT_LOCK_WAIT": str(PATIENCE),
    }


def test_no_writer_starves(project: Path, tmp_path: Path) -> None:
    """Closed loop of eight: when the fastest is done, the slowest has done at least a third as much.
    It says nothing about how long the longest wait was: that depends on the machine. On a fast disk
    200 messages take a fraction of a second, in which the system may not give each its turn."""
    script = """
import os, sys, time, recollect
count, stop = 0, sys.argv[2]
with recollect.open(sys.argv[1]) as memory:
    memory.record(f"session-{os.getpid()}", "ready")
    print("ready", flush=True)
    sys.stdin.readline()
    began = time.monotonic()
    while not os.path.exists(stop):
        memory.record(f"session-{os.getpid()}", f"message {count}")
        count += 1
        if count >= 200 and time.monotonic() - began > 3:
            open(stop, "w").close()
print(count)
"""
    stop = tmp_path / "stop"
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(project), str(stop)],
            env=sqlite_variables(tmp_path),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(8)
    ]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    counts = [int(writer.communicate()[0]) for writer in writers]
    assert min(counts) * 3 >= max(counts), counts


HAMMERED = choose(25, 1000, 5000)


def test_processes_that_write_back_and_close_at_once_lose_no_update(
    project: Path, tmp_path: Path
) -> None:
    """Each has a second thread that opens, copies and closes the store while it writes."""
    for agent in soak(project, 4, f"{HAMMERED} writes", sqlite_variables(tmp_path)):
        assert agent["writes"] == HAMMERED
        assert agent["files"][0] == agent["files"][1]


COPIED = choose(60, 400)


def test_processes_that_import_copies_of_one_conversation_keep_each_message_once(
    project: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    """A fork repeats the messages of the conversation that it comes from, under their ids."""
    for fork in range(6):
        told = (
            {
                "type": "user",
                "uuid": f"u{number}",
                "sessionId": f"fork{fork}",
                "cwd": "/w",
                "timestamp": "2026-03-01T10:00:00Z",
                "message": {"role": "user", "content": f"message {number} " + "words " * 50},
            }
            for number in range(COPIED)
        )
        path = tmp_path / f"fork{fork}.jsonl"
        path.write_text("".join(json.dumps(record) + "\n" for record in told))
    script = (
        "import os, sys, recollect\n"
        "with recollect.open(sys.argv[1]) as memory:\n"
        "    memory.store.stats()\n"
        "    os.write(1, b'.')\n"
        "    sys.stdin.read()\n"
        "    memory.import_transcripts(sys.argv[2])\n"
    )
    recollect.open(project, environment=environment).close()
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(project), str(tmp_path / f"fork{fork}.jsonl")],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for fork in range(6)
    ]
    for worker in workers:
        assert worker.stdout and worker.stdout.read(1) == b"."
    for worker in workers:  # all are there: now at once
        assert worker.stdin
        worker.stdin.close()
    assert [worker.wait() for worker in workers] == [0] * 6
    for worker in workers:
        assert worker.stdout
        worker.stdout.close()
    with recollect.open(project, environment=environment) as memory:
        assert memory.verify(archive=True).messages == COPIED
