"""The newest unit is never elided; if too long, it is cut in the middle."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.providers.formats import to_wire
from recollect.text.messages import NumberedMessage, plain_text
from recollect.text.tokens import PRIMING, TokenMeasure, count_chars, count_message, count_prompt
from recollect.types.records import Message, ToolCall
from recollect.window.state import (
    Budget,
    Limits,
    WindowState,
    proactive_budget,
    reactive_budget,
    state_from_json,
    state_to_json,
    validation_budget,
    view_messages,
)
from recollect.window.trim import TrimPlan, plan_trim
from recollect.window.units import (
    MOST_WAITING,
    Unit,
    elide_units,
    find_late_calls,
    group_units,
    repeat_calls,
)
from tests.builders.sessions import number, result, sessions, stub

FRESH = WindowState("s1")
TASK = Message("user", "Find the reason for the slow start of the server, please.")
targets = st.integers(0, 6_000)
budgets = st.builds(
    lambda target, more, limit, summary: Budget(
        target + more, target, limit=target + limit, summary=summary
    ),
    targets,
    st.sampled_from([0, 500]),
    st.sampled_from([0, 300, 2_000]),
    st.sampled_from([0, 100]),
)


def by_words(text: str) -> int:
    """Count words exactly."""
    return len(text.split())


measures = st.sampled_from([2.5, 4.1, by_words])


def call(*call_ids: str, name: str = "Bash", **arguments: Any) -> Message:
    calls = (ToolCall(call_id, name, json.dumps(arguments)) for call_id in call_ids)
    return Message("assistant", "", tuple(calls))


def lines(count: int, word: str = "line") -> str:
    return "".join(f"{word} {at} of the output\n" for at in range(count))


def newest(done: TrimPlan, session: Sequence[NumberedMessage]) -> Unit | None:
    """Return the last turn of the model, if it has results or nothing follows it; after a trim with
    the results of earlier calls that came after it."""
    late = find_late_calls(session) if done.changed else done.state.waiting
    units = group_units(session, repeat_calls(session, late))
    for unit in reversed(units):
        if unit.members[0].message.role == "assistant":
            asked = unit.members[-1].message.role == "tool"
            return unit if asked or unit is units[-1] else None
    return None


def messages_of(unit: Unit) -> list[Message]:
    return [member.message for member in unit.members]


def shows(prompt: Sequence[Message], wanted: Sequence[Message]) -> bool:
    """Check whether a prompt contains these messages in a row, byte for byte."""
    return any(
        list(prompt[at : at + len(wanted)]) == list(wanted)
        for at in range(len(prompt) - len(wanted) + 1)
    )


def always_kept(done: TrimPlan, session: Sequence[NumberedMessage], measure: TokenMeasure) -> int:
    """Count the tokens of everything that is kept beside the newest unit."""
    users = [n.message for n in session if n.message.role == "user"]
    shown = view_messages(done.state, session)
    kept = [m for m in shown if m.role == "system" or (m.role == "user" and m in users)]
    return PRIMING + sum(count_message(message, measure) for message in kept)


# ---------------------------------------------------------------- laws


@settings(deadline=None, max_examples=150)
@given(sessions(), budgets, measures)
def test_the_newest_unit_is_byte_identical_whenever_the_prompt_with_it_fits(
    session: list[NumberedMessage], budget: Budget, measure: TokenMeasure
) -> None:
    done = plan_trim(FRESH, session, budget, measure)
    unit = newest(done, session)
    if unit is None or shows(view_messages(done.state, session), messages_of(unit)):
        return
    whole = sum(count_message(message, measure) for message in messages_of(unit))
    assert always_kept(done, session, measure) + whole > max(budget.target, budget.limit)


@settings(deadline=None, max_examples=150)
@given(sessions(), budgets, measures)
def test_trimming_twice_changes_nothing_and_a_reopened_state_gives_the_same_bytes(
    session: list[NumberedMessage], budget: Budget, measure: TokenMeasure
) -> None:
    once = plan_trim(FRESH, session, budget, measure)
    twice = plan_trim(once.state, session, budget, measure)
    assert twice.state == once.state and not twice.changed
    reopened = state_from_json(json.loads(json.dumps(state_to_json(once.state))))
    assert reopened == once.state
    assert view_messages(reopened, session) == view_messages(once.state, session)
    assert count_prompt(view_messages(once.state, session), measure) == once.after


@settings(deadline=None, max_examples=150)
@given(sessions(), budgets)
def test_eliding_stops_as_soon_as_the_target_is_reached(
    session: list[NumberedMessage], budget: Budget
) -> None:
    done = plan_trim(FRESH, session, budget)
    if not done.changed or not done.state.elided_to:
        return
    earlier = [n.seq for n in session if n.seq < done.state.elided_to]
    with_one_less = done.state._replace(elided_to=max(earlier, default=0))
    assert count_prompt(view_messages(with_one_less, session)) > budget.target or view_messages(
        with_one_less, session
    ) == view_messages(done.state, session)


@settings(deadline=None, max_examples=150)
@given(sessions(), budgets, measures)
def test_a_cut_result_keeps_head_tail_address_call_id_and_error_flag(
    session: list[NumberedMessage], budget: Budget, measure: TokenMeasure
) -> None:
    done = plan_trim(FRESH, session, budget, measure)
    by_call = {n.message.call_id: n for n in session if n.message.role == "tool"}
    cuts = dict(done.state.cuts)
    shown = {m.call_id: m for m in view_messages(done.state, session) if m.role == "tool"}
    assert set(cuts) <= {n.seq for n in session}
    for call_id, message in shown.items():
        seq, whole = by_call[call_id]
        assert (message.call_id, message.is_error) == (whole.call_id, whole.is_error)
        if cuts.get(seq) and seq > done.state.elided_to:
            before, after = plain_text(message).split(f"memory://session/s1/messages/{seq}-{seq}")
            head, tail = before.rpartition("[")[0], after.partition("]")[2]
            assert head.strip() and tail.strip()
            assert plain_text(whole).startswith(head.rstrip("\n"))
            assert plain_text(whole).endswith(tail.lstrip("\n"))


@settings(deadline=None, max_examples=100)
@given(sessions())
def test_no_refusal_shows_more_of_a_result_than_the_one_before(
    session: list[NumberedMessage],
) -> None:
    rejected = count_prompt(view_messages(FRESH, session))
    state = FRESH
    for attempt in (1, 2, 3):
        before = {
            m.call_id: count_chars(m) for m in view_messages(state, session) if m.role == "tool"
        }
        state = plan_trim(
            state, session, reactive_budget(Limits(context=100_000), attempt, rejected)
        ).state
        after = {
            m.call_id: count_chars(m) for m in view_messages(state, session) if m.role == "tool"
        }
        # One stub may be a letter longer than another.
        assert all(length <= max(before[call_id], 100) for call_id, length in after.items())


# ---------------------------------------------------------------- examples


def test_a_result_above_a_quarter_of_the_window_is_shown_whole() -> None:
    limits = Limits(context=10_000)
    old = [m for n in range(6) for m in (call(f"c{n}"), result(f"c{n}", lines(200)))]
    asked = [call("new", command="cat log"), result("new", lines(400))]
    session = number([TASK, *old, *asked])
    done = plan_trim(FRESH, session, proactive_budget(limits))
    assert done.changed
    assert view_messages(done.state, session)[-2:] == asked


def test_a_result_above_the_target_is_whole_as_long_as_the_model_takes_it() -> None:
    limits = Limits(context=10_000)
    asked = [call("new", command="cat log"), result("new", "x" * 22_000)]
    session = number([TASK, call("a"), result("a", lines(400)), *asked])
    done = plan_trim(FRESH, session, proactive_budget(limits))
    assert done.dropped == ((2, 3),) and limits.context * 0.75 < done.after <= limits.effective
    assert view_messages(done.state, session)[-2:] == asked
    assert not plan_trim(done.state, session, validation_budget(limits)).changed


def test_a_result_that_is_longer_than_the_window_is_cut_in_its_middle() -> None:
    text = lines(4_000)
    session = number([TASK, call("new", command="cat log"), result("new", text, failed=True)])
    done = plan_trim(FRESH, session, proactive_budget(Limits(context=10_000)))
    last = view_messages(done.state, session)[-1]
    assert done.fits and done.elided == (3,) and done.dropped == ()
    head, tail = str(last.content).split("memory://session/s1/messages/3-3")
    assert text.startswith(head[:5_000]) and text.endswith(tail[-5_000:])
    assert last.is_error and last.call_id == "new"
    assert done.after > 0.9 * done.target


def test_a_big_system_prompt_leaves_the_newest_result_a_part_of_the_rest() -> None:
    system = Message("system", "You are careful. " * 1_000)
    session = number([system, TASK, call("new"), result("new", lines(4_000))])
    done = plan_trim(FRESH, session, proactive_budget(Limits(context=10_000)))
    prompt = view_messages(done.state, session)
    assert prompt[-1].call_id == "new" and len(str(prompt[-1].content)) > 1_500
    assert done.target < done.after < 10_000
    assert (
        plan_trim(done.state, session, proactive_budget(Limits(context=10_000))).state == done.state
    )


def test_results_of_parallel_calls_share_the_room_and_the_short_ones_stay_whole() -> None:
    texts = [lines(4_000, "first"), "three files\n", lines(3_000, "third"), lines(50, "fourth")]
    ids = [f"p{at}" for at in range(len(texts))]
    session = number([TASK, call(*ids), *map(result, ids, texts)])
    done = plan_trim(FRESH, session, proactive_budget(Limits(context=10_000)))
    shown = [str(message.content) for message in view_messages(done.state, session)[-4:]]
    assert shown[1] == texts[1] and shown[3] == texts[3]
    assert done.elided == (3, 5) and done.fits
    assert abs(len(shown[0]) - len(shown[2])) < 50 and len(shown[0]) > 4_000
    for text, seq in ((shown[0], 3), (shown[2], 5)):
        assert f"memory://session/s1/messages/{seq}-{seq}" in text


def test_blocks_are_cut_in_their_middle_and_what_is_no_text_stays_whole_or_goes() -> None:
    image = {"type": "image", "url": "https://example.org/a.png"}
    blocks: Any = (
        {"type": "text", "text": lines(200, "head")},
        image,
        {"type": "text", "text": lines(3_000, "middle")},
        {"type": "opaque", "as": "anthropic", "block": {"type": "x", "text": lines(3_000)}},
        image,
        {"type": "text", "text": lines(200, "tail"), "rest": {"anthropic": {"a": 1}}},
    )
    session = number([TASK, call("new"), result("new", blocks)])
    done = plan_trim(FRESH, session, proactive_budget(Limits(context=10_000)))
    content: Any = view_messages(done.state, session)[-1].content
    assert done.fits
    assert content[:2] == blocks[:2] and content[-2:] == blocks[-2:]
    assert sum("memory://session/s1/messages/3-3" in b.get("text", "") for b in content) == 1
    wire = to_wire(view_messages(done.state, session), "anthropic")
    assert json.dumps(wire).count("memory://session/s1/messages/3-3") == 1


def test_one_opaque_block_is_cut_as_the_text_it_holds() -> None:
    blocks: Any = ({"type": "opaque", "as": "x", "block": {"stdout": lines(4_000)}},)
    session = number([TASK, call("new"), result("new", blocks)])
    done = plan_trim(FRESH, session, proactive_budget(Limits(context=10_000)))
    text = plain_text(view_messages(done.state, session)[-1])
    assert text.startswith("line 0 of") and text.endswith("line 3999 of the output\n")
    assert "memory://session/s1/messages/3-3" in text and done.fits


def test_a_request_typed_while_a_call_runs_elides_nothing() -> None:
    asked = [call("new", command="cat log"), result("new", lines(400))]
    more = [Message("user", "Look at the timestamps, and at the names of the hosts, too.")]
    old = [m for n in range(6) for m in (call(f"c{n}"), result(f"c{n}", lines(200)))]
    session = number([TASK, *old, *asked, *more, Message("user", "please")])
    done = plan_trim(FRESH, session, proactive_budget(Limits(context=10_000)))
    assert done.changed and shows(view_messages(done.state, session), asked)


def test_what_was_cut_stays_cut_until_it_is_old_and_then_becomes_a_stub() -> None:
    limits = Limits(context=10_000)
    messages = [TASK, call("new"), result("new", lines(4_000))]
    state = plan_trim(FRESH, number(messages), proactive_budget(limits)).state
    cut = view_messages(state, number(messages))[-1]
    messages += [call("next"), result("next", lines(20))]
    assert view_messages(state, number(messages))[-3] == cut
    messages += [call("last"), result("last", lines(300))]
    done = plan_trim(state, number(messages), proactive_budget(limits))
    assert done.changed and done.dropped == ()
    assert "characters of output: memory://" in str(
        view_messages(done.state, number(messages))[2].content
    )
    assert view_messages(done.state, number(messages))[-2:] == messages[-2:]


def test_only_as_much_as_needed_is_elided_and_the_oldest_first() -> None:
    messages = [TASK]
    for n in range(6):
        messages += [call(f"c{n}", command="cat log"), result(f"c{n}", "x" * 6_000)]
    session = number(messages)
    done = plan_trim(FRESH, session, Budget(12_000, 12_000))
    assert done.elided == (3, 5)
    assert view_messages(done.state, session)[-8:] == messages[-8:]


def test_what_is_elided_is_shown_again_where_dropping_made_room_for_it() -> None:
    messages = [Message("assistant", "words " * 3_000), TASK]
    for n in range(4):
        messages += [call(f"c{n}", command="cat log"), result(f"c{n}", "x" * 5_000)]
    session = number(messages)
    done = plan_trim(FRESH, session, Budget(7_000, 7_000))
    assert done.dropped == ((1, 1),)
    assert view_messages(done.state, session)[-6:] == messages[-6:]
    units = elide_units(group_units(session), done.state.elided_to, "s1")
    assert (
        sum("characters of output" in str(m.message.content) for u in units for m in u.members) == 1
    )


@pytest.mark.parametrize("output", [0, 6_000, 8_000])
def test_the_validation_stage_trims_also_when_the_answer_takes_most_of_the_window(
    output: int,
) -> None:
    limits = Limits(context=10_000, output=output)
    messages = [TASK, *(Message("assistant", f"answer {n} " * 20) for n in range(60))]
    turns = [m for pair in zip(messages, [TASK] * 61, strict=True) for m in pair]
    done = plan_trim(FRESH, number(turns), validation_budget(limits))
    assert done.after <= limits.effective


def test_reasoning_that_leaves_no_room_goes_before_the_result_does() -> None:
    thought: Any = ({"type": "reasoning", "text": "because " * 4_000},)
    asked = [Message("assistant", thought), call("new"), result("new", "three files")]
    session = number([TASK, *asked])
    done = plan_trim(FRESH, session, proactive_budget(Limits(context=10_000)))
    assert view_messages(done.state, session) == [
        TASK,
        Message("assistant", ({"type": "text", "text": stub("reasoning", 2)},)),
        *asked[1:],
    ]
    assert not plan_trim(done.state, session, proactive_budget(Limits(context=10_000))).changed


def test_texts_in_the_arguments_of_a_call_are_cut_where_the_call_alone_is_too_long() -> None:
    asked = [call("new", name="Write", path="a.txt", content=lines(4_000)), result("new", "ok")]
    session = number([TASK, *asked])
    done = plan_trim(FRESH, session, proactive_budget(Limits(context=10_000)))
    [shown] = view_messages(done.state, session)[-2].calls
    arguments = json.loads(shown.arguments)
    assert done.fits and done.dropped == () and done.after > 0.9 * done.target
    assert view_messages(done.state, session)[-1] == asked[-1]
    assert (shown.id, shown.name, arguments["path"]) == ("new", "Write", "a.txt")
    head, tail = arguments["content"].split("memory://session/s1/messages/2-2")
    assert lines(4_000).startswith(head[:1_000]) and lines(4_000).endswith(tail[-1_000:])


def test_calls_with_too_many_short_arguments_leave_with_their_results() -> None:
    asked = [call("new", paths=[f"src/{n}.py" for n in range(4_000)]), result("new", "ok")]
    session = number([TASK, *asked])
    done = plan_trim(FRESH, session, proactive_budget(Limits(context=10_000)))
    assert done.fits and done.dropped == ((2, 3),)


def test_messages_that_came_after_it_are_left_out_before_the_newest_unit_is_cut() -> None:
    asked = [call("new", paths=[f"src/{n}.py" for n in range(1_000)]), result("new", "ok")]
    more = [Message("user", "one more " * 1_500), Message("user", "and another " * 20)]
    session = number([TASK, *asked, *more, Message("user", "What is in all these files, then?")])
    limits = Limits(context=10_000)
    done = plan_trim(FRESH, session, proactive_budget(limits))
    assert done.dropped == ((1, 1), (4, 4)) and done.state.skipped == (4,)
    shown = view_messages(done.state, session)
    assert shows(shown, [*asked, *(n.message for n in session[-2:])])
    assert not plan_trim(done.state, session, proactive_budget(limits)).changed
    said = [n.message for n in session]
    later = [*session, *number([*said, call("b"), result("b", lines(900))])[-2:]]
    then = plan_trim(done.state, later, proactive_budget(limits))
    assert then.changed and then.state.skipped == ()
    assert view_messages(then.state, later)[-2:] == [n.message for n in later[-2:]]


@settings(deadline=None, max_examples=150)
@given(sessions(), budgets, measures)
def test_the_newest_result_is_never_hidden_where_any_unit_fits(
    session: list[NumberedMessage], budget: Budget, measure: TokenMeasure
) -> None:
    """Trim after every message, as a program does that asks the model each time."""
    state = FRESH
    called: set[str] = set()
    for at, numbered in enumerate(session, 1):
        called |= {call.id for call in numbered.message.calls}
        done = plan_trim(state, session[:at], budget, measure)
        state = done.state
        shown = view_messages(state, session[:at])
        assert count_prompt(shown, measure) == done.after
        if numbered.message.role == "tool" and numbered.message.call_id in called:
            least = [m for m in shown if m.role != "assistant" and m.role != "tool"]
            room = max(budget.target, budget.limit) - count_prompt(least, measure)
            if room > 2_000 and len(called) <= MOST_WAITING:
                assert numbered.message.call_id in {m.call_id for m in shown}


def test_a_result_whose_call_left_the_window_comes_with_a_copy_of_its_call() -> None:
    limits = Limits(context=4_000)
    asked = Message("assistant", "I start both.", (ToolCall("slow", "Task"), ToolCall("a", "Bash")))
    said = [TASK, asked, result("a", "done")]
    state = FRESH
    for n in range(8):
        said += [call(f"c{n}"), result(f"c{n}", lines(60))]
        state = plan_trim(state, number(said), proactive_budget(limits)).state
    assert state.window_from > 3 and state.waiting == ((2, "slow"),)
    said.append(result("slow", "the answer of the slow one"))
    prompt = view_messages(state, number(said))
    copy = Message("assistant", "", (ToolCall("slow", "Task"),))
    assert prompt[-4:] == [said[-3], copy, said[-2], said[-1]]
    loaded = [n for n in number(said) if n.seq in state.kept_before or n.seq >= state.window_from]
    assert view_messages(state, loaded) == prompt
    said += [call("next"), result("next", lines(300))]
    later = plan_trim(state, number(said), proactive_budget(limits)).state
    assert later.waiting == () and view_messages(later, number(said))[-2:] == said[-2:]


def test_a_late_result_of_an_old_call_is_kept_with_the_newest_ones() -> None:
    limits = Limits(context=4_000)
    asked = call("slow", "a")
    old = [m for n in range(8) for m in (call(f"c{n}"), result(f"c{n}", lines(60)))]
    said = [
        TASK,
        asked,
        result("a", lines(60)),
        *old,
        call("b"),
        result("slow", "late"),
        result("b", "b"),
    ]
    done = plan_trim(FRESH, number(said), proactive_budget(limits))
    shown = view_messages(done.state, number(said))
    assert done.state.window_from > 2
    assert shown[-4:] == [call("b"), call("slow"), result("slow", "late"), result("b", "b")]
    assert not plan_trim(done.state, number(said), proactive_budget(limits)).changed
