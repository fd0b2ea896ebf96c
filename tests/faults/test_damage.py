"""A file that is no store, a record that cannot be decoded, words that are not UTF-8: a clear error
or a record set aside, and everything else goes on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

import recollect
from recollect.memory import sql as memory_sql
from recollect.memory import sql_lists as memory_sql_lists
from tests.interfaces.conftest import HOOK

NOT_TEXT = "CAST(x'61ff62' AS TEXT)"


def run(project: Path, *words: str | bytes, stdin: str = "", **more: str) -> tuple[int, str, str]:
    """Run `recollect` as a process of its own; gives its status, output and complaints."""
    done = subprocess.run(
        [sys.executable, "-m", "recollect", *words],
        cwd=project,
        env={**os.environ, **more},
        input=stdin.encode(),
        capture_output=True,
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


# ---------------------------------------------------------------------------------------------
# Files

HEADER = b"SQLite format 3\x00\x20\x00\x02\x02\x00\x40\x20\x20"


@pytest.fixture(params=["memory.db", "user.db"])
def database(request: pytest.FixtureRequest, project: Path, tmp_path: Path) -> Path:
    folder = project / ".recollect" if request.param == "memory.db" else tmp_path / "home"
    folder.mkdir()
    return folder / str(request.param)


@pytest.mark.parametrize(
    "content",
    [
        b"\0",
        b"x",
        b"\n",
        b"hello\n",
        b"SQLite format 3\0",
        HEADER,
        HEADER + b"\0" * 300,
        b"z" * 600,
    ],
    ids=["null", "letter", "line end", "text", "magic", "header", "cut header", "long text"],
)
def test_a_file_that_is_no_database_is_refused_and_not_touched(
    project: Path, database: Path, content: bytes
) -> None:
    database.write_bytes(content)
    layer = "user" if database.name == "user.db" else "project"
    with recollect.open(project, origin="user") as memory:
        for work in (memory.list, lambda: memory.learn("the port is 5433", layer=layer)):
            with pytest.raises(recollect.StoreForeign, match="is not a database") as caught:
                work()
            assert caught.value.where == str(database)
            assert caught.value.hint
        assert not memory.store.doctor().ok
    assert database.read_bytes() == content
    assert [path.name for path in database.parent.glob("*.db-*")] == []


def test_the_command_says_that_a_file_of_one_byte_is_no_database(
    project: Path, database: Path
) -> None:
    database.write_bytes(b"x")
    status, _, complaint = run(project, "list")
    assert status == 15
    assert complaint.startswith("recollect: the file in the store's place is not a database")
    assert database.read_bytes() == b"x"


def test_a_store_that_was_cut_off_is_damaged(project: Path) -> None:
    with recollect.open(project) as memory:
        memory.learn("the gearbox needs oil")
    store = project / ".recollect" / "memory.db"
    for size in (1, 100, 511):
        for path in store.parent.glob("memory.db-*"):
            path.unlink()
        store.write_bytes(HEADER.ljust(size, b"\0")[:size])
        with recollect.open(project) as memory:
            with pytest.raises(recollect.StoreCorrupt, match="cut off") as caught:
                memory.list()
            assert "backup" in caught.value.hint
        assert store.stat().st_size == size


def test_an_empty_file_becomes_a_store(project: Path, database: Path) -> None:
    database.write_bytes(b"")
    layer = "user" if database.name == "user.db" else "project"
    with recollect.open(project, origin="user") as memory:
        assert memory.learn("the port is 5433", layer=layer).action == "created"
        assert memory.store.doctor().ok


# ---------------------------------------------------------------------------------------------
# Records. PostgreSQL refuses what is not UTF-8, so that only SQLite can hold it.


@pytest.fixture
def damage(project: Path) -> Callable[[str], None]:
    """Runs a statement on the project's store, behind Recollect's back."""

    def run_raw(sql: str) -> None:
        connection = apsw.Connection(str(project / ".recollect" / "memory.db"))
        connection.execute(sql)
        assert connection.changes() >= 1
        connection.close()

    return run_raw


@pytest.fixture
def memory(project: Path) -> Iterator[recollect.Recollect]:
    with recollect.open(project, origin="user") as opened:
        yield opened


MEMORIES = ("the broken gearbox needs oil", "the second gearbox is red", "the third gearbox is new")


@pytest.mark.parametrize(
    "column", ["text", "subject", "reason", "tags", "scope", "detail", "sources", "digest", "owner"]
)
def test_a_memory_that_cannot_be_decoded_is_set_aside_alone(
    memory: recollect.Recollect, damage: Callable[[str], None], column: str
) -> None:
    broken, *whole = [memory.learn(text, kind="policy").memory.id for text in MEMORIES]
    damage(f"UPDATE memories SET {column} = {NOT_TEXT} WHERE id = '{broken}'")
    assert {found.id for found in memory.list()} == set(whole)
    assert {hit.id for hit in memory.recall("gearbox")} >= set(whole)
    shown = memory.briefing().text
    assert MEMORIES[1] in shown
    assert MEMORIES[2] in shown
    assert MEMORIES[0] not in shown
    assert memory.learn("the fourth gearbox is old").action == "created"
    assert memory.store.stats().memories == 4
    with pytest.raises(recollect.StoreCorrupt, match="not UTF-8") as caught:
        memory.show(broken)
    assert "doctor" in caught.value.hint
    (problem,) = [check for check in memory.store.doctor().checks if not check.ok]
    assert "memories" in problem.detail
    assert "not UTF-8" in problem.detail


def test_each_damaged_record_is_named_by_the_doctor(
    project: Path, memory: recollect.Recollect, damage: Callable[[str], None]
) -> None:
    ids = [memory.learn(f"fact number {number} of them").memory.id for number in range(12)]
    memory.scratch.store("plan", "the plan")
    damage(f"UPDATE memories SET text = {NOT_TEXT} WHERE id <> '{ids[0]}'")
    damage(f"UPDATE documents SET text = {NOT_TEXT}")
    details = [check.detail for check in memory.store.doctor().checks if not check.ok]
    assert len(details) == 2
    assert "documents: 1 record holds text that is not UTF-8" in details[0]
    assert "memories: 11 records hold text that is not UTF-8" in details[1]
    assert sum(id in details[1] for id in ids) == 5
    status, output, _ = run(project, "doctor")
    assert status == 1
    assert "not UTF-8" in output


def test_commands_go_on_without_a_damaged_record(
    project: Path, memory: recollect.Recollect, damage: Callable[[str], None]
) -> None:
    broken = memory.learn(MEMORIES[0]).memory.id
    memory.learn(MEMORIES[1])
    memory.learn("the port is 5433", kind="pattern")
    damage(f"UPDATE memories SET text = {NOT_TEXT} WHERE id = '{broken}'")
    for words in (
        *(("list",), ("briefing",), ("recall", "gearbox"), ("stats",), ("verify",), ("audit",)),
        *(("rebuild",), ("prune",), ("consolidate",), ("session", "list")),
        *(("learn", "one more fact about oil"), ("for-file", "a.py"), ("before-task", "gearbox")),
    ):
        status, output, complaint = run(project, *words)
        assert (status, complaint) == (0, ""), (words, complaint)
        if words[0] in ("list", "briefing", "recall"):
            assert MEMORIES[1] in output
    status, _, complaint = run(project, "show", broken)
    assert status == 14
    assert "not UTF-8" in complaint


def test_all_memories_behind_a_damaged_one_are_taken_once(
    memory: recollect.Recollect, damage: Callable[[str], None]
) -> None:
    ids = [memory.learn(f"fact number {number}").memory.id for number in range(5)]
    damage(f"UPDATE memories SET text = {NOT_TEXT} WHERE id = '{ids[2]}'")
    found = memory.context.project_space.read(
        lambda tx: memory_sql_lists.list_open(tx, {}, memory_sql.ALL)
    )
    assert sorted(one.id for one in found) == sorted({*ids} - {ids[2]})


def test_a_message_that_cannot_be_decoded_is_set_aside_alone(
    memory: recollect.Recollect, damage: Callable[[str], None], tmp_path: Path
) -> None:
    for number in range(4):
        memory.record("s-1", f"message number {number} about the gearbox")
        memory.record("s-2", f"other message {number}")
    damage(f"UPDATE messages SET body = {NOT_TEXT} WHERE session = 's-1' AND seq = 2")
    assert [one.seq for one in memory.sessions.show("s-1").messages] == [1, 3, 4]
    assert [one.seq for one in memory.sessions.recent("s-1")] == [1, 3, 4]
    prompt = str(memory.prepare("s-1", 100_000))
    assert "message number 0" in prompt
    assert "message number 3" in prompt
    for ending in ("html", "md", "jsonl"):
        memory.sessions.export(str(tmp_path / f"talk.{ending}"), "s-1")
        text = (tmp_path / f"talk.{ending}").read_text()
        assert "message number 0" in text
        assert "message number 3" in text
    assert len(memory.sessions.search("gearbox")) == 3
    memory.record("s-1", "one more")
    memory.episodes.build()
    with pytest.raises(recollect.StoreCorrupt, match="message 2 is missing or cannot be decoded"):
        memory.verify(archive=True)
    (problem,) = [check for check in memory.store.doctor().checks if not check.ok]
    assert "messages: 1 record" in problem.detail
    assert "s-1/2" in problem.detail


def test_a_session_that_cannot_be_decoded_is_set_aside_alone(
    memory: recollect.Recollect, damage: Callable[[str], None]
) -> None:
    for name in ("s-1", "s-2", "s-3"):
        memory.record(name, f"a message in {name} about the gearbox")
    damage(f"UPDATE sessions SET name = {NOT_TEXT} WHERE id = 's-2'")
    assert [one.id for one in memory.sessions.list()] == ["s-3", "s-1"]
    assert memory.recall("gearbox")
    assert memory.sessions.search("gearbox")
    memory.episodes.build()
    with pytest.raises(recollect.StoreCorrupt, match="not UTF-8"):
        memory.sessions.show("s-2")
    assert "sessions: 1 record" in str(memory.store.doctor())


def test_a_document_that_cannot_be_decoded_is_set_aside_alone(
    memory: recollect.Recollect, damage: Callable[[str], None]
) -> None:
    for name in ("plan", "broken", "notes"):
        memory.scratch.store(name, f"the {name} of the gearbox")
    damage(f"UPDATE documents SET text = {NOT_TEXT} WHERE address LIKE '%broken%'")
    assert sorted(one.text for one in memory.scratch.list()) == [
        "the notes of the gearbox",
        "the plan of the gearbox",
    ]
    assert len(memory.scratch.search("gearbox")) == 2
    assert memory.scratch.retrieve("plan").text == "the plan of the gearbox"
    with pytest.raises(recollect.StoreCorrupt, match="not UTF-8"):
        memory.scratch.retrieve("broken")
    with pytest.raises(recollect.StoreCorrupt, match="not UTF-8"):
        memory.show("memory://scratch/broken")
    memory.briefing()
    assert "documents: 1 record" in str(memory.store.doctor())


def test_an_episode_or_procedure_that_cannot_be_decoded_is_set_aside_alone(
    memory: recollect.Recollect, damage: Callable[[str], None]
) -> None:
    kept = [memory.episodes.record(f"repair gearbox {number}", "success") for number in range(3)]
    damage(f"UPDATE episodes SET body = {NOT_TEXT} WHERE id = '{kept[1].id}'")
    assert {one.id for one in memory.episodes.list()} == {kept[0].id, kept[2].id}
    assert memory.recall("gearbox")
    memory.lessons.consolidate()
    memory.store.rebuild()
    memory.episodes.learnings()
    with pytest.raises(recollect.StoreCorrupt, match="not UTF-8"):
        memory.episodes.show(kept[1].id)
    assert "episodes: 1 record" in str(memory.store.doctor())


def test_sessions_written_together_go_on_without_one_whose_episode_is_damaged(
    memory: recollect.Recollect, damage: Callable[[str], None]
) -> None:
    for name in ("s-1", "s-2", "s-3"):
        memory.record(name, f"Repair the gearbox of {name}, please.")
    memory.episodes.build()
    damage(f"UPDATE episodes SET body = {NOT_TEXT} WHERE session = 's-2'")
    for name in ("s-1", "s-2", "s-3"):
        memory.record(name, "It must never run without oil.")
    built = memory.episodes.build()
    assert (built.sessions, built.episodes, built.updated) == (3, 2, 2)
    assert {one.episode["session"] for one in memory.episodes.list()} == {"s-1", "s-3"}


@pytest.mark.parametrize(
    "sql",
    [f"UPDATE spaces SET name = {NOT_TEXT}", f"UPDATE state SET value = {NOT_TEXT}"],
)
def test_damage_to_what_the_store_knows_of_itself_has_a_true_reason(
    project: Path, memory: recollect.Recollect, damage: Callable[[str], None], sql: str
) -> None:
    memory.learn(MEMORIES[0])
    memory.record("s-1", "a message")
    damage(sql)
    memory.close()
    for words in (("list",), ("learn", "one more fact"), ("verify",)):
        status, _, complaint = run(project, *words)
        assert status in (0, 14, 15), complaint
        assert "a name or path" not in complaint


# ---------------------------------------------------------------------------------------------
# Words that are not UTF-8

PLAIN = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
SAID = "Der Schlüssel liegt im Büro: 東京 😀"


@pytest.mark.parametrize("locale", [PLAIN, {"LC_ALL": "C"}, {"LC_ALL": "C.UTF-8"}])
def test_words_are_stored_as_they_were_said_in_every_locale(
    project: Path, locale: dict[str, str]
) -> None:
    assert run(project, "learn", SAID.encode(), **locale)[0] == 0
    with recollect.open(project) as memory:
        assert [one.text for one in memory.list()] == [SAID]
    status, output, complaint = run(project, "list", **locale)
    assert (status, complaint) == (0, "")
    assert SAID in output
    assert SAID in run(project, "recall", "Schlüssel Büro".encode(), **locale)[1]
    assert SAID in run(project, "list", "--json", **locale)[1]


def test_standard_input_is_utf8_in_every_locale(project: Path) -> None:
    assert run(project, "learn", "-", stdin=SAID, **PLAIN)[0] == 0
    assert run(project, "record", "s-1", "-", stdin=SAID, **PLAIN)[0] == 0
    with recollect.open(project) as memory:
        assert [one.text for one in memory.list()] == [SAID]
        assert SAID in str(memory.sessions.show("s-1").messages[0].message)


def test_paths_are_found_in_every_locale(tmp_path: Path) -> None:
    there = tmp_path / "Überseehäfen 東京"
    there.mkdir()
    home = str(tmp_path / "Zuhause für alle")
    assert run(there, "learn", SAID.encode(), RECOLLECT_HOME=home, **PLAIN)[0] == 0
    named = ("list", "--project", os.fsencode(there))
    assert SAID in run(tmp_path, *named, RECOLLECT_HOME=home, **PLAIN)[1]
    assert SAID in run(tmp_path, *named, RECOLLECT_HOME=home)[1]
    assert "m-nonë" in run(there, "show", "m-nonë".encode(), RECOLLECT_HOME=home, **PLAIN)[2]


def test_a_hook_hears_utf8_in_every_locale(project: Path) -> None:
    event = {
        "hook_event_name": "UserPromptSubmit",
        "session_id": "s-1",
        "cwd": str(project),
        "prompt": f"From now on, always write {SAID}",
    }
    said = json.dumps(event, ensure_ascii=False)
    hook = subprocess.run(
        [sys.executable, "-c", HOOK],
        cwd=project, env={**os.environ, **PLAIN}, input=said.encode(), capture_output=True,
    )  # fmt: skip
    assert (hook.returncode, hook.stderr) == (0, b"")
    assert SAID in run(project, "list")[1]


@pytest.mark.parametrize("locale", [PLAIN, {"LC_ALL": "C.UTF-8"}])
@pytest.mark.parametrize(
    "words",
    [("learn", b"caf\xe9"), ("learn", "fact", "--tag", b"\xff"), (b"\xfe",), ("recall", b"\xc3")],
)
def test_words_that_are_not_utf8_are_refused(
    project: Path, words: tuple[str | bytes, ...], locale: dict[str, str]
) -> None:
    status, output, complaint = run(project, *words, **locale)
    assert status == 2
    assert "is not UTF-8" in complaint
    assert output == ""
    assert not (project / ".recollect").exists()
    status, output, _ = run(project, *words, "--json", **locale)
    assert status == 2
    assert json.loads(output)["error"]["code"] == "invalid_input"
