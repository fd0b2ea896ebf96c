"""Nothing that was acknowledged is lost: killed processes, power cuts, full and read-only disks,
and files that are not what they should be."""

from __future__ import annotations

import errno
import os
import random
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import apsw
import pytest

import recollect
from recollect.archive import sql as archive_sql
from recollect.archive import steps as archive_steps
from recollect.archive import steps_sessions as archive_steps_sessions
from recollect.secrets.redaction import redact
from recollect.storage import migrations, sqlite_files, sqlite_health
from recollect.storage.database import Tx
from recollect.storage.sqlite import SqliteDatabase
from recollect.storage.sqlite_health import wal_is_safe
from recollect.types.records import Message
from tests.faults.power_loss import Op, RecordingVFS, state_after_power_cut, write_files
from tests.faults.tiers import choose

ROOT = Path(__file__).parents[2]
NOBODY = 65534


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user space of this test's own, for this process and its children."""
    monkeypatch.setenv("RECOLLECT_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def start_writer(project: Path, name: str, count: int, way: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.faults.writer", str(project), name, str(count), way],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def integrity(database: Path) -> str:
    connection = apsw.Connection(str(database))
    try:
        return str(connection.pragma("integrity_check"))
    finally:
        connection.close()


KILLS = choose(40, 500, 2000)
AT_ONCE = ("api", "cli", "mcp", "hook")


def test_killed_writers_of_every_way_lose_nothing_they_acknowledged(
    project: Path, home: Path
) -> None:
    """Four writers at once: the library, the command, an MCP server and hooks. Each is killed with
    the processes it started, at a random moment after some acknowledgements."""
    chance = random.Random(8)
    acknowledged: list[tuple[int, str]] = []
    heard: list[str] = []
    for round_number in range(KILLS // len(AT_ONCE)):
        names = [f"{way}{round_number}" for way in AT_ONCE]
        writers = [
            (name, start_writer(project, name, 1000, way))
            for name, way in zip(names, AT_ONCE, strict=True)
        ]
        for name, writer in chance.sample(writers, len(writers)):
            assert writer.stdout is not None
            said = [writer.stdout.readline() for _ in range(chance.randrange(3))]
            os.killpg(writer.pid, signal.SIGKILL)
            # What it managed to say before it died was acknowledged as well.
            for line in (*said, *writer.stdout.read().splitlines()):
                acknowledged += _acknowledgement(line)
                if line.startswith("ack 0 - "):
                    heard.append(f"check {line.split()[3]} before {name} is pushed")
            writer.wait()
            writer.stdout.close()
    with recollect.open(project) as memory:
        # The chain has no gap, so every number up to its length is there.
        proof = memory.verify(archive=True)
        seqs = [seq for seq, _ in acknowledged if seq]
        assert len(set(seqs)) == len(seqs)
        assert len(acknowledged) >= KILLS // 4
        assert max(seqs) <= proof.messages
        for _, id in acknowledged:
            assert memory.show(id).memory is not None
        held = memory.context.project_space.read(
            lambda tx: tx.run(
                "SELECT text FROM memories WHERE space = :space "
                "UNION ALL SELECT text FROM memory_revisions WHERE space = :space"
            )
        )
        said_by_user = " ".join(row[0] for row in held)
        assert heard
        assert [one for one in heard if one not in said_by_user] == []
        assert memory.store.doctor().ok
    assert integrity(project / ".recollect" / "memory.db") == "ok"
    print(f"{KILLS} kills, {len(acknowledged)} + {len(heard)} (hooks) acknowledged, 0 lost")


def _acknowledgement(line: str) -> list[tuple[int, str]]:
    words = line.split()
    return [(int(words[1]), words[2])] if len(words) == 4 and words[2] != "-" else []


UPGRADE_STEP = choose(20, 1)
"""1: killed at each statement; 20: at each twentieth."""


@pytest.mark.parametrize("version", range(1, migrations.LATEST))
def test_an_upgrade_that_is_killed_leaves_the_old_store_or_the_new_one(
    tmp_path: Path, version: int
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.upgrader", str(tmp_path / "stores"), str(version),
         str(UPGRADE_STEP)],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    statements, crashes = map(int, done.stdout.split())
    assert crashes >= statements // UPGRADE_STEP
    print(f"version {version}: {statements} statements, {crashes} crashes")


class OnRecordedDisk(SqliteDatabase):
    """A store on the recording VFS; its WAL index lives in memory, its files are the same."""

    def _new_connection(self) -> apsw.Connection:
        connection = apsw.Connection(self.path, vfs="recording")
        connection.pragma("locking_mode", "exclusive")
        return connection


POWER_CUTS = choose(200, 2000, 5000)


def test_no_acknowledged_write_is_lost_in_a_power_cut(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    vfs = RecordingVFS("recording")
    database = OnRecordedDisk(str(disk / "memory.db"), "project")
    new = a_session()
    for number in range(60):
        text = f"message {number} " + "x" * (number * 37 % 900)
        said = [archive_steps.prepare(archive_steps.Incoming(Message("user", text)), 1)]
        database.write(lambda tx, said=said: archive_steps.record(tx, new, said, 1))  # type: ignore[misc]
        vfs.log.append(Op("", "ack"))
        if number % 20 == 19:
            database.read(lambda tx: tx.run("PRAGMA user_version"))
            database._connect().wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
    database.close()
    chance = random.Random(500)
    first_ack = next(place for place, op in enumerate(vfs.log) if op.what == "ack")
    lost_before_any_promise = 0
    for trial in range(POWER_CUTS):
        cut = chance.randrange(1, len(vfs.log) + 1)
        promised = sum(op.what == "ack" for op in vfs.log[:cut])
        lost_before_any_promise += cut < first_ack
        came_up = tmp_path / f"state{trial}"
        write_files(state_after_power_cut(vfs.log, cut, chance), came_up)
        survivor = SqliteDatabase(str(came_up / "memory.db"), "project")
        proof = survivor.read(lambda tx: archive_steps_sessions.verify_session(tx, "s"))
        if promised:
            assert not proof.problem, f"power cut {trial} after operation {cut}"
        assert proof.messages >= promised, f"power cut {trial} after operation {cut}"
        survivor.close()
        if (came_up / "memory.db").exists():
            assert integrity(came_up / "memory.db") == "ok"
        shutil.rmtree(came_up)
    assert lost_before_any_promise < POWER_CUTS // 5
    vfs.unregister()


def a_session() -> archive_sql.NewSession:
    return archive_sql.NewSession(
        redact("s"), redact("a session"), redact(""), redact(""), redact(""), "user"
    )


def test_a_disk_without_sync_would_be_caught(tmp_path: Path) -> None:
    """The power-loss test can fail: with synchronous=OFF the same method finds lost promises."""
    disk = tmp_path / "disk"
    disk.mkdir()
    vfs = RecordingVFS("unsynced")
    connection = apsw.Connection(str(disk / "raw.db"), vfs="unsynced")
    connection.pragma("synchronous", "off")
    connection.execute("CREATE TABLE t (n)")
    for number in range(40):
        connection.execute("INSERT INTO t VALUES (?)", (number,))
        vfs.log.append(Op("", "ack"))
    connection.close()
    chance = random.Random(1)
    damaged = 0
    for trial in range(20):
        cut = chance.randrange(len(vfs.log) // 2, len(vfs.log))
        promised = sum(op.what == "ack" for op in vfs.log[:cut])
        came_up = tmp_path / f"state{trial}"
        write_files(state_after_power_cut(vfs.log, cut, chance), came_up)
        try:
            survivor = apsw.Connection(str(came_up / "raw.db"))
            rows = survivor.execute("SELECT n FROM t").fetchall()
            survivor.close()
            damaged += len(rows) < promised
        except apsw.Error:
            damaged += 1
    assert damaged > 0
    vfs.unregister()


def test_nothing_but_sqlite_opens_the_database_files(project: Path, home: Path) -> None:
    """Closing another descriptor of the file would drop SQLite's locks and corrupt the store."""
    script = """
import sys
opened = []
def watch(event, arguments):
    if event in ("open", "os.open") and isinstance(arguments[0], (str, bytes)):
        opened.append(str(arguments[0]))
sys.addaudithook(watch)
import recollect
with recollect.open(sys.argv[1]) as memory:
    memory.agents.init()
    memory.learn("a fact about the build")
    memory.record("s", "hello")
    memory.scratch.store("key", "value")
    memory.recall("build")
    memory.store.stats(); memory.store.doctor(); memory.verify(archive=True)
    memory.store.backup(sys.argv[1] + "/copy.db")
touched = [name for name in opened if name.endswith((".db", "-wal", "-shm", "-journal"))]
assert not touched, touched
assert opened, "the hook saw nothing at all"
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(project)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def snapshot(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (
            b"this is not a database at all, but somebody's text file\n" * 100,
            recollect.StoreForeign,
        ),
        (b"SQLite format 3\x00" + b"\x13" * 4096, recollect.RecollectError),
    ],
)
def test_a_foreign_or_broken_file_is_refused_and_not_touched(
    project: Path, home: Path, content: bytes, error: type[recollect.RecollectError]
) -> None:
    folder = project / ".recollect"
    folder.mkdir()
    (folder / "memory.db").write_bytes(content)
    with recollect.open(project) as memory, pytest.raises(error) as caught:
        memory.learn("something worth keeping")
    assert str(folder / "memory.db") in str(caught.value)
    assert caught.value.hint
    with recollect.open(project) as memory, pytest.raises(error):
        memory.context.project_space.try_write(lambda tx: None)
    assert snapshot(folder)["memory.db"] == content


def test_after_a_note_that_may_be_lost_the_next_write_lasts(tmp_path: Path) -> None:
    database = SqliteDatabase(str(tmp_path / "memory.db"), "project")
    database.write(lambda tx: None)
    seen: list[int] = []

    def look(tx: Tx) -> None:
        seen.append((tx.one("PRAGMA synchronous") or (0,))[0])

    def fail(tx: Tx) -> None:
        raise ValueError("in the midst of it")

    assert database.try_write(look)
    database.write(look)
    with pytest.raises(ValueError, match="midst"):
        database.try_write(fail)
    database.write(look)
    database.close()
    assert seen == [1, 2, 2]


def test_somebody_elses_database_is_refused_and_not_touched(project: Path, home: Path) -> None:
    folder = project / ".recollect"
    folder.mkdir()
    connection = apsw.Connection(str(folder / "memory.db"))
    connection.execute("CREATE TABLE invoices (id)")
    connection.close()
    before = snapshot(folder)
    with recollect.open(project) as memory, pytest.raises(recollect.StoreForeign):
        memory.learn("something worth keeping")
    assert snapshot(folder) == before


def test_a_store_of_a_newer_version_is_refused_and_not_touched(project: Path, home: Path) -> None:
    with recollect.open(project) as memory:
        memory.learn("something worth keeping")
    folder = project / ".recollect"
    connection = apsw.Connection(str(folder / "memory.db"))
    connection.pragma("user_version", migrations.LATEST + 1)
    connection.pragma("wal_checkpoint(TRUNCATE)")
    connection.close()
    before = snapshot(folder)["memory.db"]
    with recollect.open(project) as memory, pytest.raises(recollect.StoreNewer, match="newer"):
        memory.learn("something else")
    assert snapshot(folder)["memory.db"] == before


def test_a_process_that_still_runs_after_an_upgrade_writes_nothing(
    project: Path, home: Path
) -> None:
    """A newer version may seal other columns: its rows would not be used."""
    with recollect.open(project) as memory:
        memory.learn("something worth keeping")
        newer = apsw.Connection(str(project / ".recollect" / "memory.db"))
        newer.pragma("user_version", migrations.LATEST + 1)
        with pytest.raises(recollect.StoreNewer, match="newer") as caught:
            memory.learn("something else")
        assert "restart" in caught.value.hint
        newer.pragma("user_version", migrations.LATEST)
        newer.close()
        assert [one.text for one in memory.list()] == ["something worth keeping"]


def test_a_damaged_page_is_reported_as_damage(project: Path, home: Path) -> None:
    with recollect.open(project) as memory:
        for number in range(300):
            memory.learn(f"fact number {number} about the project")
    database = project / ".recollect" / "memory.db"
    connection = apsw.Connection(str(database))
    connection.pragma("wal_checkpoint(TRUNCATE)")
    connection.close()
    content = bytearray(database.read_bytes())
    for page in range(5, len(content) // 4096):
        content[page * 4096 : page * 4096 + 200] = b"\xff" * 200
    database.write_bytes(content)
    with recollect.open(project) as memory:
        diagnosis = memory.store.doctor()
        assert not diagnosis.ok
        with pytest.raises(recollect.StoreError):
            memory.list(limit=1000)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[[int], None]]:
    """A VFS that has no room left after so many bytes."""

    class FullFile(apsw.VFSFile):
        def xWrite(self, data: bytes, offset: int) -> None:
            if room[0] < offset + len(data):
                raise apsw.FullError("the disk is full")
            super().xWrite(data, offset)

    class FullDisk(apsw.VFS):
        def xOpen(self, name: object, flags: list[int]) -> FullFile:
            return FullFile("", name, flags)  # type: ignore[arg-type]

    room = [0]
    vfs = FullDisk("small", "")
    yield lambda size: room.__setitem__(0, size)
    vfs.unregister()


class OnSmallDisk(SqliteDatabase):
    def _new_connection(self) -> apsw.Connection:
        connection = apsw.Connection(self.path, vfs="small")
        connection.pragma("locking_mode", "exclusive")
        return connection


def test_a_full_disk_is_a_clear_error_and_loses_nothing(
    tmp_path: Path, small_disk: Callable[[int], None]
) -> None:
    small_disk(1_800_000)
    database = OnSmallDisk(str(tmp_path / "memory.db"), "project")
    new = a_session()
    kept = 0

    def append() -> None:
        text = f"message {kept} " + "y" * 2000
        said = [archive_steps.prepare(archive_steps.Incoming(Message("user", text)), 1)]
        database.write(lambda tx: archive_steps.record(tx, new, said, 1))

    with pytest.raises(recollect.StoreFull, match="no space left") as caught:
        for _ in range(2000):
            append()
            kept += 1
    assert kept > 5
    assert caught.value.hint
    proof = database.read(lambda tx: archive_steps_sessions.verify_session(tx, "s"))
    assert (proof.messages, proof.problem) == (kept, "")
    small_disk(10_000_000)
    append()
    assert (
        database.read(lambda tx: archive_steps_sessions.verify_session(tx, "s")).messages
        == kept + 1
    )
    database.close()


def test_a_small_disk_that_fills_up_loses_nothing(tmp_path: Path, home: Path) -> None:
    """A file system of three megabytes, where this user may mount one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("only an administrator mounts file systems")
    try:
        kept = 0
        with recollect.open(disk) as memory:
            with pytest.raises(recollect.StoreFull, match="no space left"):
                for kept in range(2000):
                    memory.record("s", f"message {kept} " + os.urandom(1500).hex())
            # The end of the free space may be met by the next statement as well: it must say so.
            assert memory.verify(archive=True).messages >= kept
            subprocess.run([*mount[:4], "remount,size=9m", *mount[5:]], check=True)
            memory.record("s", "there is room again")
            assert memory.verify(archive=True).messages >= kept + 1
            assert memory.store.doctor().ok
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


def test_a_process_that_reads_for_long_is_reported(tmp_path: Path) -> None:
    """While it reads, the log cannot begin again; after it, the log is cut off."""
    path = tmp_path / "memory.db"
    database = SqliteDatabase(str(path), "project")
    database.write(lambda tx: None)
    reads = "import apsw, sys; c = apsw.Connection(sys.argv[1]); c.execute('BEGIN'); "
    reads += "c.execute('SELECT * FROM state').fetchall(); print('reads', flush=True); input()"
    reader = subprocess.Popen(
        [sys.executable, "-c", reads, str(path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert reader.stdout
    assert reader.stdout.readline() == "reads\n"

    def write(number: int) -> None:
        values = {"key": f"k{number}", "value": "x" * (4 << 20)}
        database.write(
            lambda tx: tx.run("INSERT INTO state VALUES (:space, :key, :value, 0)", values)
        )

    for number in range(17):
        write(number)
    log = tmp_path / "memory.db-wal"
    assert log.stat().st_size > sqlite_files.MOST_LOG
    (problem,) = database.health().problems
    assert "reading for long" in problem
    reader.communicate("end\n")
    for number in range(17, 19):
        write(number)  # the first writes the log back, the second begins it again
    assert log.stat().st_size <= sqlite_files.MOST_LOG
    assert database.health().problems == ()
    database.close()


NETWORK = [("nfs4", True), ("9p", True), ("fuse.sshfs", True), ("tmpfs", False), ("overlay", False)]


@pytest.mark.parametrize(("type", "remote"), NETWORK)
def test_a_network_file_system_gets_no_shared_memory(
    monkeypatch: pytest.MonkeyPatch, type: str, remote: bool
) -> None:
    """None can be mounted here: the list of mounts, in the kernel's form, is the test's own."""
    if not Path("/dev/shm").is_dir():
        pytest.skip("the list of mounts is Linux's")
    with TemporaryDirectory(dir="/dev/shm") as folder:
        path, mounts = Path(folder, "memory.db"), Path(folder, "mountinfo")
        device = os.stat(folder).st_dev
        mounts.write_text(
            "29 1 254:0 / / rw,relatime - ext4 /dev/root rw\n"
            f"61 29 {os.major(device)}:{os.minor(device)} / /home rw,nosuid shared:3 - {type} "
            "server:/home rw,hard\n"
        )
        local = SqliteDatabase(str(path), "project")
        local.write(lambda tx: tx.run("INSERT INTO state VALUES (:space, 'a', 'b', 0)"))
        local.close()
        monkeypatch.setattr(sqlite_health, "_MOUNTS", str(mounts))
        for database in (SqliteDatabase(str(path), "project"), SqliteDatabase(f"{path}2", "two")):
            database.write(lambda tx: None)
            mode = database.read(lambda tx: tx.one("PRAGMA journal_mode"))
            assert mode == (("delete",) if remote else ("wal",))
            told = " ".join(database.health().problems)
            assert ("network file system" in told) == remote
            database.close()
        assert not remote or not list(Path(folder).glob("*-shm"))


def test_a_directory_that_cannot_be_written_is_a_clear_error(tmp_path: Path, home: Path) -> None:
    blocked = tmp_path / "blocked"
    blocked.mkdir()
    (blocked / ".recollect").write_text("a file where the directory should be")
    with recollect.open(blocked) as memory, pytest.raises(recollect.StoreReadOnly) as caught:
        memory.learn("something worth keeping")
    assert ".recollect" in str(caught.value)
    assert (blocked / ".recollect").read_text() == "a file where the directory should be"


def test_a_store_replaced_under_a_running_process_is_noticed(project: Path, home: Path) -> None:
    with recollect.open(project) as memory:
        memory.learn("the first fact")
        for name in ("memory.db", "memory.db-wal", "memory.db-shm"):
            (project / ".recollect" / name).unlink(missing_ok=True)
        with pytest.raises(recollect.StoreError, match="replaced or removed"):
            memory.learn("a fact that must not vanish into a deleted file")
        assert memory.learn("after opening again").action == "created"


def test_files_are_private_whatever_the_umask(project: Path, home: Path) -> None:
    before = os.umask(0)
    try:
        with recollect.open(project, origin="user") as memory:
            memory.agents.init()
            memory.learn("a fact")
            memory.learn("a preference of mine", layer="user")
            memory.store.backup(str(project / ".recollect" / "copy.db"))
            folders = (project / ".recollect", home)
            for path in (*folders, *(path for folder in folders for path in folder.rglob("*"))):
                wanted = 0o700 if path.is_dir() else 0o600
                assert stat.S_IMODE(path.stat().st_mode) == wanted, path
    finally:
        os.umask(before)


@contextmanager
def as_nobody(place: Path) -> Iterator[None]:
    """Without root's rights: what is not allowed to others is not allowed here."""
    if os.geteuid() != 0:
        yield
        return
    for path in (place, *place.rglob("*")):
        os.chown(path, NOBODY, NOBODY)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def reachable() -> Iterator[Path]:
    """A place that everybody can get to; pytest's own is closed to others."""
    with TemporaryDirectory() as name:
        place = Path(name).resolve()
        place.chmod(0o755)
        yield place
        for path in (place, *place.rglob("*")):
            path.chmod(0o755)


@pytest.mark.parametrize("log", [False, True])
def test_a_store_that_can_only_be_read_is_read(reachable: Path, log: bool) -> None:
    project, folder = reachable / "project", reachable / "project" / ".recollect"
    project.mkdir()
    environment = {"RECOLLECT_HOME": str(reachable / "home")}
    with recollect.open(project, environment=environment, origin="user") as memory:
        memory.learn("the gearbox needs oil")
        memory.record("s", "hello there")
        memory.recall("gearbox")  # modules that nobody may read are loaded by now
        if log:
            # The write-ahead log of a process that was killed, with what was written in it.
            kept = {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    if log:
        for path, content in kept.items():
            path.write_bytes(content)
        assert (folder / "memory.db-wal").stat().st_size > 0
    with as_nobody(reachable):
        for path in folder.iterdir():
            path.chmod(0o400)
        folder.chmod(0o500)
        with recollect.open(project, environment=environment) as memory:
            assert [hit.text for hit in memory.recall("gearbox oil")] == ["the gearbox needs oil"]
            assert len(memory.list()) == 1
            assert memory.verify(archive=True).messages == 1
            with pytest.raises(recollect.StoreReadOnly, match="cannot be written"):
                memory.learn("another fact")
            told = memory.briefing(session="s")
            assert "gearbox" in told.text
            assert "the store cannot be written" in told.notes[0]
            diagnosis = memory.store.doctor()
            assert [check.ok for check in diagnosis.checks if check.name == "write and read"] == [
                False
            ]
            memory.store.backup(str(reachable / "copy.db"))
        assert (reachable / "copy.db").exists()


def test_a_store_that_cannot_be_reached_is_not_an_empty_one(reachable: Path) -> None:
    project = reachable / "project"
    project.mkdir()
    environment = {"RECOLLECT_HOME": str(reachable / "home")}
    with recollect.open(project, environment=environment) as memory:
        memory.learn("the gearbox needs oil")
    with as_nobody(reachable):
        (project / ".recollect").chmod(0)
        with recollect.open(project, environment=environment) as memory:
            with pytest.raises(recollect.StoreError, match="Permission denied"):
                memory.list()
            with pytest.raises(recollect.StoreError, match="Permission denied"):
                memory.learn("another fact")
        (project / ".recollect").chmod(0o700)


def test_a_store_that_was_cut_to_nothing_is_not_a_new_one(project: Path, home: Path) -> None:
    with recollect.open(project) as memory:
        memory.learn("the gearbox needs oil")
    database = project / ".recollect" / "memory.db"
    for path in database.parent.glob("memory.db*"):
        path.write_bytes(b"")
    with recollect.open(project) as memory:
        for work in (memory.list, lambda: memory.learn("another fact")):
            with pytest.raises(recollect.StoreCorrupt, match="is empty") as caught:
                work()
            assert "backup" in caught.value.hint
        assert database.stat().st_size == 0
        database.unlink()
        assert memory.learn("a new beginning").action == "created"


@pytest.mark.parametrize("links", [True, False])
@pytest.mark.parametrize("taken", ["file", "dangling link", "meanwhile"])
def test_a_backup_never_takes_the_place_of_anything(
    project: Path, home: Path, tmp_path: Path, taken: str, links: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    target = tmp_path / "copy.db"
    link = os.link

    def name(source: str, into: str) -> None:
        if taken == "meanwhile":
            target.write_text("precious")
        if not links:
            raise OSError(errno.EPERM, "no hard links on this disk")
        link(source, into)

    monkeypatch.setattr(os, "link", name)
    with recollect.open(project) as memory:
        memory.learn("the gearbox needs oil")
        if taken == "file":
            target.write_text("precious")
        if taken == "dangling link":
            target.symlink_to(tmp_path / "nowhere")
        with pytest.raises(recollect.Refused, match="exists already"):
            memory.store.backup(str(target))
        assert target.is_symlink() or target.read_text() == "precious"
        assert not (tmp_path / "nowhere").exists()
        taken = ""
        memory.store.backup(str(tmp_path / "free.db"))
    assert integrity(tmp_path / "free.db") == "ok"
    assert not list(tmp_path.glob("*.partial"))


def test_a_backup_says_which_of_both_ends_is_the_trouble(project: Path, home: Path) -> None:
    with recollect.open(project) as memory:
        with pytest.raises(recollect.Refused, match="nothing to copy"):
            memory.store.backup(str(project / "copy.db"))
        memory.learn("the gearbox needs oil")
        with pytest.raises(recollect.StoreError) as caught:
            memory.store.backup(str(project / "missing" / "copy.db"))
        assert "missing" in caught.value.where
    database = project / ".recollect" / "memory.db"
    database.write_bytes(b"not a database" * 1000)
    with recollect.open(project) as memory:
        with pytest.raises(recollect.StoreError) as caught:
            memory.store.backup(str(project / "copy.db"))
        assert caught.value.where == str(database)


def test_a_user_directory_that_cannot_be_made_is_a_clear_error(
    project: Path, tmp_path: Path
) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "stores").write_text("a file where the directory should be")
    environment = {"RECOLLECT_HOME": str(tmp_path / "home")}
    with (
        recollect.open(project, environment=environment) as memory,
        pytest.raises(recollect.StoreReadOnly) as caught,
    ):
        memory.learn("the gearbox needs oil")
    assert str(tmp_path / "home") in caught.value.where


def test_a_locked_store_says_what_can_be_done(project: Path, home: Path) -> None:
    with recollect.open(project) as memory:
        memory.learn("the gearbox needs oil")
    other = apsw.Connection(str(project / ".recollect" / "memory.db"))
    other.execute("BEGIN IMMEDIATE")
    impatient = {**os.environ, "RECOLLECT_LOCK_WAIT": "0.01"}
    with (
        recollect.open(project, environment=impatient) as memory,
        pytest.raises(recollect.StoreBusy) as caught,
    ):
        memory.learn("another fact")
    other.execute("ROLLBACK")
    other.close()
    assert "RECOLLECT_LOCK_WAIT" in caught.value.hint


def test_a_store_opened_before_a_fork_is_refused_in_the_child(project: Path, home: Path) -> None:
    script = """
import os, sys, recollect
memory = recollect.open(sys.argv[1])
memory.learn("before the fork")
child = os.fork()
if child == 0:
    try:
        memory.learn("in the child")
    except recollect.Refused as error:
        os._exit(7 if "fork" in str(error) else 1)
    os._exit(1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    done = subprocess.run([sys.executable, "-c", script, str(project)], capture_output=True)
    assert done.returncode == 7, done.stderr


@pytest.mark.parametrize(
    ("version", "safe"),
    [
        ("3.40.1", False), ("3.44.5", False), ("3.44.6", True), ("3.45.0", False),
        ("3.50.6", False), ("3.50.7", True), ("3.51.0", False), ("3.51.2", False),
        ("3.51.3", True), ("3.52.0", True), ("3.54.1", True), ("4.0.0", True),
    ],
)  # fmt: skip
def test_wal_is_used_only_on_libraries_without_its_reset_bug(version: str, safe: bool) -> None:
    assert wal_is_safe(version) is safe
