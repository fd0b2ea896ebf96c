"""The user's repetition: what is asked for in two sessions is a habit."""

from __future__ import annotations

import pytest

from recollect.capture.repetition import find_instructions, is_repeated, pick_fullest, words_of
from recollect.capture.standalone import order_of


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("ok lets get back to main", "back to main please"),
        (
            "please evaluate the coderabbit comment on pr 175",
            "theres a coderabbit comment on the pr, please address it",
        ),
        (
            "Create a new branch, commit the changes and review them again carefully.",
            "Create a new branch, then commit the changes, review them, create a PR.",
        ),
    ],
)
def test_the_same_instruction_in_other_words_is_recognised(new: str, old: str) -> None:
    assert is_repeated(words_of(new), words_of(old))


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("commit and push", "please commit and push"),
        ("can you address the PR comment", "can you address the comment on the PR"),
        ("fix the login page on mobile", "fix the export page on desktop"),
        ("run the importer again", "run the whole suite again"),
        (
            "add them please - and also add guidance into CLAUDE.md for future test creation if "
            "there isn't already something there",
            "can you add a test so we don't break this in the future",
        ),
    ],
)
def test_everyday_requests_and_other_tasks_are_no_habit(new: str, old: str) -> None:
    assert not is_repeated(words_of(new), words_of(old))


def test_questions_and_pasted_text_are_no_instructions() -> None:
    assert find_instructions("why is the nightly import so slow?") == []
    assert find_instructions("    at load (app.js:3)\n    at main (app.js:9)\n") == []
    assert find_instructions("Hi Anna,\n\nplease always call the vendor first.\n\nBest,\nTom") == []
    assert [unit.text for unit in find_instructions("please get back to main")] == [
        "please get back to main"
    ]


def test_the_fullest_wording_without_numbers_is_kept() -> None:
    (short,) = find_instructions("please get back to main")
    (full,) = find_instructions("we need to get back to main, and pull in latest")
    (dated,) = find_instructions("please get back to main for pr 175 and 176")
    assert pick_fullest(short, [dated, full]) == full
    (pointing,) = find_instructions("please do it again and get back to main with this branch")
    assert pick_fullest(pointing, [short]) == short


def test_a_request_is_kept_as_an_order() -> None:
    assert order_of("can you also review the changes of the branch?") == (
        "review the changes of the branch"
    )
    assert order_of("and could we now rebuild the index") == "rebuild the index"
    assert order_of("before you go doing that, we need to rebuild the index") == (
        "we need to rebuild the index"
    )
    assert order_of("rebuild the index") == "rebuild the index"
