"""Work notes: rendering and parsing lose nothing, and every broken rule is found."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.documents.steps import (
    HandWritten,
    Reference,
    find_references,
    parse_continuity,
    render_continuity,
)
from recollect.errors import InvalidInput
from recollect.work.notes import (
    MOST_LINES,
    RULES,
    SESSION_SECTIONS,
    Access,
    EventRule,
    Notes,
    lint_notes,
    parse_notes,
    render_notes,
    render_session_notes,
    rule_for_event,
)

law = settings(deadline=None, max_examples=200)
words = st.lists(
    st.text("abcdefghijklmnop", min_size=1, max_size=8).filter(
        lambda word: word not in ("none", "phase")
    ),
    min_size=1,
    max_size=6,
).map(" ".join)
items = st.lists(words, max_size=3).map(tuple)
all_notes = st.builds(Notes, words | st.just(""), words | st.just(""), items, items)


def test_notes_say_objective_phase_blockers_and_what_is_pending() -> None:
    notes = Notes("Ship the importer", "2 of 4, tests", (), ("the docs", "a release"))
    assert render_notes(notes) == (
        "# Notes\n\n"
        "## Objective\nShip the importer\nPhase: 2 of 4, tests\n\n"
        "## Blockers\nnone\n\n"
        "## Pending\n- the docs\n- a release\n"
    )


@law
@given(all_notes)
def test_notes_survive_being_written_and_read_and_pass_their_own_lint(notes: Notes) -> None:
    text = render_notes(notes)
    assert parse_notes(text) == notes
    assert lint_notes(text) == []


def test_edited_notes_are_read_whatever_their_order_and_marks() -> None:
    edited = "## Blockers\n* the key is missing\n\n# Goal\nShip it\n**Phase:** build\n\n## Next\n1. docs\n2. none\n"
    assert parse_notes(edited) == Notes("Ship it", "build", ("the key is missing",), ("docs",))


@given(st.text())
def test_any_text_can_be_read_and_linted(text: str) -> None:
    parse_notes(text)
    for finding in lint_notes(text):
        assert 1 <= finding.first <= finding.last <= text.count("\n") + 1
        assert finding.advice


def test_notes_that_would_break_their_own_rules_are_not_written() -> None:
    with pytest.raises(InvalidInput) as refused:
        render_notes(Notes("x", pending=("a", "b", "c", "d")))
    assert "too-many-bullets" in refused.value.message
    assert "belongs to the task's plan" in refused.value.hint
    with pytest.raises(InvalidInput, match="task-history"):
        render_notes(Notes("phase-3-review-complete"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# Notes\nShip it\n", []),
        ("", []),
        ("x\n" * MOST_LINES, []),
        ("x\n" * (MOST_LINES + 2), [("too-long", 21, 22)]),
        ("a\n```sh\nls\n```\nb", [("code-fence", 2, 4)]),
        ("a\n~~~\nopen", [("code-fence", 2, 3)]),
        ("## P\n- a\n- b\n- c\n", []),
        ("## P\n- a\n- b\n- c\n- d\n\nrest", [("too-many-bullets", 2, 5)]),
        ("## P\n- a\n\n- b\n  more\n- c\n\n* d\n## Q\n- e", [("too-many-bullets", 2, 8)]),
        ("- phase-3-tests done", [("task-history", 1, 1)]),
        ("ok\niteration 3 passed at 14:32", [("task-history", 2, 2)]),
        ("- [x] wrote the tests", [("task-history", 1, 1)]),
        ("2026-01-06 14:32 started", [("task-history", 1, 1)]),
        ("Phase: 3 of 4, review", []),
        ("The second phase needs a run of the tests", []),
    ],
)
def test_every_rule_is_found_by_name_and_line(
    text: str, expected: list[tuple[str, int, int]]
) -> None:
    assert [(one.rule, one.first, one.last) for one in lint_notes(text)] == expected


def test_continuity_refers_by_id_and_never_twice() -> None:
    text = render_continuity(
        "writing the todo endpoint",
        [
            Reference("sem-001", "Express handlers need\nexplicit return types"),
            Reference("m-2", "x"),
            Reference("m-2", "x"),
        ],
        [Reference("m-2", "Don't forget return types"), Reference("m-3", "y" * 200)],
    )
    assert text == (
        "# Continuity\n\n"
        "## Right now\nwriting the todo endpoint\n\n"
        "## Relevant Memories (Auto-Retrieved)\n"
        "- [sem-001] Express handlers need explicit return types\n\n"
        "## Mistakes to Avoid (From Learnings)\n"
        "- [m-2] Don't forget return types\n"
        f"- [m-3] {'y' * 119}…\n"
    )
    assert find_references(text) == ("sem-001", "m-2", "m-3")
    assert render_continuity("") == "# Continuity\n\n## Right now\nnothing\n"


def test_what_a_person_wrote_into_continuity_is_read_back() -> None:
    text = (
        "# Continuity\n\n## Right now\nfixing\nthe login\n\n"
        "## Relevant Memories (Auto-Retrieved)\n- [m-1] ours\n- ask the owner first\n\n"
        "## Mistakes to Avoid (From Learnings)\n- Run contract tests before marking complete\n\n"
        "## Open questions\n\nwhich port?\n"
    )
    by_hand = parse_continuity(text)
    assert by_hand == HandWritten(
        "fixing the login",
        ("ask the owner first",),
        ("Run contract tests before marking complete",),
        ("## Open questions\n\nwhich port?",),
    )
    again = render_continuity(by_hand.doing, [Reference("m-1", "ours")], [], by_hand)
    assert parse_continuity(again) == by_hand
    assert again == text.replace("fixing\nthe", "fixing the")
    assert parse_continuity(render_continuity("")) == HandWritten()


def test_session_notes_have_five_sections() -> None:
    text = render_session_notes("the importer")
    assert [line[3:] for line in text.splitlines() if line.startswith("## ")] == list(
        SESSION_SECTIONS
    )
    assert text.startswith("# Session notes: the importer\n")


def test_the_rules_are_those_of_the_three_layers() -> None:
    assert [rule.event for rule in RULES] == [
        "context start",
        "phase start",
        "phase end",
        "task complete",
        "conversation end",
    ]
    assert rule_for_event("Phase-End") == EventRule(
        "phase end", (), (Access("task", "completion report"), Access("project", "NOTES.md"))
    )
    assert rule_for_event("context_start").read == (
        Access("session", "session notes, if they exist"),
        Access("project", "NOTES.md"),
    )
    with pytest.raises(InvalidInput, match="'lunch' is not an event"):
        rule_for_event("lunch")
