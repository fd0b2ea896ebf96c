"""Trimming: what is always kept, what is dropped first, and that the rest stays findable."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.errors import InvalidInput, Overflow
from recollect.text.messages import NumberedMessage
from recollect.text.tokens import count_prompt
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
from tests.builders.sessions import number, sessions

FRESH = WindowState("s1")
budgets = st.integers(0, 6_000).map(lambda target: Budget(target, target))


def newest_user(session: Sequence[NumberedMessage]) -> Message | None:
    return next((n.message for n in reversed(session) if n.message.role == "user"), None)


def orphans(prompt: Sequence[Message]) -> set[str]:
    """Return call ids without their other half, or whose result does not follow its call."""
    open_calls: set[str] = set()
    wrong: set[str] = set()
    for message in prompt:
        if message.role == "tool":
            wrong |= set() if message.call_id in open_calls else {message.call_id}
            open_calls.discard(message.call_id)
        elif message.role != "assistant":
            wrong |= open_calls
        open_calls |= {call.id for call in message.calls}
    return wrong | open_calls


def seen(state: WindowState, session: Sequence[NumberedMessage]) -> set[int]:
    """Return the numbers of the messages that a prompt shows, whole or as a stub."""
    tagged = [NumberedMessage(n.seq, n.message._replace(model=str(n.seq))) for n in session]
    return {int(message.model) for message in view_messages(state, tagged) if message.model}


def repeated(state: WindowState, session: Sequence[NumberedMessage]) -> set[int]:
    """Return the numbers of messages all of whose calls a prompt shows, maybe as copies beside
    their late results."""
    called = {call.id for message in view_messages(state, session) for call in message.calls}
    return {n.seq for n in session if n.message.calls and {c.id for c in n.message.calls} <= called}


def trimmed(state: WindowState, session: Sequence[NumberedMessage], budget: Budget) -> TrimPlan:
    """Trim, and check the laws that hold for every trim."""
    done = plan_trim(state, session, budget)
    prompt = view_messages(done.state, session)
    assert count_prompt(prompt) == done.after
    assert orphans(prompt) == set()
    assert done.changed == (done.state != state)
    lost = seen(state, session) - seen(done.state, session)
    in_ranges = {seq for first, last in done.dropped for seq in range(first, last + 1)}
    assert lost - repeated(done.state, session) <= in_ranges
    assert seen(done.state, session).isdisjoint(in_ranges)
    assert seen(done.state, session) <= seen(state, session)
    return done


# ---------------------------------------------------------------- laws


@settings(deadline=None, max_examples=150)
@given(sessions(), budgets)
def test_a_trim_keeps_within_its_budget_or_keeps_only_what_is_always_kept(
    session: list[NumberedMessage], budget: Budget
) -> None:
    done = trimmed(FRESH, session, budget)
    if not done.fits and done.before > budget.trigger:
        shown = view_messages(done.state, session)
        spoken = [message for message in shown if message.role != "system"]
        assert all(message.role == "user" for message in spoken)
        assert len(spoken) <= 2
    if newest_user(session) is not None:
        assert newest_user(session) in view_messages(done.state, session)


@settings(deadline=None, max_examples=150)
@given(sessions(), budgets)
def test_trimming_twice_changes_nothing_the_second_time(
    session: list[NumberedMessage], budget: Budget
) -> None:
    once = trimmed(FRESH, session, budget)
    twice = trimmed(once.state, session, budget)
    assert not twice.changed
    assert twice.state == once.state


@settings(deadline=None, max_examples=150)
@given(sessions(), budgets)
def test_the_same_input_gives_the_same_bytes_also_after_closing_and_opening(
    session: list[NumberedMessage], budget: Budget
) -> None:
    one, other = (plan_trim(FRESH, session, budget) for _ in range(2))
    reopened = state_from_json(json.loads(json.dumps(state_to_json(one.state))))
    assert one == other
    assert reopened == one.state
    assert view_messages(reopened, session) == view_messages(one.state, session)


@settings(deadline=None, max_examples=150)
@given(sessions(), budgets)
def test_only_what_the_state_names_has_to_be_loaded(
    session: list[NumberedMessage], budget: Budget
) -> None:
    state = trimmed(FRESH, session, budget).state
    loaded = [
        n
        for n in session
        if n.seq <= state.system_to or n.seq in state.kept_before or n.seq >= state.window_from
    ]
    assert view_messages(state, loaded) == view_messages(state, session)
    assert plan_trim(state, loaded, Budget(0, 0)) == plan_trim(state, session, Budget(0, 0))


@settings(deadline=None, max_examples=150)
@given(sessions(), sessions(6), budgets)
def test_until_the_next_trim_a_prompt_only_grows_at_its_end(
    session: list[NumberedMessage], more: list[NumberedMessage], budget: Budget
) -> None:
    state = trimmed(FRESH, session, budget).state
    grown = [*session, NumberedMessage(len(session) + 1, Message("user", "next"))]
    for numbered in more:
        if not numbered.message.calls and numbered.message.role != "tool":
            grown.append(NumberedMessage(len(grown) + 1, numbered.message))
    before, after = view_messages(state, grown[: len(session) + 1]), view_messages(state, grown)
    assert after[: len(before)] == before


@settings(deadline=None, max_examples=150)
@given(sessions(), st.integers(0, 3_000))
def test_the_window_is_contiguous_and_begins_with_the_system_prompt(
    session: list[NumberedMessage], target: int
) -> None:
    state = trimmed(FRESH, session, Budget(target, target)).state
    whole = seen(FRESH, session)
    # Results join their calls: a late one may stand behind the pointer and still have gone.
    from_pointer = {
        n.seq for n in session if n.seq >= state.window_from and n.message.role != "tool"
    }
    # Only messages that follow the model's newest turn are left out, and only to keep that turn.
    shown = seen(state, session)
    moved = repeated(state, session)
    assert from_pointer & whole - set(state.skipped) - moved <= shown
    if state.skipped:
        turns = [n.seq for n in session if n.seq in whole and n.message.role == "assistant"]
        assert turns[-1] in shown
        assert turns[-1] < min(state.skipped)
    prompt = view_messages(state, session)
    if session[0].message.role == "system":
        assert prompt[0] == session[0].message
    if state.summary:
        first_spoken = next((i for i, m in enumerate(prompt) if m.role != "system"), len(prompt))
        summary_at = [i for i, m in enumerate(prompt) if m.content == state.summary]
        assert summary_at and summary_at[0] <= first_spoken


@settings(deadline=None, max_examples=150)
@given(sessions())
def test_every_attempt_keeps_less_while_there_is_something_to_drop(
    session: list[NumberedMessage],
) -> None:
    limits = Limits(context=100_000)
    rejected = count_prompt(view_messages(FRESH, session))
    state, kept = FRESH, seen(FRESH, session)
    for attempt in (1, 2, 3):
        done = trimmed(state, session, reactive_budget(limits, attempt, rejected))
        if newest_user(session) is not None:
            assert newest_user(session) in view_messages(done.state, session)
        if done.changed:
            assert done.after < done.before or seen(done.state, session) < kept
        else:
            only = [n.message.role for n in session if n.seq in seen(state, session)]
            assert set(only) <= {"system", "user"}
        state, kept = done.state, seen(done.state, session)


@settings(deadline=None, max_examples=80)
@given(st.lists(sessions(6), min_size=2, max_size=5), st.integers(200, 3_000))
def test_a_long_session_loses_nothing_over_many_trims(
    parts: list[list[NumberedMessage]], target: int
) -> None:
    archive: list[NumberedMessage] = []
    gone: set[int] = set()
    state = FRESH
    for part_number, part in enumerate(parts):
        for numbered in part:
            message = numbered.message
            calls = tuple(c._replace(id=f"{part_number}/{c.id}") for c in message.calls)
            call_id = message.call_id and f"{part_number}/{message.call_id}"
            message = message._replace(calls=calls, call_id=call_id)
            archive.append(NumberedMessage(len(archive) + 1, message))
        earlier = state
        done = trimmed(state, archive, Budget(target, target))
        state = done.state
        for first, last in done.dropped:
            gone.update(range(first, last + 1))
        assert state.window_from >= earlier.window_from
        assert state.elided_to >= earlier.elided_to
    assert seen(FRESH, archive) <= gone | seen(state, archive) | repeated(state, archive)
    if gone:
        first, last = state.facts.span
        assert (first, last) == (min(gone), max(gone))
        assert f"memory://session/s1/messages/{first}-{last}" in state.summary


# ---------------------------------------------------------------- failures of earlier systems


def long_session(turns: int = 40) -> list[NumberedMessage]:
    messages = [Message("system", "You are careful.")]
    for turn in range(turns):
        messages.append(Message("user", f"Request {turn}: " + "please do this carefully " * 4))
        messages.append(
            Message("assistant", "", (ToolCall(f"c{turn}", "Bash", '{"command":"ls"}'),))
        )
        messages.append(Message("tool", f"listing {turn} " * 60, call_id=f"c{turn}"))
        messages.append(Message("assistant", f"Answer {turn}: " + "that is done " * 10))
    return number(messages)


def test_the_first_reactive_retry_keeps_more_than_the_second_and_the_second_more_than_the_third() -> (
    None
):
    session = long_session()
    limits = Limits(context=200_000)
    rejected = count_prompt(view_messages(FRESH, session))
    state, kept = FRESH, [len(session)]
    for attempt in (1, 2, 3):
        done = trimmed(state, session, reactive_budget(limits, attempt, rejected))
        state = done.state
        kept.append(done.kept)
        assert newest_user(session) in view_messages(state, session)
        assert done.after <= (0.5, 0.25, 1)[attempt - 1] * rejected
    assert kept == sorted(kept, reverse=True)
    assert len(set(kept)) == 4
    assert kept[3] == 1


def test_after_the_third_attempt_it_gives_up_with_a_clear_error() -> None:
    with pytest.raises(Overflow, match="3 times"):
        reactive_budget(Limits(1_000), 4, 1_000)


def test_when_trimming_removes_nothing_the_context_was_not_the_problem() -> None:
    session = number([Message("system", "s"), Message("user", "one request and nothing else")])
    done = plan_trim(FRESH, session, reactive_budget(Limits(1_000), 1, 30))
    assert not done.changed
    assert done.state is FRESH


def test_a_big_unit_in_the_middle_never_lets_older_ones_survive_it() -> None:
    messages = [Message("user", f"small {n} " + "x" * 60) for n in range(5)]
    messages.append(Message("assistant", "big " * 3_000))
    messages += [Message("user", f"later {n} " + "x" * 60) for n in range(5)]
    done = trimmed(FRESH, number(messages), Budget(1_000, 1_000))
    assert done.state.window_from == 7
    assert seen(done.state, number(messages)) == {7, 8, 9, 10, 11}


def test_a_late_tool_result_joins_its_call() -> None:
    call = ToolCall("slow", "Bash", '{"command":"make"}')
    session = number(
        [
            Message("user", "build it"),
            Message("assistant", "", (call,)),
            Message("user", "are you there?"),
            Message("assistant", "Still building."),
            Message("tool", "built", call_id="slow"),
        ]
    )
    roles = [message.role for message in view_messages(FRESH, session)]
    assert roles == ["user", "assistant", "tool", "user", "assistant"]
    gone = trimmed(
        FRESH, [*session, NumberedMessage(6, Message("user", "next " * 20))], Budget(0, 0)
    )
    assert gone.dropped == ((1, 5),)


# ---------------------------------------------------------------- anchors


def test_the_newest_user_message_stays_even_when_it_is_far_behind() -> None:
    messages = [Message("user", "Rewrite the parser so that it reports columns, not only lines.")]
    for n in range(30):
        messages.append(Message("assistant", "", (ToolCall(f"c{n}", "Bash"),)))
        messages.append(Message("tool", "output " * 100, call_id=f"c{n}"))
    session = number(messages)
    done = trimmed(FRESH, session, Budget(2_000, 2_000))
    assert done.state.pinned == (1,)
    assert view_messages(done.state, session)[1] == messages[0]
    assert "Current task: Rewrite the parser" in done.state.summary


def test_a_short_newest_message_keeps_the_newest_longer_one_with_it() -> None:
    task = "Move the settings page to the new router, with its tests."
    messages = [Message("user", "an older and quite long request that has been done already")]
    messages += [Message("user", task), Message("assistant", "work " * 800)]
    messages += [Message("user", "ok"), Message("assistant", "work " * 800)]
    messages += [Message("user", "yes"), Message("assistant", "work " * 800)]
    session = number(messages)
    done = trimmed(FRESH, session, Budget(500, 500))
    kept = [m.content for m in view_messages(done.state, session) if m.role == "user"]
    assert kept == [task, "yes"]
    assert f"Current task: {task}" in done.state.summary
    # The first request is the original one, although it left the window after others were kept.
    assert "[original] an older and quite long request" in done.state.summary


def test_an_anchor_that_is_no_longer_the_task_goes_with_the_next_trim() -> None:
    first = "The first task, which is long enough to be an anchor."
    second = "The second task, which is long enough to be an anchor."
    messages = [Message("user", first), Message("assistant", "work " * 800)]
    state = trimmed(FRESH, number(messages), Budget(300, 300)).state
    assert state.pinned == (1,)
    messages += [Message("user", second), Message("assistant", "work " * 800)]
    state = trimmed(state, number(messages), Budget(300, 300)).state
    assert state.pinned == (3,)
    assert f"[original] {first}" in state.summary
    assert f"Current task: {second}" in state.summary


# ---------------------------------------------------------------- stages and limits


def test_the_three_stages_trim_at_their_marks_and_to_their_targets() -> None:
    limits = Limits(context=10_000, prompt=8_000, output=1_000, margin=200)
    assert proactive_budget(limits) == Budget(7_500, 4_000, limit=6_800, summary=850)
    assert validation_budget(limits) == Budget(6_800, 4_000, limit=6_800, summary=850)
    assert [reactive_budget(limits, n, 9_000)[:2] for n in (1, 2, 3)] == [
        (0, 4_000),
        (0, 2_000),
        (0, 0),
    ]


def test_tools_are_part_of_the_prompt() -> None:
    limits = Limits(context=10_000, tools=2_000)
    assert proactive_budget(limits) == Budget(5_500, 3_000 + 1_000, limit=8_000, summary=1_000)
    assert validation_budget(limits).trigger == 8_000


def test_limits_that_leave_no_room_are_refused() -> None:
    with pytest.raises(InvalidInput, match="leave nothing"):
        validation_budget(Limits(context=1_000, tools=900, output=200))


def test_a_prompt_within_its_budget_is_left_alone() -> None:
    session = long_session(3)
    assert plan_trim(FRESH, session, Budget(10**6, 10)).state is FRESH


def test_the_note_is_paid_for_and_shown_until_the_next_trim() -> None:
    session = long_session()
    done = plan_trim(FRESH, session, Budget(3_000, 3_000), note="recovered " * 50)
    assert done.after <= 3_000
    assert count_prompt(view_messages(done.state, session)) == done.after
    assert view_messages(done.state, session)[2].content == "recovered " * 50
    again = trimmed(done.state, [*session, *long_session(60)[161:]], Budget(2_000, 2_000))
    assert again.state.note == ""


def test_an_exact_counter_decides_instead_of_the_estimate() -> None:
    session = long_session()
    done = plan_trim(FRESH, session, Budget(500, 500), measure=lambda text: len(text.split()))
    assert done.changed
    assert count_prompt(view_messages(done.state, session), lambda text: len(text.split())) <= 500
