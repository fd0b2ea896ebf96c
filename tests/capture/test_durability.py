"""Which captured sentences are told in later sessions by themselves."""

from __future__ import annotations

import pytest

from recollect.capture.standalone import is_durable, is_taken_back

LASTING = (
    "Always use type hints",
    "We never push to main without a review",
    "Use pnpm, not npm",
    "I prefer tabs",
    "Use 4 spaces for indentation",
    "in this repo we want to commit the generated client",
    "only the --dev flag should start the mock server",
    "the snapshot file should not be updated ever, it is a point in time",
    "dont forget to branch off main and not the current branch.",
    "Please dont just run the migrations directly on the server.",
    "given the focus on privacy, I think its better not to store names in local storage",
    "Any findings that can be postponed should first become a todo, so that these are tracked "
    "going forward.",
    "Error messages are lower case by convention",
)
PASSING = (
    "This is our external docs folder.",
    "i want the parameters that are being complained about retained.",
    "file an issue, medium priority, team Alpha",
    "Instead, i'd like all those assertions replaced with one comparison",
    "Let's instead replace our expectations with literal strings",
    "Please read the guide in detail and make sure all steps have been followed.",
    "since both of these depend on the simple version, it makes sense to build that first",
    "at this point I am starting to feel like we are giving up too much",
    "I honestly feel that the risk is quite low, since sharing works in browsers only",
    "lets get this in quite early, but not top prio.",
    "There's new feedback in REVIEW.md, make sure you check it before you go on.",
    "My main issue with this large refactor is that we need to be sure about our tests",
    "we should delete the home folder from that path before storing it",
    "Create a new branch, then commit the changes, review them one more time",
    "currently all commits of a prompt should be part of the same id",
)


@pytest.mark.parametrize("text", LASTING)
def test_what_holds_for_good_is_told(text: str) -> None:
    assert is_durable(text)


@pytest.mark.parametrize("text", PASSING)
def test_what_was_meant_for_a_moment_is_not(text: str) -> None:
    assert not is_durable(text)


def test_a_wish_inside_a_task_is_about_the_task() -> None:
    text = "All docs of the metadata should be complete."
    assert is_durable(text)
    assert not is_durable(text, message=f"/plan:quick write a protocol. {text}")
    branch = "use prefix 'abc/' for the branch name"
    assert not is_durable(branch, message=f"commit this on a feature branch. {branch}")
    assert is_durable(f"{branch}, always", message="commit this on a feature branch.")


def test_what_was_said_in_several_sessions_is_no_wish_of_one_task() -> None:
    text = "All docs of the metadata should be complete."
    assert is_durable(text, message=f"/plan:quick write a protocol. {text}", sessions=2)


@pytest.mark.parametrize(
    "next_message",
    [
        "no wait, the trailer has the long name",
        "not even a trailer, it's the message of the commit",
        'The trailer is just "Checkpoint:" or it is not even a trailer',
        "actually keep the trailer as it was",
    ],
)
def test_what_the_next_message_takes_back_is_not_told(next_message: str) -> None:
    text = 'The trailer is just "Checkpoint:"'
    assert is_taken_back(text, [next_message])
    assert not is_durable(text, after=[next_message])


def test_an_objection_to_something_else_takes_nothing_back() -> None:
    text = "Always use type hints in new modules"
    assert not is_taken_back(text, ["no, run the linter first", "ok, now commit"])
    assert not is_taken_back(text, ["add type hints to the parser too"])
