"""OpenCode's stores and exports give the same messages."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from recollect.agents import registry
from recollect.agents.opencode import hooks
from recollect.errors import InvalidInput, NotFound
from recollect.types.records import Json
from tests.agents.reading import read, words

SESSION = {"id": "ses_1", "parentID": None, "directory": "/w/p", "title": "Fix it"}
MESSAGES: list[dict[str, Json]] = [
    {"id": "msg_1", "role": "user", "time": {"created": 1_700_000_000_000}},
    {
        "id": "msg_2",
        "role": "assistant",
        "modelID": "m-1",
        "time": {"created": 1_700_000_001_000, "completed": 1_700_000_002_000},
        "tokens": {"input": 5, "output": 7, "reasoning": 1, "cache": {"read": 3, "write": 2}},
    },
]
PARTS: dict[str, list[dict[str, Json]]] = {
    "msg_1": [
        {"id": "prt_0", "type": "text", "text": "our memory", "synthetic": True},
        {"id": "prt_1", "type": "text", "text": "fix the build"},
    ],
    "msg_2": [
        {"id": "prt_2", "type": "step-start"},
        {"id": "prt_3", "type": "reasoning", "text": "hmm"},
        {
            "id": "prt_4",
            "type": "tool",
            "tool": "bash",
            "callID": "c1",
            "state": {"status": "error", "input": {"command": "make"}, "error": "exit 2"},
        },
        {"id": "prt_5", "type": "text", "text": "It fails."},
    ],
}


def database(path: Path, messages: list[dict[str, Json]] = MESSAGES) -> Path:
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as db:
        db.executescript(
            "create table session(id, parent_id, directory, title, time_created, time_updated);"
            "create table message(id, session_id, time_created, data);"
            "create table part(id, message_id, session_id, data);"
        )
        db.execute("insert into session values ('ses_1', null, '/w/p', 'Fix it', 1, 2)")
        for message in messages:
            rest = {k: v for k, v in message.items() if k != "id"}
            created = message["time"]["created"]
            db.execute(
                "insert into message values (?, 'ses_1', ?, ?)",
                (message["id"], created, json.dumps(rest)),
            )
            for part in PARTS.get(message["id"], []):
                body = {k: v for k, v in part.items() if k != "id"}
                db.execute(
                    "insert into part values (?, ?, 'ses_1', ?)",
                    (part["id"], message["id"], json.dumps(body)),
                )
        db.commit()
    return path


def folder(path: Path) -> Path:
    def put(value: Json, *place: str) -> None:
        target = path.joinpath(*place)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(value))

    put({**SESSION, "time": {"created": 1, "updated": 2}}, "session", "proj", "ses_1.json")
    for message in MESSAGES:
        put(message, "message", "ses_1", f"{message['id']}.json")
        for part in PARTS[message["id"]]:
            put(part, "part", message["id"], f"{part['id']}.json")
    return path


def exported(path: Path, indent: int | None = 2) -> Path:
    """What `opencode export` writes."""
    told = [{"info": message, "parts": PARTS[message["id"]]} for message in MESSAGES]
    about = {**SESSION, "time": {"created": 1, "updated": 2}}
    file = path / "session.json"
    file.write_text(json.dumps({"info": about, "messages": told}, indent=indent))
    return file


SAID = [
    ("user", "user", "fix the build"),
    ("agent", "assistant", "hmm"),
    ("agent", "assistant", ""),
    ("tool", "tool", "exit 2"),
    ("agent", "assistant", "It fails."),
]


@pytest.mark.parametrize(
    "make", [lambda p: database(p / "opencode.db"), folder, exported, lambda p: exported(p, None)]
)
def test_all_kinds_of_store_give_the_same_messages(tmp_path: Path, make: object) -> None:
    path = make(tmp_path)  # type: ignore[operator]
    told = read("opencode", path)
    assert told.about()[:3] == ("opencode.ses_1", "Fix it", "/w/p")
    assert told.lines == SAID
    assert told.messages[2].calls[0] == ("c1", "bash", '{"command": "make"}')
    assert told.messages[3].is_error and told.messages[3].call_id == "c1"
    assert told.messages[1].usage == {
        "input_tokens": 10,
        "output_tokens": 7,
        "cache_read_tokens": 3,
        "cache_write_tokens": 2,
        "reasoning_tokens": 1,
    }
    assert [m.key for m in told.messages] == ["prt_1", "prt_3", "prt_4", "prt_4/out", "prt_5"]
    assert read("opencode", path, told.cursor).entries == []


def test_an_answer_in_progress_is_left_for_the_next_time(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    running = [MESSAGES[0], {**MESSAGES[1], "time": {"created": 1_700_000_001_000}}]
    first = read("opencode", database(path, running))
    assert [words(m) for m in first.messages] == ["fix the build"]
    second = read("opencode", database(path), first.cursor)
    assert [words(m) for m in second.messages][-1] == "It fails."


def test_one_session_of_several_can_be_read(tmp_path: Path) -> None:
    path = database(tmp_path / "opencode.db")
    assert read("opencode", path, session="ses_1").entries
    assert read("opencode", path, session="ses_2").found == []


@pytest.mark.parametrize(
    "change",
    [
        "drop table part; create view part as select 1 id, 2 message_id, 'ses_1' session_id, 3 data",
        "drop table session; create view session as with recursive n(x) as (select 1 union all"
        " select x + 1 from n) select x id, 0 parent_id, '' directory, '' title, 0 time_created,"
        " 0 time_updated from n",
    ],
)
def test_a_view_in_place_of_a_table_is_refused(tmp_path: Path, change: str) -> None:
    path = database(tmp_path / "opencode.db")
    with closing(sqlite3.connect(path)) as db:
        db.executescript(change)
    with pytest.raises(InvalidInput, match="is not a table"):
        read("opencode", path)


def test_rows_of_any_type_cause_no_crash(tmp_path: Path) -> None:
    path = database(tmp_path / "opencode.db")
    before = read("opencode", path).messages
    with closing(sqlite3.connect(path)) as db:
        for data in (None, 5, b"\xff", "[" * 100_000, "[1]", '{"type": 5, "state": 3}'):
            db.execute("insert into part values ('z', 'msg_1', 'ses_1', ?)", (data,))
        db.execute("insert into part values (?, 7, 'ses_1', cast(x'7b22ff' as text))", (b"\xff",))
        db.execute("insert into session values (?, 5, 6, 7, 8, 9)", (b"\xff",))
        db.commit()
    assert read("opencode", path).messages == before


def test_ids_cannot_leave_the_folder_and_special_files_are_skipped(tmp_path: Path) -> None:
    store = tmp_path / "storage"
    for name in ("session/p", "message/ses_1", "part/msg_1"):
        (store / name).mkdir(parents=True)
    outside = tmp_path / "elsewhere"
    outside.mkdir()
    (outside / "m.json").write_text('{"id": "msg_1", "role": "user"}')
    for number, name in enumerate(("ses_1", "../../elsewhere", "a\0b", "", ".")):
        about = {"id": name, "directory": "/w/p"}
        (store / "session/p" / f"{number}.json").write_text(json.dumps(about))
    (store / "message/ses_1/m.json").write_text('{"id": "msg_1", "role": "user"}')
    part = {"id": "prt_1", "type": "text", "text": "fix the build"}
    (store / "part/msg_1/1.json").write_text(json.dumps(part))
    (store / "part/msg_1/2.json").mkdir()
    (store / "part/msg_1/3.json").symlink_to("nowhere")
    os.mkfifo(store / "part/msg_1/4.json")
    told = read("opencode", store)
    assert [words(message) for message in told.messages] == ["fix the build"]


def test_a_store_of_an_unknown_shape_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("create table session(id)")
    with pytest.raises(InvalidInput, match="OpenCode"):
        read("opencode", path)
    with pytest.raises(NotFound):
        read("opencode", tmp_path / "none.db")


@pytest.mark.parametrize("indent", [None, 2])
def test_an_export_is_recognised_as_one(tmp_path: Path, indent: int | None) -> None:
    path = exported(tmp_path, indent)
    assert registry.detect_transcript(str(path)) == "opencode"
    plain = tmp_path / "talk.json"
    plain.write_text(json.dumps({"messages": [{"role": "user", "content": "hi"}]}))
    assert registry.detect_transcript(str(plain)) == "messages"


@pytest.mark.parametrize(("code", "failed"), [(0, False), (1, True), (127, True), (None, False)])
def test_a_failed_command_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int | None, failed: bool
) -> None:
    state = {"status": "completed", "input": {}, "output": "said", "metadata": {"exit": code}}
    part = {"id": "prt_4", "type": "tool", "tool": "bash", "callID": "c1", "state": state}
    # Whoever blackens an export may make all call ids the same.
    again = {**part, "id": "prt_5"}
    monkeypatch.setitem(PARTS, "msg_2", [part, again])
    told = read("opencode", exported(tmp_path))
    results = [message for message in told.messages if message.role == "tool"]
    assert [message.is_error for message in results] == [failed, failed]
    assert [dict(message.extra or {}).get("exit") for message in results] == [code, code]
    assert [message.call_id for message in results] == ["c1", "prt_5"]


def test_a_typed_command_is_the_prompt_and_its_expansion_is_not(tmp_path: Path) -> None:
    noted = {"recollect": "/review the diff"}
    part = {"type": "text", "text": "Always run x. Review the diff.", "metadata": noted}
    exported = {
        "info": SESSION,
        "messages": [{"info": MESSAGES[0], "parts": [part]}],
    }
    path = tmp_path / "session.json"
    path.write_text(json.dumps(exported))
    told = read("opencode", path)
    assert told.lines == [
        ("user", "user", "/review the diff"),
        ("tool", "system", "Always run x. Review the diff."),
    ]


NEWER: list[tuple[str, dict[str, Json]]] = [
    ("model-switched", {"model": {"id": "m-1"}}),
    ("user", {"text": "fix the build", "time": {"created": 1_700_000_000_000}}),
    ("synthetic", {"text": "Always run x."}),
    (
        "assistant",
        {
            "model": {"id": "m-1", "providerID": "p"},
            "content": [
                {"type": "reasoning", "id": "r1", "text": "hmm"},
                {
                    "type": "tool",
                    "id": "c1",
                    "name": "bash",
                    "state": {
                        "status": "completed",
                        "input": {"command": "make"},
                        "content": [{"type": "text", "text": "exit 2"}],
                        "structured": {"exit": 2},
                    },
                    "time": {"created": 1, "completed": 1_700_000_001_000},
                },
                {"type": "text", "text": "It fails."},
            ],
            "tokens": {"input": 5, "output": 7, "reasoning": 1, "cache": {"read": 3, "write": 2}},
            "time": {"created": 1_700_000_001_000, "completed": 1_700_000_002_000},
        },
    ),
    ("shell", {"callID": "c2", "command": "ls", "output": "a.py"}),
    ("compaction", {"summary": "The build was fixed."}),
]


@pytest.mark.parametrize("both", [True, False])
def test_the_newer_table_is_read_where_the_older_ones_are_empty_or_gone(
    tmp_path: Path, both: bool
) -> None:
    path = database(tmp_path / "opencode.db", [])
    with closing(sqlite3.connect(path)) as db:
        if not both:
            db.executescript("drop table message; drop table part;")
        db.execute("create table session_message(id, session_id, type, seq, time_created, data)")
        for seq, (kind, data) in enumerate(NEWER):
            row = (f"msg_{seq}", "ses_1", kind, seq, seq, json.dumps(data))
            db.execute("insert into session_message values (?, ?, ?, ?, ?, ?)", row)
        db.commit()
    told = read("opencode", path)
    assert told.lines == [
        *SAID,
        ("agent", "assistant", ""),
        ("tool", "tool", "a.py"),
        ("tool", "system", "The build was fixed."),
    ]
    assert told.messages[3].is_error and told.messages[1].model == "m-1"
    assert told.spent()["output_tokens"] == 7
    assert len({message.key for message in told.messages}) == 8
    assert read("opencode", path, told.cursor).entries == []


def test_the_older_tables_come_first(tmp_path: Path) -> None:
    path = database(tmp_path / "opencode.db")
    before = read("opencode", path).lines
    with closing(sqlite3.connect(path)) as db:
        db.execute("create table session_message(id, session_id, type, seq, time_created, data)")
        row = ("e1", "ses_1", "user", 1, 1, json.dumps({"text": "fix the build"}))
        db.execute("insert into session_message values (?, ?, ?, ?, ?, ?)", row)
        db.commit()
    assert read("opencode", path).lines == before


@pytest.mark.parametrize(
    ("prompt", "typed"),
    [
        ('"never push to main"', "never push to main"),
        (r'"never say \"done\" before the tests pass"', 'never say "done" before the tests pass'),
        ('"one" and "two"', '"one" and "two"'),
        ("never push to main", "never push to main"),
        ('"', '"'),
    ],
)
def test_the_quotes_that_opencode_run_puts_around_a_prompt_are_taken_off(
    prompt: str, typed: str
) -> None:
    assert hooks.unwrap_prompt(prompt) == typed
