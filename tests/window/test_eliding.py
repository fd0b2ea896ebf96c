"""Eliding: old messages become one-line stubs with their address."""

from __future__ import annotations

import json
from typing import Any

from recollect.providers.formats import from_wire, to_wire
from recollect.types.records import Message
from recollect.window.state import Budget, WindowState, view_messages
from recollect.window.trim import plan_trim
from recollect.window.units import elide_units, group_units
from tests.builders.sessions import call, number, result, stub

REASONING: Any = ({"type": "reasoning", "text": "because " * 50}, {"type": "text", "text": "Done."})


def shown(messages: list[Message], horizon: int) -> list[Message]:
    units = elide_units(group_units(number(messages)), horizon, "s1")
    return [member.message for unit in units for member in unit.members]


def test_reasoning_of_an_old_turn_becomes_a_stub() -> None:
    messages = [Message("assistant", REASONING), Message("user", "next")]
    first, _ = shown(messages, horizon=2)
    assert first.content == (
        {"type": "text", "text": stub("reasoning", 1)},
        {"type": "text", "text": "Done."},
    )


def test_reasoning_of_the_current_turn_stays() -> None:
    messages = [Message("user", "go"), Message("assistant", REASONING)]
    assert shown(messages, horizon=2) == messages


def test_a_read_of_a_file_that_was_written_later_becomes_a_stub() -> None:
    messages = [
        call("Read", "a", file_path="src/a.py"),
        result("a", "old text " * 20),
        call("Edit", "b", file_path="src/a.py", old_string="x", new_string="y"),
        result("b", "ok"),
    ]
    assert shown(messages, 4)[1].content == stub("src/a.py was written later", 2)
    assert shown(messages[:2], 2)[1] == messages[1]


def test_a_read_stays_when_the_later_write_failed_or_was_of_another_file() -> None:
    read = [call("Read", "a", file_path="src/a.py"), result("a", "old text " * 20)]
    failed = [call("Edit", "b", file_path="src/a.py"), result("b", "no match", failed=True)]
    other = [call("Edit", "b", file_path="src/b.py"), result("b", "ok")]
    assert shown(read + failed, 4)[1] == read[1]
    assert shown(read + other, 4)[1] == read[1]


def test_a_failed_call_that_was_retried_becomes_a_stub() -> None:
    messages = [
        call("Bash", "a", command="pytest -q tests/x.py"),
        result("a", "E   assert 1 == 2\n" * 10, failed=True),
        call("Bash", "b", command="pytest -q"),
        result("b", "3 passed"),
    ]
    assert shown(messages, 4)[1].content == stub("failed, and worked later", 2)
    assert shown(messages[:2], 2)[1] == messages[1]


def test_oversized_output_becomes_a_stub_that_says_how_much_it_was() -> None:
    messages = [call("Bash", "a", command="cat log"), result("a", "x" * 5_000)]
    assert shown(messages, 2)[1].content == stub("5000 characters of output", 2)
    assert shown(messages, 1)[1] == messages[1]


def test_an_acknowledging_turn_becomes_a_stub_only_where_that_is_shorter() -> None:
    long = Message(
        "assistant", "Understood, I will keep that in mind for everything that follows, thank you."
    )
    brief = Message("assistant", "Sure!")
    question = Message(
        "assistant", "Understood. Shall I also drop the table that nobody reads any more?"
    )
    assert [m.content for m in shown([long, Message("user", "."), brief], 3)] == [
        stub("acknowledged", 1),
        ".",
        "Sure!",
    ]
    assert shown([question], 1) == [question]


def test_user_messages_are_never_elided() -> None:
    messages = [
        Message("user", "Understood, thank you very much indeed. " * 200),
        Message("user", "x"),
    ]
    assert shown(messages, 2) == messages


def test_a_turn_that_goes_on_behind_the_horizon_is_old_only_up_to_it() -> None:
    agreed = Message(
        "assistant", "Understood, I will keep that in mind for everything that follows."
    )
    assert [m.content for m in shown([agreed, agreed], 1)] == [
        stub("acknowledged", 1),
        agreed.content,
    ]


def test_messages_behind_the_horizon_have_no_influence() -> None:
    messages = [
        call("Read", "a", file_path="src/a.py"),
        result("a", "old text " * 20),
        Message("assistant", REASONING),
        Message("user", "go on"),
        call("Write", "b", file_path="src/a.py"),
        result("b", "ok"),
    ]
    assert shown(messages, 3) == messages


def test_items_that_came_of_elided_reasoning_lose_the_ids_that_tie_them_to_it() -> None:
    items = [
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "w " * 90}],
        },
        {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "shell", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": "done"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "next"}]},
    ]
    sent = to_wire(shown(from_wire(items), 4), "responses")
    assert [item["type"] for item in sent] == [
        "message",
        "function_call",
        "function_call_output",
        "message",
    ]
    assert "fc_1" not in json.dumps(sent)


def test_elision_alone_is_enough_when_it_makes_the_prompt_fit() -> None:
    messages = [Message("user", "Find the reason for the slow start of the server, please.")]
    for n in range(3):
        messages += [call("Bash", f"c{n}", command="cat log"), result(f"c{n}", "x" * 6_000)]
    messages += [call("Bash", "last", command="ls"), result("last", "short")]
    session = number(messages)
    done = plan_trim(WindowState("s1"), session, Budget(2_000, 2_000))
    assert done.changed and done.fits
    assert done.dropped == ()
    assert done.elided == (3, 5, 7)
    assert done.state.window_from == 1
    assert len(view_messages(done.state, session)) == len(session)


def test_the_newest_messages_are_not_elided() -> None:
    old = [call("Bash", "a", command="cat log"), result("a", "x" * 8_000)]
    new = [call("Bash", "b", command="cat log"), result("b", "y" * 5_000)]
    session = number([Message("user", "go"), *old, *new])
    done = plan_trim(WindowState("s1"), session, Budget(4_500, 4_500))
    assert done.elided == (3,)
    assert view_messages(done.state, session)[-1] == new[-1]
