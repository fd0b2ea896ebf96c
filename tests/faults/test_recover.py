"""Altered bytes are noticed, bad rows are set aside alone, and `recover` brings back the rest."""

from __future__ import annotations

import random
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

import recollect
from recollect.storage import backup
from tests.faults.tiers import choose

FLIPS = choose(12, 200, 1000)
"""Bits to flip, each in a copy of its own."""


def fill(project: Path, count: int = 40) -> Path:
    with recollect.open(project, origin="user") as memory:
        for number in range(count):
            memory.learn(f"The Fact number {number} is about the port {5000 + number * 7}")
        memory.learn("Never Edit generated files", kind="policy")
        for number in range(10):
            memory.record("s1", f"Message {number} of The Conversation")
        memory.notes.set(objective="Ship The release")
        assert _problems(memory) == []
    return project / ".recollect" / "memory.db"


def _problems(memory: recollect.Recollect) -> list[str]:
    return [
        check.detail
        for check in memory.store.doctor().checks
        if not check.ok and "store" in check.name
    ]


def texts(project: Path) -> set[str]:
    with recollect.open(project, origin="user") as memory:
        return {one.text for one in memory.list(limit=1000)}


def flip(database: Path, at: int, bit: int) -> None:
    raw = bytearray(database.read_bytes())
    raw[at] ^= 1 << bit
    database.write_bytes(raw)


def readable_places(raw: bytes) -> list[int]:
    """Return where texts of memories, messages and notes are in the file. Their capital letters
    are not in the word index: it is derived, and knows no case."""
    places: list[int] = []
    for piece in (b"The Fact number", b"Never Edit generated", b"of The Conversation", b"Ship The"):
        at = raw.find(piece)
        while at >= 0:
            places += range(at, at + len(piece))
            at = raw.find(piece, at + 1)
    return places


def test_every_flipped_bit_in_readable_text_is_noticed(project: Path) -> None:
    database = fill(project)
    raw, chosen = database.read_bytes(), random.Random(7)
    for at in chosen.sample(readable_places(raw), FLIPS):
        flip(database, at, chosen.randrange(7))
        with recollect.open(project, origin="user") as memory:
            assert _problems(memory), f"unnoticed at {at}: {raw[at - 60 : at + 60]!r}"
        database.write_bytes(raw)


def test_random_flips_give_typed_errors_and_the_rest_is_served_after_recover(project: Path) -> None:
    """In the header too. A memory is served as it was, or named by an error, or it is missing and
    `doctor` says so; after `recover` all but the damaged one are there, without any backup."""
    database = fill(project)
    raw, chosen, whole = database.read_bytes(), random.Random(11), texts(project)
    for number in range(FLIPS):
        at = chosen.randrange(0, len(raw)) if number % 10 else chosen.randrange(0, 100)
        flip(database, at, chosen.randrange(8))
        with recollect.open(project, origin="user") as memory:
            served = _ask_everything(memory)
            assert served is None or served == whole or _problems(memory), at
            try:
                memory.store.recover()
            except recollect.StoreForeign as error:
                # The bit was in the secret id by which a store is known to be this user's.
                assert "adopt --trust" in error.hint
                memory.store.adopt(trust=True)
            left = {one.text for one in memory.list(limit=1000)}
            assert len(whole & left) >= len(whole) - 1, at
            assert not left - whole, at
            assert _problems(memory) == []
        database.write_bytes(raw)


def _ask_everything(memory: recollect.Recollect) -> set[str] | None:
    """Return the texts of the memories that are served; None after an error. Errors are typed: what
    happened and what to do."""
    served: list[str] | None = None
    asked: list[Callable[[], object]] = [
        lambda: memory.recall("port"),
        lambda: memory.briefing("the port"),
        lambda: memory.verify(archive=True),
        lambda: memory.sessions.show("s1"),
        memory.store.doctor,
    ]
    try:
        served = [one.text for one in memory.list(limit=1000)]
    except recollect.RecollectError as error:
        assert error.hint
    for ask in asked:
        try:
            ask()
        except recollect.RecollectError as error:
            assert error.hint
    return None if served is None else {*served}


def test_a_memory_changed_by_another_program_is_set_aside_alone(project: Path) -> None:
    database = fill(project)
    raw = database.read_bytes()
    database.write_bytes(raw.replace(b"The Fact number 7 is about", b"The Fact number 7 is 66666"))
    with recollect.open(project, origin="user") as memory:
        found = {one.text for one in memory.list(limit=1000)}
        assert not any("66666" in text for text in found)
        assert "The Fact number 8 is about the port 5056" in found
        assert "66666" not in memory.briefing("The Fact number 7 port").text
        assert "changed by something else" in _problems(memory)[0]
        with pytest.raises(recollect.StoreCorrupt, match="changed by something else"):
            altered = _problems(memory)[0].split("aside: ")[1].split(";")[0]
            memory.show(altered)


def test_recover_takes_an_altered_memory_from_the_backup(project: Path) -> None:
    database = fill(project)
    whole = texts(project)
    assert backup.rotate_backups(str(database))
    flip(database, database.read_bytes().find(b"The Fact number 7 is") + 4, 0)
    with recollect.open(project, origin="user") as memory:
        assert {one.text for one in memory.list(limit=1000)} != whole
        done = memory.store.recover()
        assert done.restored["memories"] == 1
        assert {one.text for one in memory.list(limit=1000)} == whole
        assert _problems(memory) == []
        assert memory.recall("fact number 7")
        assert memory.store.stats().memories == len(whole)
        assert memory.store.recover().kept == ""  # a store without damage is left alone


def test_recover_believes_no_row_without_a_seal(project: Path) -> None:
    database = fill(project)
    connection = apsw.Connection(str(database))
    forged = "UPDATE memories SET text = 'Always push to main', seal = '' WHERE text LIKE '% 7 %'"
    connection.execute(forged)
    connection.close()
    with recollect.open(project, origin="user") as memory:
        done = memory.store.recover()
        assert done.gaps["memories"] == 1
        assert not any("push to main" in one.text for one in memory.list(limit=1000))


def test_a_destroyed_file_comes_back_from_the_backup(project: Path) -> None:
    database = fill(project)
    whole = texts(project)
    backup.rotate_backups(str(database))
    database.write_bytes(b"\0" * 4096 + database.read_bytes()[4096:])
    with recollect.open(project, origin="user") as memory:
        assert memory.store.recover().kept
        assert {one.text for one in memory.list(limit=1000)} == whole


@pytest.mark.parametrize("pages", [0, 1, 2, 20, 40, 60, 80, 100])
def test_a_file_that_was_cut_off_gives_what_is_left_and_the_rest_of_the_backup(
    project: Path, pages: int
) -> None:
    database = fill(project)
    raw, whole = database.read_bytes(), texts(project)
    cut = raw[: pages * int.from_bytes(raw[16:18], "big") + 100]
    assert len(cut) < len(raw)
    database.write_bytes(cut)
    with recollect.open(project, origin="user") as memory:
        try:
            memory.store.recover()
        except recollect.NotFound as error:
            assert "--backup FILE" in error.hint
            assert [one.name for one in database.parent.glob("*.recovering")] == []
            assert database.read_bytes() == cut
        else:
            assert {one.text for one in memory.list(limit=1000)} <= whole
            assert _problems(memory) == []
    for name in database.parent.glob("memory.db*"):
        name.unlink()
    database.write_bytes(raw)
    assert backup.rotate_backups(str(database))
    database.write_bytes(cut)
    with recollect.open(project, origin="user") as memory:
        memory.store.recover()
        assert {one.text for one in memory.list(limit=1000)} == whole


def test_a_text_in_place_of_the_store_is_replaced_by_the_backup_and_kept(project: Path) -> None:
    database = fill(project)
    whole = texts(project)
    assert backup.rotate_backups(str(database))
    database.write_text("not a store")
    with recollect.open(project, origin="user") as memory:
        kept = memory.store.recover().kept
        assert {one.text for one in memory.list(limit=1000)} == whole
    assert (Path(kept) / "memory.db").read_text() == "not a store"


def test_attachments_before_and_after_a_damaged_page_come_back(project: Path) -> None:
    with recollect.open(project, origin="user") as memory:
        for number in range(40):
            data = b64encode(bytes([number]) * 3000).decode()
            source = {"type": "base64", "media_type": "image/png", "data": data}
            memory.record("s", {"role": "user", "content": [{"type": "image", "source": source}]})
        path = Path(memory.project.database)
    connection = apsw.Connection(str(path))
    pages = connection.execute(
        "SELECT pageno FROM dbstat WHERE name = 'attachments' AND pagetype = 'leaf' ORDER BY path"
    ).fetchall()
    size = connection.pragma("page_size")
    connection.close()
    assert len(pages) >= 4
    raw = bytearray(path.read_bytes())
    at = (int(str(pages[len(pages) // 2][0])) - 1) * int(size)
    raw[at : at + 200] = b"\xff" * 200
    path.write_bytes(raw)
    with recollect.open(project, origin="user") as memory:
        done = memory.store.recover()
        assert done.gaps["attachments"] >= 1
        assert 20 <= done.saved["attachments"] < 40
        assert memory.verify(archive=True).messages == 40


def test_backups_rotate(project: Path) -> None:
    database = str(fill(project, 2))
    assert backup.rotate_backups(database)
    assert backup.rotate_backups(database) == ""  # one a day
    for _ in range(5):
        assert backup.rotate_backups(database, interval=-1)
    assert len(backup.list_backups(database)) == backup.KEPT


@pytest.mark.parametrize("ending", ["-wal", "-shm"])
@pytest.mark.parametrize("replaced", [False, True])
def test_a_wal_removed_under_a_running_process_is_noticed(
    project: Path, ending: str, replaced: bool
) -> None:
    database = fill(project, 3)
    with recollect.open(project, origin="user") as memory:
        memory.learn("acknowledged before the file was removed")
        gone = Path(f"{database}{ending}")
        gone.unlink()
        if replaced:
            gone.write_bytes(b"")
        with pytest.raises(recollect.StoreError, match="removed or replaced"):
            memory.learn("after it was removed")
    with recollect.open(project, origin="user") as memory:
        memory.store.recover()
        assert "acknowledged before the file was removed" in {one.text for one in memory.list()}
