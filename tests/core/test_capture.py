"""What is kept from a user's message, and what is left alone."""

from __future__ import annotations

from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.core.capture import (
    LONGEST,
    MOST_PER_MESSAGE,
    SHORTEST,
    capture,
    pasted,
)


def rules(text: str) -> list[str]:
    return [found.rule for found in capture(text)]


@pytest.mark.parametrize(
    ("text", "kind", "priority"),
    [
        ("I prefer tabs over spaces in this repo.", "preference", "medium"),
        ("I'd much prefer small commits over one big one", "preference", "medium"),
        ("Always use pnpm instead of npm here.", "preference", "medium"),
        ("Please never use default exports in this package", "preference", "medium"),
        ("From now on, write the tests before the code.", "preference", "medium"),
        ("We should NEVER be in mock mode in production.", "preference", "medium"),
        ("Actually, the config lives in settings.toml.", "fact", "high"),
        ("No, the port is 8081 on staging.", "fact", "high"),
        ("The parser is not recursive but table driven.", "fact", "high"),
        ("The cache is on the main machine, not in the container.", "fact", "high"),
        ("This project is not an enterprise application, but a sketch.", "fact", "high"),
        ("Please always respond in Thai.", "preference", "medium"),
        ("All migrations must be reversible.", "policy", "critical"),
        ("You must do a dry run before each release.", "policy", "critical"),
        ("A changelog entry is required for every release.", "policy", "critical"),
        ("Don't ever push directly to main.", "policy", "critical"),
        ("Please don’t ever commit the .env file", "policy", "critical"),
        ("Remember that the build uses make, not cmake", "fact", "high"),
    ],
)
def test_a_stated_rule_is_captured_verbatim(text: str, kind: str, priority: str) -> None:
    (found,) = capture(text)
    assert (found.kind, found.priority) == (kind, priority)
    assert found.text == text[slice(*found.span)] == text


@pytest.mark.parametrize(
    "text",
    [
        "Must we always use the staging database here?",
        "That path is on my main machine, not in the container.",
        "It should use the slate button, not the primary one.",
        "no, do not clean it up, that was the right choice",
        "no, i want to update the description field only",
        "no, we were working on task 002 before lunch",
        "There is a bug where it answers not to its own commands, but to all.",
        "If not I prefer the previous look of the page.",
        "For example, we should always buy fresh lemons here.",
        "In theory we must always validate the colours first.",
        "From now on I am only giving instructions and testing.",
        "Let's add a rule which states it MUST be used everywhere",
        "we must use the production database for this.",
        "I never want to go through this again.",
        "Remember that staying positive is very important.",
        "Remember to tailor your application to the company!",
        "mapping values are not allowed in this context at line 2 column 32",
        "should we always use tabs in this repository",
        "Do you prefer tabs or spaces in this repository?",
        "There must be a bug somewhere in the parser.",
        "It must have been the cache that broke it.",
        "I must have missed the second failing test.",
        "No thanks, that is everything for today.",
        "No, I haven't tried the other branch yet.",
        "I'm not sure which server it uses but it works.",
        "The error does not always occur on my machine.",
        "Please update the notes as required by the change.",
        "The spinner never disappears after the upload.",
        "I think we must rewrite the whole parser maybe.",
        "Actually, can you look at the other file first",
        "The preference pane is not only slow but ugly.",
        "commit and push the changes to the branch please",
        "The mustache template renders the dashboard fine.",
        "nevertheless the alwaysApply flag stays as it is",
    ],
)
def test_questions_reports_and_lookalikes_are_left_alone(text: str) -> None:
    assert capture(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "```\nYou must always use the old API here.\n```",
        "~~~\nnever use this function again please\n",
        "> You must always use the old API here.",
        "    raise Error: you must always use keywords",
        "2026-01-02T10:00:00Z you must always use keywords",
        "❯ echo you must always use the new command",
        '"You must always use the old API here."',
        "the docs say `you must always use the old API`",
        "<log>\nyou must always use keyword arguments\n</log>",
        "<recollect-memory id=1>\nAlways use tabs in this repo.\n</recollect-memory>",
        "<thread_summary>Always use tabs in this repo.</thread_summary>",
        "┃ you must always use keyword arguments here ┃",
    ],
)
def test_nothing_is_captured_from_code_quotes_logs_and_our_own_blocks(text: str) -> None:
    assert capture(text) == []


def test_a_typed_sentence_next_to_a_pasted_log_is_captured() -> None:
    text = "Traceback (most recent call last)\n\nwe must keep python 3.11 working here\n"
    assert [found.text for found in capture(text)] == ["we must keep python 3.11 working here"]


def test_a_captured_sentence_keeps_its_inline_code() -> None:
    (found,) = capture("- Always use `uv run` for the scripts.\n- ok")
    assert found.text == "Always use `uv run` for the scripts."


def test_a_sentence_ends_before_the_next_one_begins() -> None:
    text = "The tests are red. Always use the fixture for the clock! Then push."
    assert [found.text for found in capture(text)] == ["Always use the fixture for the clock!"]


def test_what_binds_most_wins_when_several_rules_match() -> None:
    assert rules("Actually, you must never use that helper, I prefer the other.") == ["constraint"]
    assert rules("Actually, I prefer the standard library here.") == ["preference"]


def test_at_most_three_sentences_are_taken_from_one_message() -> None:
    text = "Always use the numbered fixture here. " * 10
    assert len(capture(text)) == MOST_PER_MESSAGE


def test_a_wall_of_text_is_taken_as_pasted() -> None:
    wall = "\n".join(f"You must always use rule number {n} here." for n in range(16))
    assert pasted(wall) == ((0, len(wall)),)
    assert capture(wall) == []


def test_sentences_outside_the_length_limits_are_left_alone() -> None:
    assert capture("Always use tabs") == []
    assert capture("Always use " + "very " * (LONGEST // 5) + "long names.") == []


def test_an_unclosed_block_of_ours_hides_nothing_that_was_typed() -> None:
    assert rules("<recollect-memory>\nAlways use tabs in this repo.") == ["preference"]


PIECES = st.sampled_from(
    ["You must always use it here. ", "```\n", "> ", "\n", "`", '"', "<a>", "</a>", "not but ", "é"]
)


@given(st.lists(PIECES | st.text(max_size=20), max_size=40).map("".join))
def test_captured_spans_are_ordered_bounded_and_typed(text: str) -> None:
    blocks = pasted(text)
    position = 0
    for start, end in blocks:
        assert position <= start <= end <= len(text)
        position = end
    last = 0
    for found in capture(text):
        start, end = found.span
        assert last <= start and found.text == text[start:end]
        assert SHORTEST <= len(found.text) <= LONGEST
        assert all(end <= left or right <= start for left, right in blocks)
        last = end


UNITS = {
    "constraint": "must be required; all must not be mandatory ",
    "constraint, in sentences": "It must have been required. There must be a way. ",
    "preference": "i always never prefer to always prefer so never ",
    "preference, in sentences": "They always do and never stop. I never knew going forward. ",
    "correction": "not a b c d but not the e, not f but g ",
    "correction, in sentences": "No, the a b c d. Actually a b c. Use a b c d e f, not b. ",
    "remember": "remember that remember to remember: ",
    "remember, in sentences": "Remember that going is on. Please remember to do it. ",
    "question": "and but so ok also what why must can you ",
    "hedge": "i think maybe must i guess perhaps always ",
    "passing": "there is there are a bug must when i do this ",
    "quotes": "must 'a \"b “c «d `e ",
    "tags": "must <a <b <recollect-memory </c> ",
    "fences": "must ``` ~~~ ",
    "a terminal": "│must┃ ",
    "a log": "must line 1, line 2 col ",
    "digits": "must line 1111111111",
    "blanks": "                    ",
    "dots": "must....e.g.i.e.vs.",
    "one word": "mustmustmust",
}


@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS)
def test_a_line_of_a_megabyte_costs_in_proportion_to_its_length(unit: str) -> None:
    """Four times the text takes four times the work, not sixteen."""

    def cost(size: int) -> float:
        text = (unit * (size // len(unit) + 1))[:size]
        start = process_time()
        capture(text)
        return process_time() - start

    capture(unit)
    assert cost(1_000_000) < 12 * cost(250_000) + 0.05
