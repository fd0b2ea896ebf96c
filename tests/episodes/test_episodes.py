"""Episodes: kept as they were given, read out of conversations, found, shown, replayed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect.types.records import Message, ToolCall
from tests.builders.records import example
from tests.conftest import Clock

Mem = recollect.Recollect

GIVEN: dict[str, Any] = example("episode.json")


def say(mem: Mem, session: str) -> None:
    """A small task: a failing test, a fix, a passing test."""
    shell = '{"command": "pytest tests/test_login.py"}'
    edit = '{"file_path": "src/login.py", "old_string": "a", "new_string": "b"}'
    failed = "FAILED tests/test_login.py::test_it - TypeError: login() missing 1 argument: 'user'"
    for message in (
        Message("user", "Please fix the login test that fails with a TypeError in src/login.py"),
        Message("assistant", "I run it.", (ToolCall("c1", "Bash", shell),)),
        Message("tool", failed, call_id="c1", is_error=True),
        Message("assistant", "I pass the user.", (ToolCall("c2", "Edit", edit),)),
        Message("tool", "The file src/login.py has been updated.", call_id="c2"),
        Message("assistant", "Again.", (ToolCall("c3", "Bash", shell),)),
        Message("tool", "1 passed in 0.02s", call_id="c3"),
    ):
        mem.record(session, message)


def test_an_episode_comes_back_exactly_as_it_was_given(mem: Mem) -> None:
    kept = mem.episodes.record(episode=GIVEN)
    assert kept.action == "created"
    assert mem.episodes.show(kept.id).episode == GIVEN
    assert mem.episodes.show("ep-2026-01-06-001").id == kept.id
    assert mem.episodes.show(kept.id[:6]).label == "user"
    shown = mem.show(kept.address).episode
    assert shown is not None
    assert (shown.goal, shown.outcome) == ("Implement POST /api/todos endpoint", "success")


def test_the_same_episode_again_changes_nothing_and_another_one_is_refused(mem: Mem) -> None:
    mem.episodes.record(episode=GIVEN)
    assert mem.episodes.record(episode=GIVEN).action == "unchanged"
    with pytest.raises(recollect.Conflict, match="another episode with this id"):
        mem.episodes.record(episode={**GIVEN, "outcome": "failure"})
    assert [item.outcome for item in mem.episodes.list()] == ["success"]


def test_an_episode_told_in_a_few_words_has_its_fields(mem: Mem) -> None:
    kept = mem.episodes.record(
        "Add login",
        "partial",
        files=["src/login.py"],
        errors=["TypeError: no len() => pass a list", "it hangs"],
        task="feature-x",
    )
    told = mem.episodes.show(kept.id).episode
    assert told["context"] == {"goal": "Add login", "files_involved": ["src/login.py"]}
    assert told["errors_encountered"] == [
        {"type": "TypeError", "message": "no len()", "resolution": "pass a list"},
        {"type": "error", "message": "it hangs"},
    ]
    assert (told["outcome"], told["task_id"]) == ("partial", "feature-x")


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"outcome": "great", "context": {"goal": "x"}}, "great"),
        ({"outcome": "success"}, "the episode is empty"),
        ({"context": {"goal": 3}}, "expected a text"),
    ],
)
def test_what_is_no_episode_is_refused_with_the_field(mem: Mem, given: Any, problem: str) -> None:
    with pytest.raises(recollect.InvalidInput, match=problem):
        mem.episodes.record(episode=given)
    assert mem.episodes.list() == ()


def test_secrets_of_an_episode_never_reach_the_store(mem: Mem) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    kept = mem.episodes.record(f"Push with {token}", "failure")
    assert kept.redacted
    assert token not in str(mem.episodes.show(kept.id))


def test_an_episode_is_found_by_goal_file_and_error(mem: Mem) -> None:
    kept = mem.episodes.record(episode=GIVEN)
    for query in ("todos endpoint", "todos.test.ts", "return type annotation"):
        (hit,) = mem.recall(query)
        assert (hit.id, hit.kind) == (kept.id, "episode")
        title, _, inside = hit.text.partition("; in it: ")
        assert title == "Implement POST /api/todos endpoint (success)"
        assert inside == ("Missing return type annotation" if "return" in query else "")
    assert mem.recall("todos", kind=["fact"]) == ()


def test_episodes_are_read_out_of_conversations_once(mem: Mem) -> None:
    say(mem, "s-1")
    assert mem.episodes.build()[:3] == (1, 1, 1)
    (shown,) = mem.episodes.list()
    assert shown.goal.startswith("Please fix the login test")
    assert shown.episode["artifacts_produced"] == ["src/login.py"]
    (error,) = shown.episode["errors_encountered"]
    assert error["resolution"]
    assert shown.episode["sources"] == ["memory://session/s-1/messages/1-7"]
    assert mem.episodes.build() == (0, 0, 0, 0)
    assert mem.episodes.build("s-1") == (1, 1, 0, 0)


def test_an_episode_is_as_trusted_as_the_least_trusted_message(mem: Mem) -> None:
    say(mem, "s-1")
    mem.episodes.build()
    (shown,) = mem.episodes.list()
    assert (shown.origin, shown.label) == ("system", "tool")


def test_what_an_agent_tells_of_tool_output_is_trusted_as_the_tool(
    project: Path, environment: dict[str, str], clock: Clock
) -> None:
    with recollect.open(project, clock=clock, environment=environment, origin="agent") as memory:
        say(memory, "s-1")
        told = memory.episodes.record("Fix it", sources=["memory://session/s-1/messages/1-3"])
        assert memory.episodes.show(told.id).label == "tool"
        again = memory.episodes.record("Tell of it", sources=[told.address])
        assert memory.episodes.show(again.id).label == "tool"
        assert memory.episodes.show(memory.episodes.record("Fix that").id).label == "agent"


def test_a_conversation_that_went_on_is_read_again(mem: Mem) -> None:
    say(mem, "s-1")
    mem.episodes.build()
    (before,) = mem.episodes.list()
    mem.record("s-1", Message("user", "still fails"))
    assert mem.episodes.build() == (1, 1, 0, 1)
    (after,) = mem.episodes.list()
    assert (before.outcome, after.outcome) == ("success", "failure")
    assert before.id == after.id


def test_a_replay_shows_the_present_state_of_each_file(mem: Mem, project: Path) -> None:
    (project / "src" / "routes").mkdir(parents=True)
    (project / "src" / "routes" / "todos.ts").write_text("x")
    kept = mem.episodes.record(episode=GIVEN)
    replay = mem.episodes.replay(kept.id)
    assert [step.action for step in replay.steps][:2] == ["read_file", "write_file"]
    assert {(file.path, file.state, file.touched) for file in replay.files} == {
        ("src/routes/todos.ts", "changed since", "changed"),
        ("src/db/todos.ts", "gone", "read"),
        ("tests/todos.test.ts", "gone", "changed"),
    }


def test_learnings_are_the_errors_of_each_day_with_what_resolved_them(
    mem: Mem, clock: Clock
) -> None:
    assert mem.episodes.learnings() == ()
    mem.episodes.record(episode=GIVEN)
    mem.episodes.record("Add login", errors=["TypeError: no len() => pass a list", "it hangs"])
    today, first = mem.episodes.learnings()
    assert [(one.message, one.resolution) for one in today.learnings] == [
        ("no len()", "pass a list"),
        ("it hangs", ""),
    ]
    assert first.day == "2026-01-06"
    assert mem.episodes.show(first.learnings[0].episode).episode == GIVEN
    assert mem.episodes.learnings(limit=1) == (today,)
    assert mem.episodes.learnings(since=today.day) == (today,)
    with pytest.raises(recollect.InvalidInput):
        mem.episodes.learnings(since="the day of the fox")


def test_a_replay_never_looks_outside_the_project(mem: Mem, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("x")
    kept = mem.episodes.record("Look", files=["../secret.txt", str(tmp_path / "secret.txt")])
    assert {file.state for file in mem.episodes.replay(kept.id).files} == {"gone"}


def test_no_such_episode_is_said_with_what_to_do(mem: Mem) -> None:
    mem.episodes.record("Add login")
    with pytest.raises(recollect.NotFound, match="no such episode"):
        mem.episodes.show("e-000000000000")
    with pytest.raises(recollect.NotFound, match="no such session"):
        mem.episodes.build("s-none")


def test_a_pattern_given_as_json_is_kept_whole_in_its_detail(mem: Mem) -> None:
    pattern = {
        "id": "sem-001",
        "pattern": "Express route handlers require explicit return types in strict mode",
        "category": "typescript",
        "conditions": ["Using TypeScript strict mode", "Writing Express route handlers"],
        "correct_approach": "Add `: void` to handler signature: `(req, res): void =>`",
        "incorrect_approach": "Omitting return type annotation",
        "confidence": 0.95,
        "source_episodes": ["ep-2026-01-06-001", "ep-2026-01-05-012"],
        "usage_count": 8,
        "last_used": "2026-01-06T14:00:00Z",
        "links": [{"to": "sem-005", "relation": "related_to"}],
    }
    learned = mem.learn(str(pattern["pattern"]), kind="pattern", confidence=0.95, detail=pattern)
    held = mem.show(learned.id).memory
    assert held is not None
    assert held.detail == pattern
    assert mem.recall("omitting annotation")[0].id == learned.id


def test_before_a_task_the_attempt_that_succeeded_comes_first(mem: recollect.Recollect) -> None:
    for outcome in ("failure", "success", "partial"):
        mem.episodes.record("Rotate the signing keys of the gateway", outcome)
    found = mem.tasks.before("rotate the signing keys of the gateway").patterns
    outcomes = [mem.episodes.show(hit.id).outcome for hit in found]
    assert outcomes == ["success", "partial", "failure"]
