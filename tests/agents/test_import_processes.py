"""Imports by several processes: the same store as by one, whatever happens to the processes."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import recollect
from recollect.agents import operations as agents_operations
from recollect.agents import operations_import_project, processes_io, steps_import, steps_reading
from recollect.agents.transcripts.reader_io import Transcript
from recollect.index import steps as index_steps
from recollect.interfaces.screens import results
from tests.agents.test_import import line, said, write

pytestmark = pytest.mark.skipif(
    not os.path.exists("/proc/self/stat"), reason="children are listed by /proc"
)


@pytest.fixture
def transcripts(tmp_path: Path) -> Path:
    """Six conversations, of which one holds damage and two share a message."""
    folder = tmp_path / "transcripts"
    folder.mkdir()
    for number in range(6):
        said_here = [
            line(
                20 * number + place,
                f"We always deploy service {number} on day {place}",
                f"s{number}",
            )
            for place in range(1, 15)
        ]
        said_here.append(line(1, "We always deploy service 0 on day 1", f"s{number}"))
        path = write(folder / f"s{number}.jsonl", *said_here)
        if number == 3:
            path.write_text(path.read_text() + '{"type": "user", "broken\n')
    return folder


@pytest.fixture
def several(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every import worth several processes: two workers, and the one that imports."""
    monkeypatch.setattr(steps_reading, "WORTH_PROCESSES", 0)
    monkeypatch.setattr(processes_io, "count_processors", lambda: 3)


def open_store(tmp_path: Path, name: str, **settings: str) -> recollect.Recollect:
    root = tmp_path / name
    (root / ".git").mkdir(parents=True)
    home = {"RECOLLECT_HOME": str(tmp_path / f"home-{name}"), "RECOLLECT_EMBEDDER": "off"}
    return recollect.open(root, environment={**home, **settings}, origin="user")


def read_alone(tmp_path: Path, folder: Path) -> tuple[list[object], list[object]]:
    with open_store(tmp_path, "alone") as memory:
        return outcome(memory, memory.import_transcripts(str(folder)))


def outcome(
    memory: recollect.Recollect, done: recollect.Imported
) -> tuple[list[object], list[object]]:
    """Return all that an import left behind, without ids and times."""
    told: list[object] = [
        (one.path, one.sessions, one.messages, one.known, one.damaged, one.skipped, one.error)
        for one in done.transcripts
    ]
    kept = [(one.text, one.kind, one.status, one.reinforcement) for one in memory.list(limit=100)]
    stems = memory.context.project_space.read(
        lambda tx: tx.run("SELECT stems FROM words ORDER BY rowid")
    )
    return [*said(memory), *sorted(kept), *stems], told


def list_children() -> set[int]:
    found = set()
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            fields = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == os.getpid() and fields[0] != "Z":
            found.add(int(name))
    return found


@pytest.mark.usefixtures("several")
@pytest.mark.parametrize("processors", [2, 3])
def test_several_processes_leave_the_same_store_as_one(
    tmp_path: Path, transcripts: Path, monkeypatch: pytest.MonkeyPatch, processors: int
) -> None:
    monkeypatch.setattr(processes_io, "count_processors", lambda: processors)
    before = list_children()
    seen: set[int] = set()
    with open_store(tmp_path, "many") as memory:
        memory.progress = lambda _: seen.update(list_children() - before)
        found = outcome(memory, memory.import_transcripts(str(transcripts)))
        assert memory.verify(archive=True).messages == len(said(memory)) > 80
    assert len(seen) == processors - 1
    assert list_children() == before
    steps_reading.WORTH_PROCESSES = 10**9
    assert found == read_alone(tmp_path, transcripts)


class LateAnswer:
    """The answer of a worker that has read a transcript; without one, the worker died."""

    def __init__(self, *items: str) -> None:
        self.items = items

    def wait(self) -> list[str]:
        if not self.items:
            raise processes_io.WorkerLost("killed")
        return list(self.items)


class RecordingPool:
    """Workers that return the path of a transcript, and die of the third."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.asked: list[steps_import.ReadRequest] = []
        self.closed = False

    def ask(self, request: steps_import.ReadRequest) -> LateAnswer:
        self.asked.append(request)
        return LateAnswer(*([request.transcript.path] if len(self.asked) != 3 else []))

    def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize("size", [1, 2])
def test_workers_read_ahead_as_far_as_memory_allows_and_the_order_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    paths = [str(tmp_path / f"{number}.jsonl") for number in range(8)]
    for path in paths:
        Path(path).write_text("{}\n")
    Path(paths[4]).write_text("")  # nothing for a worker
    pool = RecordingPool(size)
    here: list[str] = []

    def read_here(request: steps_import.ReadRequest) -> list[str]:
        assert request.stems
        here.append(request.transcript.path)
        return [request.transcript.path]

    monkeypatch.setattr(steps_reading, "WORTH_PROCESSES", 0)
    monkeypatch.setattr(steps_reading, "READ_AHEAD", 7)
    monkeypatch.setattr(steps_reading, "_open_workers", lambda most: pool)
    monkeypatch.setattr(steps_import, "read_items", read_here)
    requests = [
        steps_import.ReadRequest(
            transcript=Transcript("codex", path),
            position=None,
            foreign=False,
            capture=False,
            now=1,
        )
        for path in paths
    ]
    read: list[object] = []
    ahead: list[int] = []
    for items in steps_reading.read_all(requests):
        read.append(list(items))
        ahead.append(len(pool.asked))
    assert read == [[path] for path in paths]
    assert ahead == [3, 4, 5, 6, 7, 7, 7, 7]
    assert here == [paths[2], paths[4]]
    # A single worker leaves the stems to the importer.
    assert {request.stems for request in pool.asked} == {size > 1}
    assert pool.closed


@pytest.mark.usefixtures("several")
def test_what_killed_workers_had_is_read_by_the_importer(tmp_path: Path, transcripts: Path) -> None:
    before = list_children()

    def kill(_: object) -> None:
        for child in list_children() - before:
            os.kill(child, 9)

    with open_store(tmp_path, "many") as memory:
        memory.progress = kill
        found = outcome(memory, memory.import_transcripts(str(transcripts)))
    steps_reading.WORTH_PROCESSES = 10**9
    assert found == read_alone(tmp_path, transcripts)


@pytest.mark.usefixtures("several")
def test_an_interrupted_import_ends_its_workers_and_is_continued(
    tmp_path: Path, transcripts: Path
) -> None:
    before = list_children()
    calls: list[object] = []

    def interrupt(progress: object) -> None:
        calls.append(progress)
        if len(calls) == 3:
            raise KeyboardInterrupt

    with open_store(tmp_path, "many") as memory:
        memory.progress = interrupt
        with pytest.raises(KeyboardInterrupt):
            memory.import_transcripts(str(transcripts))
        assert list_children() == before
        memory.progress = None
        memory.import_transcripts(str(transcripts))
        found, _ = outcome(memory, memory.import_transcripts(str(transcripts)))
    steps_reading.WORTH_PROCESSES = 10**9
    assert found == read_alone(tmp_path, transcripts)[0]


@pytest.mark.usefixtures("several")
@pytest.mark.parametrize("program", ["/nowhere/python3", "/nowhere/editor", ""])
def test_without_processes_one_reads_everything(
    tmp_path: Path, transcripts: Path, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    monkeypatch.setattr(sys, "executable", program)
    with open_store(tmp_path, "many") as memory:
        found = outcome(memory, memory.import_transcripts(str(transcripts)))
    steps_reading.WORTH_PROCESSES = 10**9
    assert found == read_alone(tmp_path, transcripts)


def test_a_small_import_starts_no_process(
    tmp_path: Path, transcripts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = tmp_path / "started"
    program = tmp_path / "python-that-tells"
    program.write_text(f"#!/bin/sh\ntouch {started}\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    monkeypatch.setattr(processes_io, "count_processors", lambda: 2)
    with open_store(tmp_path, "small") as memory:
        memory.import_transcripts(str(transcripts))
    assert not started.exists()
    monkeypatch.setattr(steps_reading, "WORTH_PROCESSES", 0)
    with open_store(tmp_path, "large") as memory:
        assert memory.import_transcripts(str(transcripts)).messages > 80
    assert started.exists()


def test_many_vectors_are_left_to_another_process_and_few_are_made_at_once(
    tmp_path: Path, transcripts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operations_import_project, "FEW_VECTORS", 10)
    monkeypatch.setattr(index_steps, "BATCH_SIZE", 10)
    started: list[str] = []
    with open_store(tmp_path, "large", RECOLLECT_EMBEDDER="static") as memory:
        memory.context.start_background = started.append
        done = memory.import_transcripts(str(transcripts))
        assert started == [str(tmp_path / "large")]
        space = memory.context.project_space
        before = space.read(index_steps.measure_coverage)
        assert (before.embedded, before.unembedded) == (0, done.vectors_left)
        assert done.vectors_left > 10
        assert "search by meaning follows in the background" in results.show("import", done)
        agents_operations.catch_up(memory.context)
        assert space.read(index_steps.measure_coverage).unembedded == 0
        assert memory.import_transcripts(str(transcripts)).vectors_left == 0
        assert len(started) == 1
    monkeypatch.setattr(operations_import_project, "FEW_VECTORS", 1_000)
    with open_store(tmp_path, "few", RECOLLECT_EMBEDDER="static") as memory:
        memory.context.start_background = started.append
        assert memory.import_transcripts(str(transcripts)).vectors_left == 0
        after = memory.context.project_space.read(index_steps.measure_coverage)
        assert (after.embedded > 10, after.unembedded) == (True, 0)
    assert len(started) == 1
