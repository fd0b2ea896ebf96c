"""Units: messages that belong together, and messages that never reach a model."""

from __future__ import annotations

import pytest

from recollect.errors import InvalidInput
from recollect.types.records import Message, ToolCall
from recollect.window.state import Budget, WindowState, view_messages
from recollect.window.trim import plan_trim
from tests.builders.sessions import number

FRESH = WindowState("s1")


def test_parallel_calls_in_records_of_their_own_stay_one_turn() -> None:
    session = number(
        [
            Message("user", "run both"),
            Message("assistant", "I will."),
            Message("assistant", "", (ToolCall("a", "Bash"),)),
            Message("assistant", "", (ToolCall("b", "Bash"),)),
            Message("tool", "one", call_id="a"),
            Message("tool", "two", call_id="b"),
        ]
    )
    assert [m.role for m in view_messages(FRESH, session)] == [
        "user",
        "assistant",
        "assistant",
        "assistant",
        "tool",
        "tool",
    ]


def test_calls_without_results_and_results_without_calls_never_reach_the_model() -> None:
    session = number(
        [
            Message("user", "go"),
            Message("assistant", "I try.", (ToolCall("a", "Bash"), ToolCall("b", "Bash"))),
            Message("tool", "one", call_id="a"),
            Message("tool", "whose?", call_id="z"),
            Message("assistant", ({"type": "reasoning", "text": "hm"},), (ToolCall("c", "Bash"),)),
        ]
    )
    prompt = view_messages(FRESH, session)
    assert [(m.role, len(m.calls)) for m in prompt] == [("user", 0), ("assistant", 1), ("tool", 0)]


def test_a_duplicate_call_id_is_refused_by_name() -> None:
    twice = Message("assistant", "", (ToolCall("again", "Bash"),))
    with pytest.raises(InvalidInput, match="again"):
        view_messages(FRESH, number([twice, Message("tool", "", call_id="again"), twice]))


def test_a_call_that_still_waits_for_its_result_outlives_even_the_smallest_window() -> None:
    task = Message("user", "Build the whole project, and tell me what is slow about it.")
    waiting = Message("assistant", "", (ToolCall("slow", "Bash"),))
    session = number([task, Message("assistant", "work " * 50), waiting])
    state = plan_trim(FRESH, session, Budget(0, 0)).state
    session = number([*(n.message for n in session), Message("tool", "built", call_id="slow")])
    assert [m.role for m in view_messages(state, session)] == [
        "system",
        "user",
        "assistant",
        "tool",
    ]
