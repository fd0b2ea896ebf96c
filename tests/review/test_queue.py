"""What waits for a person, in which order, and the passage that is shown with it."""

from __future__ import annotations

import pytest

from recollect.review import queue
from recollect.review.queue import Pair, Side
from tests.builders.records import memory

PROPOSED = Side("m-1", "proposed", "agent", 1)
ACTIVE = Side("m-2", "active", "user", 2)


@pytest.mark.parametrize(
    ("one", "other", "subject"),
    [
        (PROPOSED, ACTIVE, "m-1"),
        (ACTIVE._replace(label="agent", at=1), ACTIVE._replace(id="m-3", at=9), "m-2"),
        (ACTIVE, ACTIVE._replace(id="m-3", at=9), "m-3"),
    ],
)
def test_a_contradiction_asks_about_the_less_settled_side(
    one: Side, other: Side, subject: str
) -> None:
    assert queue.pick_subject(Pair(one, other)) == subject
    assert queue.pick_subject(Pair(other, one)) == subject


def test_a_contradiction_linked_from_both_ends_is_one_item() -> None:
    pairs = [Pair(PROPOSED, ACTIVE), Pair(ACTIVE, PROPOSED)]
    assert queue.find_opposed(pairs) == {"m-1": ("m-2",)}


def test_an_item_with_several_reasons_counts_once() -> None:
    older = ACTIVE._replace(id="m-3", at=1)
    pairs = [Pair(PROPOSED, ACTIVE), Pair(older, ACTIVE)]
    # m-1 is among the waiting; m-2 contradicts m-3 and is stale.
    assert queue.count_items(1, pairs, {"m-2": "active", "m-1": "proposed"}) == 2
    assert queue.count_items(0, [], {}) == 0


def test_contradictions_come_first_then_rules_then_the_newest() -> None:
    keys = [
        queue.rank(("contradicting", "proposed"), "fact", 1, "a"),
        queue.rank(("proposed",), "policy", 1, "b"),
        queue.rank(("proposed",), "fact", 9, "c"),
        queue.rank(("proposed",), "fact", 1, "d"),
        queue.rank(("stale",), "policy", 9, "e"),
        queue.rank(("quarantined",), "policy", 9, "f"),
    ]
    assert keys == sorted(keys)


@pytest.mark.parametrize(
    ("label", "detail", "words"),
    [
        ("agent", {}, "An agent proposed it"),
        ("tool", {"doubt": "it may be pasted"}, "Found in your message, but it may be pasted"),
        ("tool", {}, "A tool proposed it"),
        ("user", {}, "You proposed it"),
    ],
)
def test_a_proposal_says_who_made_it(label: str, detail: dict[str, str], words: str) -> None:
    told = queue.explain(memory(label=label, detail=detail, status="proposed"), "proposed")
    assert told.startswith(words) and told.endswith("Not in use.")


def test_a_quote_is_found_whatever_its_white_space() -> None:
    text = "First this.\nNever push\n  to main. Then that."
    found = queue.find_exact(text, "Never push to main.")
    assert found == ("First this.\n", "Never push\n  to main.", " Then that.")
    assert queue.find_exact(text, "Never pull from main.") is None
    assert queue.find_exact(text, " ") is None


def test_a_long_message_is_cut_around_the_quote_between_words() -> None:
    text = "start " + "word " * 200 + "THE QUOTE " + "word " * 200
    found = queue.find_exact(text, "THE QUOTE")
    assert found and found.quote == "THE QUOTE"
    assert found.before.startswith("…word ") and len(found.before) < 170
    assert found.after.endswith(" word…") and len(found.after) < 170


def test_without_the_words_the_closest_sentence_is_shown() -> None:
    text = "I looked at the build. The integration tests need Redis on port 6380. All good now."
    share, found = queue.find_similar(text, "Integration tests need Redis (port 6380)")
    assert share > 0.8
    assert found and found.quote == "The integration tests need Redis on port 6380."
    assert queue.find_similar("Nothing of the kind.", "Integration tests need Redis") == (0.0, None)


def test_a_sentence_keeps_the_dots_inside_names() -> None:
    _, found = queue.find_similar("Well. Use src/app.py v1.2 for it. End", "use src/app.py v1.2")
    assert found and found.quote == "Use src/app.py v1.2 for it."


def test_only_a_contradiction_takes_both() -> None:
    assert queue.answers_of(("contradicting",)) == queue.ANSWERS
    assert "both" not in queue.answers_of(("proposed", "stale"))
    assert queue.answers_of(("proposed",), is_procedure=True) == ("keep", "hide", "later")


def test_other_scopes_settle_a_contradiction() -> None:
    one = memory("m-1", "policy", "Always use tabs for indentation", scope=("src/**",))
    other = memory("m-2", "policy", "Never use tabs for indentation")
    assert queue.contradict(one, other)
    assert not queue.contradict(one, other._replace(scope=("web/**",)))
    assert not queue.contradict(one._replace(text="Use ruff to format code"), other)
