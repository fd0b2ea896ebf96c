"""The checkpoint before a trim, and the recovery note after an aggressive one."""

from __future__ import annotations

import re

from recollect.providers.formats import from_wire
from recollect.types.records import Message
from recollect.window.summary import recent_calls, render_checkpoint, render_recovery
from recollect.window.thread_facts import Fact, Facts, extract_facts, merge_facts
from tests.builders.sessions import call, number, ran

FACTS = merge_facts(
    extract_facts(
        number(
            [
                Message("user", "the very first message of the session"),
                *ran("Edit", "a", "ok", file_path="src/a.py"),
                *ran("Bash", "b", "[main abc1234] Fix", command="git commit -m Fix"),
                *ran(
                    "TodoWrite", "c", "ok", todos=[{"content": "Test it", "status": "in_progress"}]
                ),
            ]
        )
    ),
    Facts(task=(Fact(9, 0, "", "Make it fast"),)),
)


def test_recovery_is_neutral_and_says_where_to_find_more() -> None:
    text = render_recovery(FACTS, [f"{n:07x} Commit" for n in range(9)], [" M src/a.py"])
    assert "Older conversation history has been summarized. Continue." in text
    assert "Current task: Make it fast" in text
    assert "- [in progress] Test it" in text
    assert text.count(" Commit") == 5 and "- M src/a.py" in text
    order = [
        text.index(word)
        for word in ("memories already", "recall_sessions", "session_progress", "git log")
    ]
    assert order == sorted(order)
    assert "the very first message" not in text
    assert not re.search(r"handoff|hand-off|recovered|lost|what to do next", text, re.IGNORECASE)
    assert from_wire([{"role": "user", "content": text}]) == []


def test_recovery_without_git_uses_what_the_session_has_seen() -> None:
    assert "- abc1234 Fix" in render_recovery(FACTS)


def test_a_checkpoint_says_where_the_work_stands() -> None:
    text = render_checkpoint(
        FACTS, ["Edit src/a.py", "Bash git commit"], 12, status=[" M src/b.py"]
    )
    assert text == (
        "# Session progress\n\nCurrent task: Make it fast\n\nIteration: 12\n\n"
        "## Todo\n- [in progress] Test it\n\n"
        "## Recent tool calls\n- Edit src/a.py\n- Bash git commit\n\n"
        "## Files touched\n- src/a.py\n\n"
        "## Git\n- abc1234 Fix\n- M src/b.py\n"
    )


def test_recent_calls_name_their_target_and_their_failure() -> None:
    messages = [
        *ran("Read", "a", "x", file_path="a.py"),
        call("Bash", "b", command="pytest -q tests"),
        Message("tool", "1 failed", call_id="b", is_error=True),
    ]
    assert recent_calls(number(messages)) == ["Read a.py", "Bash pytest -q (failed)"]
    assert recent_calls(number(messages * 6))[0] == "Read a.py"
    assert len(recent_calls(number(messages * 6))) == 10
