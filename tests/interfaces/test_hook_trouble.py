"""Hooks in trouble, through real processes: no room, no store, a broken one, a slow one."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

import recollect
from recollect.agents import steps_hooks
from recollect.agents import steps_hooks as agents_steps_hooks
from recollect.agents.events import Event
from recollect.agents.operations_events import answer_event
from recollect.project import private_folder
from recollect.storage import sql as storage_sql
from recollect.storage.sqlite_files import translate_error
from tests.conftest import PATIENCE
from tests.interfaces.conftest import HOOK

EVENTS = ("UserPromptSubmit", "SessionStart", "Stop", "PreCompact", "SessionEnd")
RULE = "All migrations must be reversible."
NO_ROOM = f"""
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
{HOOK}
"""
"""A hook that can write nothing to any file, as on a disk without room."""

Fire = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def fire(project: Path, variables: dict[str, str]) -> Fire:
    def call(event: str, hook: str = HOOK, **more: Any) -> subprocess.CompletedProcess[str]:
        payload = {
            "session_id": "s1",
            "transcript_path": str(project / "none.jsonl"),
            "cwd": str(project),
            "hook_event_name": event,
            "prompt_id": os.urandom(4).hex(),
            "prompt": RULE,
            **more,
        }
        done = subprocess.run(
            [sys.executable, "-c", hook],
            cwd=project, env=variables, input=json.dumps(payload),
            capture_output=True, encoding="utf-8", timeout=PATIENCE,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")
        # Before a compaction Claude Code takes plain words, and nothing else, for an answer.
        plain = done.stdout.startswith("Keep in the summary: ") and event == "PreCompact"
        assert not done.stdout or plain or isinstance(json.loads(done.stdout), dict)
        return done

    return call


def outcomes(project: Path, variables: dict[str, str]) -> list[str]:
    """Return how hooks went; the process that catches up beside them ends when it likes."""
    home = variables["RECOLLECT_HOME"]
    places = (private_folder(home, str(project)), home)
    return [one.outcome for one in steps_hooks.read_runs(places) if one.event != "catch_up"]


@pytest.mark.parametrize("event", EVENTS)
def test_without_room_for_anything_a_hook_ends_well_and_loses_nothing(
    fire: Fire, project: Path, variables: dict[str, str], event: str
) -> None:
    with recollect.open(project, environment=variables, origin="user") as memory:
        memory.learn("The build needs Redis on port 6380", kind="fact")
    fire(event, NO_ROOM)
    fire("UserPromptSubmit")
    with recollect.open(project, environment=variables, origin="user") as memory:
        assert {held.text for held in memory.list()} == {"The build needs Redis on port 6380", RULE}
        assert memory.store.doctor().ok


NOTE = "The build needs Redis on port 6380"


@pytest.mark.parametrize("event", EVENTS[:2])
def test_without_room_for_anything_what_is_known_is_still_told(
    fire: Fire, project: Path, variables: dict[str, str], event: str
) -> None:
    with recollect.open(project, environment=variables, origin="user") as memory:
        memory.learn(NOTE, kind="policy")
    assert NOTE in fire(event, NO_ROOM).stdout


@pytest.mark.parametrize("event", EVENTS[:2])
def test_while_others_keep_the_store_locked_a_briefing_is_given_and_doctor_tells(
    fire: Fire, project: Path, variables: dict[str, str], event: str
) -> None:
    with recollect.open(project, environment=variables, origin="user") as memory:
        memory.learn(NOTE, kind="policy")
    other = apsw.Connection(str(project / ".recollect" / "memory.db"))
    other.execute("BEGIN IMMEDIATE")
    assert NOTE in fire(event).stdout
    other.close()
    assert outcomes(project, variables)[0] == "store_busy"
    with recollect.open(project, environment=variables) as memory:
        (check,) = (check for check in memory.store.doctor().checks if "claude-code" in check.name)
        assert "store_busy" in check.detail


def test_a_busy_user_store_does_not_cost_what_is_said_about_the_project(
    fire: Fire, project: Path, variables: dict[str, str]
) -> None:
    with recollect.open(project, environment=variables, origin="user") as memory:
        memory.learn(NOTE, kind="policy")
        memory.learn("I work in Berlin", layer="user")
    other = apsw.Connection(str(Path(variables["RECOLLECT_HOME"]) / "user.db"))
    other.execute("BEGIN IMMEDIATE")
    fire("UserPromptSubmit", prompt="Always run make lint first. I prefer short answers.")
    other.close()
    with recollect.open(project, environment=variables) as memory:
        assert "make lint" in " ".join(one.text for one in memory.list())
    assert outcomes(project, variables)[0] == "store_busy"


def test_a_request_that_cannot_be_left_does_not_cost_the_briefing(
    fire: Fire, project: Path, variables: dict[str, str]
) -> None:
    with recollect.open(project, environment=variables, origin="user") as memory:
        memory.learn(NOTE, kind="policy")
    mine = Path(private_folder(variables["RECOLLECT_HOME"], str(project)))
    mine.mkdir(parents=True, exist_ok=True)
    (mine / "catch-up").write_text("a file where the folder should be")
    assert NOTE in fire("SessionStart").stdout
    assert fire("PreCompact").stdout.startswith("Keep in the summary: ")
    assert outcomes(project, variables) == ["EEXIST", "EEXIST"]


def test_a_request_that_cannot_be_left_is_told_by_doctor(
    fire: Fire, project: Path, variables: dict[str, str]
) -> None:
    with recollect.open(project, environment=variables) as memory:
        memory.agents.init()
    mine = Path(private_folder(variables["RECOLLECT_HOME"], str(project)))
    mine.mkdir(parents=True, exist_ok=True)
    (mine / "catch-up").write_text("a file where the folder should be")
    fire("Stop")
    assert outcomes(project, variables) == ["EEXIST"]
    with recollect.open(project, environment=variables) as memory:
        (check,) = (check for check in memory.store.doctor().checks if "claude-code" in check.name)
        assert not check.ok
        assert "1 of the last 1 hooks failed: EEXIST" in check.detail


def test_an_error_of_a_full_disk_says_so_whatever_sqlite_calls_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    store = str(tmp_path / "memory.db")
    assert not isinstance(translate_error(apsw.IOError("x"), store), recollect.StoreFull)
    real = os.statvfs(tmp_path)
    full = os.statvfs_result([*real[:4], 0, *real[5:]])
    monkeypatch.setattr(os, "statvfs", lambda _: full)
    assert isinstance(translate_error(apsw.IOError("x"), store), recollect.StoreFull)
    assert isinstance(translate_error(apsw.CantOpenError("x"), store), recollect.StoreFull)
    assert not isinstance(translate_error(apsw.CorruptError("x"), store), recollect.StoreFull)


def test_a_store_with_a_damaged_page_is_told_by_doctor(
    fire: Fire, project: Path, variables: dict[str, str]
) -> None:
    with recollect.open(project, environment=variables, origin="user") as memory:
        for number in range(50):
            memory.learn(f"Service number {number} listens on port {7000 + number}", kind="fact")
    database = project / ".recollect" / "memory.db"
    content = bytearray(database.read_bytes())
    for page in range(1, len(content) // 4096):
        content[page * 4096 : page * 4096 + 200] = b"\xff" * 200
    database.write_bytes(content)
    for event in EVENTS[:2]:
        assert fire(event).stdout == ""
    assert ["corrupt" in told.lower() for told in outcomes(project, variables)] == [True, True]
    with recollect.open(project, environment=variables) as memory:
        assert not memory.store.doctor().ok


@pytest.mark.parametrize("event", EVENTS)
def test_a_project_without_a_store_is_answered_too(
    fire: Fire, project: Path, variables: dict[str, str], event: str
) -> None:
    (project / ".recollect").mkdir()
    fire(event)
    assert outcomes(project, variables) == ["ok"]


def test_a_hook_that_never_gets_its_payload_gives_up_by_itself(
    project: Path, variables: dict[str, str]
) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "recollect", "hook"],
        cwd=project, env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as hook:  # fmt: skip
        assert hook.wait(timeout=PATIENCE) == 0
        assert hook.stdout
        assert hook.stdout.read() == b""
    assert outcomes(project, variables) == ["too_late"]


@pytest.mark.parametrize("more", [{"PYTHONIOENCODING": "latin-1"}, {"PYTHONIOENCODING": "ascii"}])
def test_the_answer_is_utf8_in_every_locale(
    fire: Fire, project: Path, variables: dict[str, str], more: dict[str, str]
) -> None:
    with recollect.open(project, environment=variables, origin="user") as memory:
        memory.learn("Prices are shown with “€” — never “EUR”", kind="policy")
    variables.update(more)
    done = fire("SessionStart")
    assert "“€” — never" in json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]


def test_bytes_that_are_no_text_do_not_cost_the_answer(
    fire: Fire, project: Path, variables: dict[str, str]
) -> None:
    with recollect.open(project, environment=variables, origin="user") as memory:
        memory.learn(RULE, kind="policy")
    payload = json.dumps({
        "session_id": "s1", "cwd": str(project), "hook_event_name": "UserPromptSubmit",
        "prompt_id": "p", "prompt": "what about this:",
    })  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", HOOK],
        cwd=project, env=variables, capture_output=True, timeout=PATIENCE,
        input=payload.encode().replace(b"this:", b"this: \xff\xfe"),
    )  # fmt: skip
    assert RULE in json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]


@pytest.mark.parametrize("piece", ["A must be B. ", "`\"'«", "必须", "\n> "])
def test_a_prompt_of_many_megabytes_is_answered_without_reading_it_all(
    project: Path, variables: dict[str, str], piece: str
) -> None:
    with recollect.open(project, environment=variables, origin="user") as memory:
        memory.learn(RULE, kind="policy")
        heard = Event(
            "claude-code", "user_prompt", "UserPromptSubmit", "claude-code.s1",
            prompt=piece * (10_000_000 // len(piece)),
        )  # fmt: skip
        began = time.process_time()
        answer = answer_event(memory.context, heard)
        assert time.process_time() - began < 2
    assert RULE in answer.context
    assert answer.notice == ""


def test_a_directory_that_cannot_be_one_is_told_by_the_log(
    fire: Fire, project: Path, variables: dict[str, str]
) -> None:
    for cwd in ("a\0b", "\ud83d", str(project / "gone")):
        assert fire("Stop", cwd=cwd).stdout == ""
    assert outcomes(project, variables) == ["invalid_input"] * 3


def test_a_clock_that_was_set_back_does_not_silence_hooks(
    project: Path, variables: dict[str, str]
) -> None:
    now = [1_800_000_000_000_000]
    heard = Event("gemini", "user_prompt", "BeforeAgent", "gemini.s1", prompt="go on")
    with recollect.open(project, environment=variables, clock=lambda: now[0]) as memory:
        memory.agents.init()
        mark = agents_steps_hooks.event_mark(heard)
        space = memory.context.project_space

        def is_first(at: int) -> bool:
            return space.write(lambda tx: storage_sql.put_values(tx, {}, at, mark))

        assert is_first(now[0])
        assert not is_first(now[0] + 1_000_000)
        assert is_first(now[0] - 3_600_000_000)


def test_the_log_names_what_the_system_said() -> None:
    from recollect.interfaces import hooks

    assert hooks._error_name(OSError(errno.ENOSPC, "No space left", "/secret/path")) == "ENOSPC"
    assert hooks._error_name(recollect.StoreFull("full", where="/secret/path")) == "store_full"
    assert hooks._error_name(ValueError("secret words")) == "ValueError"
