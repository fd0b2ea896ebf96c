"""The checklist of promotion."""

from __future__ import annotations

from typing import Any

import pytest

from recollect.types.records import Memory
from recollect.work.audit import review_note
from tests.builders.records import memory

WHOLE = memory(
    "m-0",
    "pattern",
    "Express route handlers need explicit return types",
    subject="route handlers",
    citations=("src/routes/todos.ts",),
    reason="strict mode rejects them otherwise",
    category="project",
)


def known_note(id: str, statement: tuple[str, str], scope: tuple[str, ...] = ()) -> Memory:
    return memory(id, text=statement[1], subject=statement[0], scope=scope)


def test_a_note_that_passes_every_step_is_promoted() -> None:
    known = [known_note("m-1", ("tests", "Run npm test in evals"))]
    assert review_note(WHOLE, known).decision == "promote"


@pytest.mark.parametrize(
    ("change", "decision", "step", "says"),
    [
        ({"text": "iteration 3 passed at 14:32"}, "drop", "classify", "state"),
        ({"text": "For now the handler returns null"}, "drop", "durable", "For now"),
        ({"text": "This task keeps the old endpoint"}, "drop", "durable", "This task"),
        ({"subject": ""}, "defer", "fields", "subject"),
        ({"citations": ()}, "defer", "fields", "citations"),
        ({"reason": " "}, "defer", "fields", "reason"),
        ({"category": "", "reason": ""}, "defer", "fields", "reason, category"),
    ],
)
def test_the_first_step_that_fails_decides_and_says_why(
    change: dict[str, Any], decision: str, step: str, says: str
) -> None:
    verdict = review_note(WHOLE._replace(**change), [])
    assert (verdict.decision, verdict.step) == (decision, step)
    assert says in verdict.reason


def test_the_same_text_is_dropped_and_names_what_is_kept() -> None:
    known = [known_note("m-1", ("x", "y")), known_note("m-2", ("handlers", WHOLE.text))]
    verdict = review_note(WHOLE, known)
    assert (verdict.decision, verdict.step, verdict.like) == ("drop", "duplicate", ("m-2",))


def test_the_same_text_for_other_files_waits_for_the_writer() -> None:
    known = [known_note("m-1", ("handlers", WHOLE.text), ("web/**",))]
    verdict = review_note(WHOLE._replace(scope=("src/**",)), known)
    assert (verdict.decision, verdict.step, verdict.like) == ("defer", "duplicate", ("m-1",))
    assert review_note(WHOLE._replace(scope=("./web/**",)), known).decision == "drop"


def test_a_near_duplicate_and_an_opposite_wait_for_the_writer() -> None:
    nearly = known_note("m-1", (WHOLE.subject, f"{WHOLE.text}."))
    opposite = known_note(
        "m-2", (WHOLE.subject, "Express route handlers never need explicit return types")
    )
    assert review_note(WHOLE, [nearly]).like == ("m-1",)
    verdict = review_note(WHOLE, [nearly, opposite])
    assert (verdict.decision, verdict.like) == ("defer", ("m-2",))
    assert "contradicts" in verdict.reason


def test_a_changed_value_may_be_promoted() -> None:
    note = WHOLE._replace(text="The database is PostgreSQL 16", subject="database")
    assert (
        review_note(
            note, [known_note("m-1", ("database", "The database is PostgreSQL 14"))]
        ).decision
        == "promote"
    )
