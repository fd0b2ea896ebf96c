"""A disk that fails at a read, write or sync gives a typed error, acknowledges nothing that is
lost, and the next call goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw
import pytest

import recollect
from recollect.storage import sql as storage_sql
from recollect.storage.database import Tx
from recollect.storage.sqlite import SqliteDatabase
from tests.faults.tiers import choose

CALLS = choose(12, 300)
"""The number of calls of the disk that fail, one in each run."""


class FailingFile(apsw.VFSFile):
    def __init__(self, disk: FailingVFS, name: Any, flags: Any) -> None:
        self._disk = disk
        super().__init__("", name, flags)

    def xRead(self, amount: int, offset: int) -> bytes:
        self._disk.count("read")
        return super().xRead(amount, offset)

    def xWrite(self, data: bytes, offset: int) -> None:
        self._disk.count("write")
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:
        self._disk.count("sync")
        super().xSync(flags)


class FailingVFS(apsw.VFS):
    """SQLite's own VFS, of which the `last` call of one sort fails; all after it too, if `sticky`."""

    def __init__(self, name: str) -> None:
        self.what, self.last, self.done, self.sticky = "", 0, 0, False
        super().__init__(name, "")

    def fail(self, what: str, last: int, sticky: bool) -> None:
        self.what, self.last, self.done, self.sticky = what, last, 0, sticky

    def count(self, what: str) -> None:
        if what != self.what:
            return
        self.done += 1
        if self.done == self.last or (self.sticky and self.done > self.last):
            raise apsw.IOError("the disk failed")

    def xOpen(self, name: Any, flags: Any) -> FailingFile:
        return FailingFile(self, name, flags)


class OnFailingDisk(SqliteDatabase):
    """A store on the failing VFS; its WAL index lives in memory, its files are the same."""

    def _new_connection(self) -> apsw.Connection:
        connection = apsw.Connection(self.path, vfs="failing")
        connection.pragma("locking_mode", "exclusive")
        return connection


@pytest.mark.parametrize("sticky", [False, True])
@pytest.mark.parametrize("what", ["read", "write", "sync"])
def test_an_io_error_at_any_call_acknowledges_nothing_that_is_lost(
    tmp_path: Path, what: str, sticky: bool
) -> None:
    disk = FailingVFS("failing")
    failed = 0
    for last in range(1, CALLS + 1):
        path = tmp_path / f"{last}" / "memory.db"
        path.parent.mkdir()
        acknowledged, tried = [], []
        disk.fail("", 0, False)
        database = OnFailingDisk(str(path), "project")
        database.write(lambda tx: None)
        disk.fail(what, last, sticky)
        for number in range(8):
            key = f"key {number}"

            def write(tx: Tx, key: str = key) -> None:
                storage_sql.set_value(tx, key, "x" * 3000, 1)  # type: ignore[arg-type]

            tried.append(key)
            try:
                database.write(write)
                acknowledged.append(key)
            except recollect.StoreError as error:
                failed += 1
                assert error.hint
        disk.fail("", 0, False)
        database.write(lambda tx: storage_sql.set_value(tx, "after", "y", 1))  # type: ignore[arg-type]
        database.close()
        connection = apsw.Connection(str(path))
        assert connection.pragma("integrity_check") == "ok"
        found = {str(row[0]) for row in connection.execute("SELECT key FROM state")}
        connection.close()
        assert {*acknowledged, "after"} <= found, (what, last)
        assert found <= {*tried, "after"} | {key for key in found if not key.startswith("key")}
    assert failed or what == "read"
    disk.unregister()
