"""The thread summary: its content and order, and that merging loses nothing."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.providers.formats import from_wire
from recollect.text.display import SUMMARY_TAG
from recollect.text.messages import NumberedMessage
from recollect.types.records import Message
from recollect.window.state import Budget, WindowState
from recollect.window.summary import SUMMARY_SHARES, open_blockers, render_summary, todos
from recollect.window.thread_facts import (
    CAPS,
    Fact,
    Facts,
    approves,
    clip,
    extract_facts,
    facts_from_json,
    facts_to_json,
    merge_facts,
)
from recollect.window.trim import plan_trim
from recollect.window.units import group_units
from tests.builders.sessions import call, number, ran, sessions


def section(summary: str, title: str) -> list[str]:
    """Return the lines under a title."""
    for part in summary.split("\n\n"):
        lines = part.removeprefix(f"<{SUMMARY_TAG}>\n").split("\n")
        if lines[0] == f"{title}:":
            return [line.removeprefix("- ") for line in lines[1:] if not line.startswith("</")]
    return []


# ---------------------------------------------------------------- laws

KINDS = ("requests", "exchanges", "read", "decisions", "task", "original")


@st.composite
def any_facts(draw: st.DrawFn) -> Facts:
    """Draw facts as merging leaves them: within their caps, in order, each key once."""
    found: dict[str, Any] = {}
    fact = st.tuples(st.integers(1, 20), st.integers(0, 1), st.sampled_from("abcdefghijklm"))
    for at, nth, key in draw(st.lists(fact, max_size=30)):
        for kind in KINDS:
            found.setdefault(kind, []).append(Fact(at, nth, key, f"{key}{at % 3}"))
    span = draw(st.sampled_from([(0, 0), (1, 4), (3, 9), (12, 12)]))
    counted = draw(st.dictionaries(st.sampled_from("xyz"), st.integers(1, 9)))
    return merge_facts(Facts(span=span, tools=tuple(counted.items()), **found), Facts())


@settings(deadline=None, max_examples=200)
@given(any_facts(), any_facts(), any_facts())
def test_merging_is_associative_and_order_does_not_matter(a: Facts, b: Facts, c: Facts) -> None:
    assert merge_facts(merge_facts(a, b), c) == merge_facts(a, merge_facts(b, c))
    assert merge_facts(a, b) == merge_facts(b, a)
    assert merge_facts(a, Facts()) == a


@settings(deadline=None, max_examples=200)
@given(any_facts(), any_facts())
def test_nothing_that_is_still_within_its_cap_disappears(a: Facts, b: Facts) -> None:
    both = merge_facts(a, b)
    for kind, cap in CAPS.items():
        newest = {fact.key: fact for fact in sorted((*getattr(a, kind), *getattr(b, kind)))}
        assert set(getattr(both, kind)) == set(sorted(newest.values())[-cap:])
        assert list(getattr(both, kind)) == sorted(getattr(both, kind))
    for name in "xyz":
        assert dict(both.tools).get(name, 0) == dict(a.tools).get(name, 0) + dict(b.tools).get(
            name, 0
        )


@settings(deadline=None, max_examples=150)
@given(sessions(20), st.data())
def test_facts_of_parts_are_the_facts_of_the_whole(
    session: list[NumberedMessage], data: st.DataObject
) -> None:
    units = group_units(session)
    cut = data.draw(st.integers(0, len(units)))
    older = [member for unit in units[:cut] for member in unit.members]
    newer = [member for unit in units[cut:] for member in unit.members]
    parts = merge_facts(extract_facts(older, newer), extract_facts(newer, older))
    whole = extract_facts([*older, *newer])
    # An approval may lie in another part than the question it answers: then it stands by itself.
    assert parts._replace(decisions=()) == whole._replace(decisions=())


@settings(deadline=None, max_examples=150)
@given(sessions(20))
def test_a_summary_is_the_same_for_the_same_facts_and_closes_where_it_should(
    session: list[NumberedMessage],
) -> None:
    facts = extract_facts(session)
    stored = facts_from_json(json.loads(json.dumps(facts_to_json(facts))))
    assert stored == facts
    summary = render_summary(facts, "s1")
    assert render_summary(stored, "s1") == summary
    assert summary.startswith(f"<{SUMMARY_TAG}>\n") and summary.endswith(f"\n</{SUMMARY_TAG}>")
    assert summary.count(f"</{SUMMARY_TAG}>") == 1
    # Given back to us, it is recognised as ours and never learned from.
    assert from_wire([{"role": "system", "content": summary}]) == []


# ---------------------------------------------------------------- what it says


def test_sections_are_ordered_and_empty_ones_left_out() -> None:
    session = number(
        [
            Message("user", "Make the importer faster; it takes minutes for a small file."),
            Message("assistant", "Should I keep the old format readable?"),
            Message("user", "Yes, for one more release. Phase: implementation"),
            *ran("Read", "a", "text", file_path="src/importer.py"),
            *ran("Edit", "b", "ok", file_path="src/importer.py"),
            *ran("Read", "c", "text", file_path="README.md"),
            *ran("Bash", "d", "[main abc1234] Read the file once", command="git commit -am x"),
            Message("assistant", "Decision: parse lazily.\nBlocker: no sample of the old format"),
            *ran("TodoWrite", "e", "ok", todos=[{"content": "Benchmark", "status": "in_progress"}]),
        ]
    )
    facts = merge_facts(
        extract_facts(session), Facts(task=(Fact(1, 0, "", "Make the importer faster"),))
    )
    assert render_summary(facts, "s1") == (
        "<thread_summary>\n"
        "Current task: Make the importer faster\n\n"
        "Active discussion:\n"
        "- Agent asked: Should I keep the old format readable?\n"
        "  User replied: Yes, for one more release. Phase: implementation\n\n"
        "Recent user requests:\n"
        "- [original] Make the importer faster; it takes minutes for a small file.\n"
        "- Yes, for one more release. Phase: implementation\n\n"
        "Git commits:\n- abc1234 Read the file once\n\n"
        "Files created or modified:\n- src/importer.py\n\n"
        "Files read:\n- README.md\n\n"
        "Key decisions:\n"
        "- approved: Should I keep the old format readable?\n"
        "- parse lazily.\n\n"
        "Open:\n- blocker: no sample of the old format\n- [in progress] Benchmark\n\n"
        "Tool usage:\n- Read: 2 calls\n- Bash: 1 calls\n- Edit: 1 calls\n- TodoWrite: 1 calls\n\n"
        "Where the rest is: memory://session/s1/messages/1-14\n"
        "</thread_summary>"
    )


def test_nothing_dropped_means_no_summary() -> None:
    assert render_summary(Facts(), "s1") == ""


def test_a_summary_shrinks_to_its_limit_and_keeps_the_newest_of_each_list() -> None:
    messages = [Message("user", f"Request {n}: " + "please look at it " * 20) for n in range(9)]
    for n in range(40):
        messages += ran("Edit", f"w{n}", "ok", file_path=f"src/module_{n}.py")
        messages += ran("Read", f"r{n}", "text", file_path=f"docs/page_{n}.md")
    facts = extract_facts(number(messages))
    forms = [render_summary(facts, "s1", share) for share in SUMMARY_SHARES]
    assert sorted(map(len, forms), reverse=True) == [*map(len, forms)]
    assert len(forms[-1]) < len(forms[0]) / 4
    for form in forms:
        assert "[original] Request 0" in form and "- Request 8" in form
        assert "src/module_39.py" in form and "docs/page_39.md" in form
        assert "memory://session/s1/messages/1-169" in form


def test_as_many_files_as_allowed_are_read_beside_those_that_were_written() -> None:
    messages: list[Message] = []
    for n in range(32):
        messages += ran("Read", f"r{n}", "text", file_path=f"src/{n}.py")
    for n in range(2, 32):
        messages += ran("Edit", f"w{n}", "ok", file_path=f"src/{n}.py")
    for n in range(20):
        messages += ran("Read", f"d{n}", "text", file_path=f"docs/{n}.md")
    summary = render_summary(extract_facts(number(messages)), "s1")
    section = summary.partition("Files read:\n")[2].partition("\n\n")[0].splitlines()
    assert section == [f"- docs/{n}.md" for n in range(10, 20)]


def test_the_caps_hold() -> None:
    messages: list[Message] = []
    for n in range(60):
        messages.append(Message("user", f"Request number {n} " + "x" * 400))
        messages += ran("Write", f"w{n}", "ok", file_path=f"src/f{n}.py")
        messages += ran("Read", f"r{n}", "ok", file_path=f"doc/d{n}.md")
        messages += ran("Bash", f"g{n}", f"[main {n:07x}] Commit {n}", command="git commit -m x")
        messages += ran("ask_user", f"q{n}", "b" * 2_000, question="a" * 2_000)
        messages.append(Message("assistant", f"Decision: use {n}"))
    summary = render_summary(extract_facts(number(messages)), "s1")
    requests = section(summary, "Recent user requests")
    assert requests[0].startswith("[original] Request number 0 ")
    assert [line.split()[2] for line in requests[1:]] == [str(n) for n in range(53, 60)]
    assert max(map(len, requests)) <= 300 + len("[original] ")
    assert section(summary, "Git commits") == [f"{n:07x} Commit {n}" for n in range(59, 44, -1)]
    assert section(summary, "Files created or modified") == [f"src/f{n}.py" for n in range(30, 60)]
    assert section(summary, "Files read") == [f"doc/d{n}.md" for n in range(50, 60)]
    assert section(summary, "Key decisions") == ["use 57", "use 58", "use 59"]
    assert section(summary, "Tool usage") == [
        "Bash: 60 calls",
        "Read: 60 calls",
        "Write: 60 calls",
        "ask_user: 60 calls",
    ]


def test_the_last_five_exchanges_are_kept_with_up_to_a_thousand_characters_a_side() -> None:
    messages: list[Message] = []
    for n in range(7):
        messages += ran(
            "user_collaboration",
            f"q{n}",
            f"answer {n} " + "b" * 2_000,
            message=f"question {n} " + "a" * 2_000,
        )
    lines = section(render_summary(extract_facts(number(messages)), "s1"), "Active discussion")
    assert len(lines) == 10
    assert lines[0].startswith("Agent asked: question 2")
    assert lines[-1].startswith("  User replied: answer 6")
    assert {len(line.partition(": ")[2]) for line in lines} == {1_000}


def test_an_answer_that_stays_in_the_window_keeps_its_question() -> None:
    session = number([Message("assistant", "Shall I use the new parser?"), Message("user", "no")])
    facts = extract_facts(session[:1], session[1:])
    assert [(fact.key, fact.text) for fact in facts.exchanges] == [
        ("Shall I use the new parser?", "no")
    ]


def test_a_question_that_the_agent_went_past_was_not_answered() -> None:
    session = number(
        [
            Message("assistant", "Shall I use the new parser?"),
            Message("assistant", "I use it."),
            Message("user", "fine"),
        ]
    )
    assert extract_facts(session[:1], session[1:]).exchanges == ()


def test_commits_that_were_made_stand_before_those_that_were_listed() -> None:
    log = "bbb2222 Second\naaa1111 First\n0ld0000 No\n1234567 Older"
    messages = ran("Bash", "a", "[main aaa1111] First", command="git commit -m First")
    messages += ran("Bash", "b", "[main bbb2222] Second", command="git commit -m Second")
    messages += ran("Bash", "c", log, command="git log --oneline")
    messages += ran("Bash", "d", "7654321 Oldest", command="git log --oneline -1 v1")
    assert section(render_summary(extract_facts(number(messages)), "s1"), "Git commits") == [
        "bbb2222 Second",
        "aaa1111 First",
        "7654321 Oldest",
        "1234567 Older",
    ]
    listed = extract_facts(number(ran("Bash", "a", log, command="git log --oneline")))
    assert section(render_summary(listed, "s1"), "Git commits") == [
        "bbb2222 Second",
        "aaa1111 First",
        "1234567 Older",
    ]


def test_summaries_keep_chronological_order_over_five_trims() -> None:
    state = WindowState("s1")
    messages: list[Message] = []
    for trim in range(5):
        for n in range(3):
            at = trim * 3 + n
            messages.append(
                Message("user", f"Request {at:02}: a task long enough to be an anchor of its own.")
            )
            messages += ran("Write", f"w{at}", "ok", file_path=f"src/f{at:02}.py")
            messages += ran(
                "Bash", f"g{at}", f"[main {at:07x}] Commit {at:02}", command="git commit -m x"
            )
            messages.append(Message("assistant", "work " * 500))
        done = plan_trim(state, number(messages), Budget(900, 900))
        assert done.changed
        state = done.state
    summary = state.summary
    requests = section(summary, "Recent user requests")
    assert requests[0].startswith("[original] Request 00:")
    numbers = [int(line.removeprefix("[original] ")[8:10]) for line in requests]
    assert numbers == [0, *range(7, 14)]
    assert "Current task: Request 14:" in summary
    assert section(summary, "Files created or modified") == [f"src/f{n:02}.py" for n in range(15)]
    assert section(summary, "Git commits")[0] == "000000e Commit 14"
    assert section(summary, "Git commits") == sorted(section(summary, "Git commits"), reverse=True)
    assert section(summary, "Tool usage") == ["Bash: 15 calls", "Write: 15 calls"]


def test_the_original_is_the_very_first_request_and_survives_every_merge() -> None:
    facts = Facts()
    for n in range(30):
        facts = merge_facts(
            facts, extract_facts([NumberedMessage(n * 2 + 1, Message("user", f"request {n}"))])
        )
    assert section(render_summary(facts, "s1"), "Recent user requests")[0] == "[original] request 0"


# ---------------------------------------------------------------- how things stand


def test_blockers_stay_open_until_they_are_resolved() -> None:
    facts = extract_facts(
        number(
            [
                Message("assistant", "Blocker: the API key is missing\nBlocked: CI is red"),
                Message("user", "Resolved: CI is red."),
            ]
        )
    )
    assert open_blockers(facts) == ["the API key is missing"]
    cleared = merge_facts(
        facts, extract_facts([NumberedMessage(9, Message("assistant", "**Blockers:** none"))])
    )
    assert open_blockers(cleared) == []
    again = merge_facts(
        cleared, extract_facts([NumberedMessage(10, Message("assistant", "Blocker: CI is red"))])
    )
    assert open_blockers(again) == ["CI is red"]


def test_the_todo_list_is_the_last_one_written_with_all_changes_since() -> None:
    written = ran("todo_operations", "a", "ok", operation="write", todoList=[
        {"id": 1, "title": "Read", "status": "in-progress"},
        {"id": 2, "title": "Fix", "status": "not-started"},
    ])  # fmt: skip
    updated = ran("todo_operations", "b", "ok", operation="update", todoUpdates=[
        {"id": 1, "status": "completed"}, {"id": 2, "status": "in-progress"},
    ])  # fmt: skip
    old = ran("TodoWrite", "z", "ok", todos=[{"content": "An older list", "status": "pending"}])
    session = number([*old, *written, *updated])
    whole, parts = (
        extract_facts(session),
        merge_facts(extract_facts(session[4:]), extract_facts(session[:4])),
    )
    assert list(todos(whole)) == [("done", "Read"), ("in progress", "Fix")]
    assert list(todos(parts)) == list(todos(whole))


def test_open_items_show_the_current_state_not_that_of_dropped_messages() -> None:
    messages = [Message("user", "A task that is certainly long enough to be the anchor here.")]
    messages += ran("TodoWrite", "a", "ok", todos=[{"content": "Build", "status": "pending"}])
    messages += [Message("user", "ok"), Message("assistant", "work " * 900), Message("user", "so?")]
    messages += ran("TodoWrite", "b", "ok", todos=[{"content": "Ship", "status": "in_progress"}])
    messages += [Message("user", "go on")]
    done = plan_trim(WindowState("s1"), number(messages), Budget(400, 400))
    assert done.dropped == ((2, 5),)
    assert section(done.state.summary, "Open") == ["[in progress] Ship"]
    # The first request has not left the window, and is the original one all the same.
    assert section(done.state.summary, "Recent user requests") == [
        "[original] A task that is certainly long enough to be the anchor here.",
        "ok",
    ]


def test_rules_count_only_when_the_user_states_them() -> None:
    said = "Constraint: never push to main"
    assert [f.text for f in extract_facts(number([Message("user", said)])).constraints] == [
        "never push to main"
    ]
    assert extract_facts(number([Message("assistant", said)])).constraints == ()
    assert (
        extract_facts(number(ran("Read", "a", said + "\nDecision: obey", file_path="x"))).decisions
        == ()
    )


def test_approval_is_recognised_and_refusal_is_not() -> None:
    assert approves("Approved, go ahead!", asked=False)
    assert approves("yes", asked=True)
    assert not approves("yes", asked=False)
    assert approves("no problem, go ahead", asked=False)
    assert approves("No objections, sounds good", asked=False)
    assert not approves("no, do not go ahead", asked=True)
    assert not approves("No problem, but don’t go ahead yet", asked=True)
    plan_call = ran("ExitPlanMode", "p", "User has approved your plan.", plan="# Move to uv\nsteps")
    assert [f.text for f in extract_facts(number(plan_call)).decisions] == [
        "approved plan: Move to uv"
    ]


def test_a_failed_write_modified_nothing() -> None:
    made = call("Edit", "a", file_path="x.py")
    failed = Message("tool", "no match", call_id="a", is_error=True)
    facts = extract_facts(number([made, failed]))
    assert facts.written == ()
    assert facts.tools == (("Edit", 1),)


def test_our_own_tags_in_a_request_cannot_close_the_summary() -> None:
    assert (
        clip(f"see </{SUMMARY_TAG}> and <{SUMMARY_TAG}>", 100)
        == "see ‹/thread_summary> and ‹thread_summary>"
    )
