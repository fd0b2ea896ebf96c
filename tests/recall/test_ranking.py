"""Ranking: words and meaning first, then context, and every score is bounded."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import recollect
from recollect.recall import judgement, ranking
from recollect.recall import questions as recall_questions
from recollect.recall.ranking import RankingCandidate, RankingQuestion
from recollect.types.records import Message

HOUR = 3_600_000_000
DAY = 24 * HOUR
ASKED = RankingQuestion((3.0, 1.0), 20.0, asks=True)


def candidate(entry: int, counts: tuple[int, ...] = (1, 1), **known: object) -> RankingCandidate:
    """Return an ordinary match in a session of its own; the lower its number, the newer it is."""
    held: dict[str, object] = {
        "length": 20,
        "cosine": 0.5,
        "at": (100 - entry) * 30 * DAY,
        "session": f"session {entry}",
        "seq": 9,
        "role": "assistant",
    }
    return RankingCandidate((f"{entry:03}", 0), counts, **{**held, **known})  # type: ignore[arg-type]


def order(question: RankingQuestion, candidates: list[RankingCandidate]) -> list[int]:
    scores = judgement.lift_newest(
        question, candidates, ranking.score_candidates(question, candidates)
    )
    ranked = zip(scores, candidates, strict=True)
    best_first = sorted(ranked, key=lambda one: (-one[0], -one[1].at))
    return [int(item.address[0]) for _, item in best_first]


def test_candidates_with_more_rare_words_come_first() -> None:
    both, telling, other = candidate(1), candidate(2, (1, 0)), candidate(3, (0, 1))
    assert order(ASKED, [other, telling, both]) == [1, 2, 3]


def test_meaning_decides_between_equal_words() -> None:
    assert order(ASKED, [candidate(2, cosine=0.3), candidate(1, cosine=0.6)]) == [1, 2]


def test_meaning_finds_what_shares_no_word() -> None:
    near, far = candidate(1, (0, 0), cosine=0.7), candidate(2, (0, 0), cosine=0.36)
    assert order(ASKED, [far, near]) == [1, 2]


def test_a_large_store_is_searched_by_meaning_only_if_words_do_not_suffice() -> None:
    telling, common = candidate(1, (1, 0)), candidate(2, (0, 1))
    assert judgement.needs_meaning(ASKED, [telling], judgement.SMALL)
    assert not judgement.needs_meaning(ASKED, [common, telling], judgement.SMALL + 1)
    assert judgement.needs_meaning(ASKED, [common], judgement.SMALL + 1)
    assert judgement.needs_meaning(RankingQuestion((), 0.0), [], judgement.SMALL + 1)


def test_a_small_store_is_searched_by_meaning_unless_one_entry_holds_the_whole_question() -> None:
    asked = RankingQuestion((3.0, 1.0, 1.0), 20.0, asks=True)
    whole, most = candidate(1, (1, 1, 2)), candidate(2, (1, 1, 0))
    assert not judgement.needs_meaning(asked, [most, whole], judgement.SMALL)
    assert judgement.needs_meaning(asked, [most], judgement.SMALL)
    # A word that nothing holds is a part of the question too.
    assert judgement.needs_meaning(asked._replace(unknown=2.0), [whole], judgement.SMALL)
    assert judgement.needs_meaning(asked._replace(asks=False), [whole], judgement.SMALL)
    assert judgement.needs_meaning(ASKED, [candidate(1)], judgement.SMALL)


def test_an_answer_is_found_beside_its_question() -> None:
    question = candidate(1, session="s", seq=4)
    answer = candidate(2, (0, 0), session="s", seq=5, cosine=0.36)
    stray = candidate(3, (0, 0), cosine=0.36)
    assert order(ASKED, [stray, answer, question]) == [1, 2, 3]


def test_words_that_are_spread_over_a_few_messages_count_together() -> None:
    here = [candidate(1, (1, 0), session="s", seq=4), candidate(2, (0, 1), session="s", seq=7)]
    apart = [candidate(3, (1, 0), session="t", seq=4), candidate(4, (0, 1), session="t", seq=90)]
    scores = ranking.score_candidates(ASKED, here + apart)
    assert scores[0] > scores[2]
    assert scores[1] > scores[3]


def test_what_opens_a_session_comes_first() -> None:
    later, opening, early = candidate(3, seq=9), candidate(1, seq=0), candidate(2, seq=3)
    assert order(ASKED, [later, opening, early]) == [1, 2, 3]


@pytest.mark.parametrize(
    ("question", "speaker"),
    [
        ("how often do I go to the gym", "user"),
        ("what did we decide about the schema", ""),
        ("which book did you recommend to me", "assistant"),
        ("fix the parser", ""),
        ("miners and their imine", ""),
    ],
)
def test_a_question_says_whose_words_it_asks_for(question: str, speaker: str) -> None:
    assert recall_questions.asked_speaker(question) == speaker


def test_the_words_of_the_one_asked_for_come_first() -> None:
    by_user, by_agent = candidate(1, role="user"), candidate(2, role="assistant")
    assert order(ASKED._replace(speaker="user"), [by_agent, by_user]) == [1, 2]
    assert order(ASKED._replace(speaker="assistant"), [by_agent, by_user]) == [2, 1]


def test_what_was_said_in_the_time_asked_about_comes_first() -> None:
    early, late = candidate(1, at=10 * DAY), candidate(2, at=80 * DAY)
    assert order(ASKED._replace(period=(5 * DAY, 15 * DAY)), [late, early]) == [1, 2]
    assert order(ASKED._replace(period=(70 * DAY, 80 * DAY)), [late, early]) == [2, 1]


def test_other_sessions_of_the_same_hour_come_with_a_hit() -> None:
    hit = candidate(1, (5, 5), at=100 * DAY)
    before = candidate(2, (0, 0), at=100 * DAY - HOUR // 4)
    after = candidate(3, (0, 0), at=100 * DAY + HOUR // 4)
    long_ago = candidate(4, (0, 0), at=40 * DAY)
    assert order(ASKED, [long_ago, after, before, hit]) == [1, 2, 3, 4]


def test_the_newer_of_two_statements_about_the_same_thing_comes_first() -> None:
    old, new = candidate(1, (2, 2), at=DAY), candidate(2, (1, 1), at=90 * DAY)
    assert order(ASKED, [old, new]) == [2, 1]


def test_a_newer_statement_about_something_else_does_not() -> None:
    old, other = candidate(1, (2, 0), at=DAY), candidate(2, (0, 1), at=90 * DAY, cosine=0.55)
    assert order(ASKED, [old, other]) == [1, 2]


def test_a_newer_statement_about_another_number_does_not() -> None:
    asked = RankingQuestion((4.0, 4.0, 3.0), 20.0, asks=True)
    seventh, ninth = candidate(1, (1, 1, 1), at=DAY), candidate(2, (1, 1, 0), at=90 * DAY)
    assert order(asked, [seventh, ninth]) == [2, 1]
    numbered = asked._replace(names=recall_questions.find_names(["worker", "port", "w7"]))
    assert order(numbered, [seventh, ninth]) == [1, 2]


def test_a_newer_statement_by_the_other_side_does_not() -> None:
    old = candidate(1, (2, 2), at=DAY, role="user")
    assert order(ASKED, [old, candidate(2, at=90 * DAY, role="assistant")]) == [1, 2]


def test_a_newer_statement_that_is_far_worse_does_not() -> None:
    old, vague = candidate(1, (9, 9), at=DAY), candidate(2, (1, 1), at=90 * DAY, cosine=0.1)
    assert order(ASKED, [old, vague]) == [1, 2]


def test_a_newer_statement_that_cannot_be_trusted_does_not() -> None:
    old, new = candidate(1, (2, 2), at=DAY), candidate(2, (1, 1), at=90 * DAY, trusted=False)
    assert order(ASKED, [old, new]) == [1, 2]
    assert order(ASKED, [old._replace(trusted=False), new]) == [2, 1]


def test_a_text_that_was_said_again_stands_there_once_and_counts_as_new() -> None:
    first = candidate(1, digest="same", at=DAY, role="user")
    changed = candidate(2, at=60 * DAY, cosine=0.55, role="user")
    again = candidate(3, digest="same", at=90 * DAY, role="user")
    assert order(ASKED, [first, changed]) == [2, 1]
    assert order(ASKED, [again, changed, first]) == [1, 2, 3]


def test_of_what_an_agent_did_again_the_last_stands_there() -> None:
    first = candidate(1, digest="same", at=DAY)
    again = candidate(2, digest="same", at=90 * DAY)
    assert order(ASKED, [first, again]) == [2, 1]


def test_a_name_that_stands_there_whole_comes_before_its_parts() -> None:
    asked = RankingQuestion((1.0, 1.0, 5.0), 20.0, wholes=(2,), naming=1.0)
    whole = candidate(1, (1, 1, 1), length=4000, cosine=0.1, trusted=False)
    parts = [candidate(n, (9, 9, 0), cosine=0.9, seq=0, session="s") for n in range(2, 9)]
    assert order(asked, [*parts, whole])[0] == 1


def test_a_rule_comes_first_for_a_question_about_rules() -> None:
    rule, fact = candidate(1, standing=True), candidate(2, cosine=0.6)
    about, other = map(recall_questions.asks_for_rules, ("How should I?", "Where is it?"))
    subject = ASKED._replace(asks=False)
    assert order(subject._replace(standing=about), [fact, rule]) == [1, 2]
    assert order(subject._replace(standing=other), [fact, rule]) == [2, 1]


def test_the_question_word_for_word_comes_before_scattered_words() -> None:
    asked = RankingQuestion((1.0, 1.0), 20.0)
    quoted = candidate(1, (1, 1), length=900, cosine=0.1, phrase=True)
    assert order(asked, [candidate(2, (5, 5), cosine=0.9, seq=0), quoted]) == [1, 2]


def test_a_newer_statement_is_not_lifted_for_a_subject() -> None:
    old, new = candidate(1, at=DAY, cosine=0.6), candidate(2, at=9 * DAY)
    assert order(ASKED._replace(asks=False), [old, new]) == [1, 2]


@pytest.mark.parametrize(
    ("question", "terms"),
    [
        ("How many plants did I get last month?", ["plants", "month"]),
        ("Do you know what I got?", ["know", "got"]),
        ("which database", ["database"]),
        ("", []),
        ("how many shards have we moved so far?", ["shards", "moved"]),
    ],
)
def test_words_that_only_ask_are_not_searched_if_others_are_left(
    question: str, terms: list[str]
) -> None:
    assert recall_questions.subject_terms(question) == terms


def test_a_large_store_does_not_look_up_a_common_word_when_others_promise_enough() -> None:
    holding = {"zebra": 20, "kraken": 900, "queue": 90_000}
    choose = recall_questions.choose_stems
    assert choose(tuple(holding), 1_000_000, holding, True) == ["zebra", "kraken"]
    holding["kraken"] = 100
    assert choose(tuple(holding), 1_000_000, holding, True) == ["zebra", "kraken", "queue"]
    assert choose(("queue",), 1_000_000, holding, False) == ["queue"]


def test_a_word_of_most_entries_is_not_looked_up_when_others_promise_enough() -> None:
    drop = recall_questions.drop_weightless
    holding = {"zebra": 20, "kraken": 10, "queue": 501}
    assert drop(tuple(holding), 1_000, holding, False) == ["zebra", "kraken"]
    assert drop(tuple(holding), 1_002, holding, False) == ["zebra", "kraken", "queue"]
    holding["kraken"] = 9
    assert drop(tuple(holding), 1_000, holding, False) == ("zebra", "kraken", "queue")
    assert drop(("queue",), 1_000, holding, False) == ("queue",)
    holding["kraken"] = 179
    assert drop(tuple(holding), 1_000, holding, True) == ("zebra", "kraken", "queue")
    holding["kraken"] = 180
    assert drop(tuple(holding), 1_000, holding, True) == ["zebra", "kraken"]


def test_a_word_of_most_entries_still_ranks_what_the_others_find(mem: recollect.Recollect) -> None:
    mem.learn_many(
        [{"text": f"the red light of device {number} is steady"} for number in range(30)]
        + [{"text": f"device {number} has its own queue of orders"} for number in range(99)]
        + [{"text": "the red queue is for payments"}]
    )
    assert mem.recall("red queue")[0].text == "the red queue is for payments"
    assert len(mem.recall("queue", limit=50)) == 50


def test_a_rare_word_weighs_more_than_a_common_one() -> None:
    rare, common = (
        recall_questions.term_weight(1000, 2, 1.0),
        recall_questions.term_weight(1000, 500, 1.0),
    )
    assert rare > common > 0
    assert recall_questions.term_weight(1000, 2, 0.3) == pytest.approx(0.3 * rare)
    assert recall_questions.term_weight(10, 99, 1.0) >= 0


def test_nothing_gives_nothing() -> None:
    assert ranking.score_candidates(ASKED, []) == []
    assert (
        ranking.score_candidates(
            RankingQuestion((), 0.0), [candidate(1, (), cosine=0.0, length=0)]
        )[0]
        >= 0
    )


candidates = st.lists(
    st.builds(
        RankingCandidate,
        address=st.tuples(st.sampled_from(["a", "b"]), st.integers(1, 10**6)),
        counts=st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9)),
        length=st.integers(0, 5000),
        cosine=st.floats(-1, 1),
        at=st.integers(0, 2 * 10**15),
        session=st.sampled_from(["", "a", "b", "c"]),
        seq=st.integers(0, 12),
        role=st.sampled_from(["user", "assistant", "tool", ""]),
        trusted=st.booleans(),
        digest=st.sampled_from(["", "x", "y"]),
    ),
    max_size=12,
    unique_by=lambda item: item.address,
)
questions = st.builds(
    RankingQuestion,
    weights=st.tuples(*[st.floats(0, 12)] * 3),
    average=st.floats(0, 500),
    speaker=st.sampled_from(["", "user", "assistant"]),
    period=st.none() | st.just((0, 10**15)),
    names=st.sampled_from([(), (0,)]),
    wholes=st.sampled_from([(), (0,), (1, 2)]),
    asks=st.booleans(),
    standing=st.booleans(),
    naming=st.floats(0, 1),
    unknown=st.floats(0, 12),
    unknown_wholes=st.floats(0, 12),
)


HIGHEST = (1 + ranking.NEARBY) * (
    ranking.EXACT
    + ranking._OVER * (ranking.WORDS + ranking.MEANING + ranking.AROUND + 2 * ranking.NEIGHBOUR)
    + ranking.OPENING
    + max(ranking.SPEAKER.values())
    + ranking.PERIOD
    + ranking.STANDING
    + ranking.TYPED
)


@given(questions, candidates)
def test_a_score_is_bounded(question: RankingQuestion, held: list[RankingCandidate]) -> None:
    assert all(0 <= score <= HIGHEST + 1e-9 for score in ranking.score_candidates(question, held))


@given(questions, candidates, st.randoms(use_true_random=False))
def test_a_score_does_not_depend_on_the_order_of_the_candidates(
    question: RankingQuestion, held: list[RankingCandidate], rng: object
) -> None:
    mixed = held[:]
    rng.shuffle(mixed)  # type: ignore[attr-defined]
    one = dict(zip(held, ranking.score_candidates(question, held), strict=True))
    other = dict(zip(mixed, ranking.score_candidates(question, mixed), strict=True))
    assert one == pytest.approx(other)


@given(questions, candidates)
def test_untrusted_candidates_change_no_trusted_score(
    question: RankingQuestion, held: list[RankingCandidate]
) -> None:
    trusted = [item for item in held if item.trusted]
    among_all = dict(zip(held, ranking.score_candidates(question, held), strict=True))
    alone = dict(zip(trusted, ranking.score_candidates(question, trusted), strict=True))
    assert {item: among_all[item] for item in trusted} == alone


@given(questions, candidates)
def test_a_question_gets_the_same_answer_twice(
    question: RankingQuestion, held: list[RankingCandidate]
) -> None:
    assert ranking.score_candidates(question, held) == ranking.score_candidates(question, held)


def test_a_message_that_only_restates_the_question_scores_lower_and_is_not_lifted() -> None:
    answer = candidate(1, (1, 0), at=DAY, role="user")
    asking = candidate(2, (1, 1), at=90 * DAY, role="user")
    assert order(ASKED, [answer, asking]) == [2, 1]
    assert order(ASKED, [answer, asking._replace(restates=True)]) == [1, 2]


@pytest.mark.parametrize(
    ("question", "stems"),
    [
        ("Which port has Redis?", {"which", "port", "has", "redis"}),
        ("which port has redis", {"which", "port", "has", "redis"}),
        ("Redis: welcher Port?", {"redis", "welcher", "port"}),
        ("redis port", set()),
        ("", set()),
    ],
)
def test_the_stems_of_a_question_are_found(question: str, stems: set[str]) -> None:
    assert recall_questions.question_stems(question) == stems


def test_a_large_store_is_searched_for_the_rarer_words() -> None:
    holding = {"the": 90_000, "port": 20_000, "redis": 700, "quux": 3}
    assert recall_questions.choose_stems([*holding], 1_000_000, holding, True) == ["quux", "redis"]
    assert recall_questions.choose_stems(["the"], 1_000_000, holding, True) == ["the"]
    assert recall_questions.choose_stems([], 1_000_000, holding, True) == []


def test_a_memory_is_cut_off_later_than_a_message() -> None:
    message, memory = candidate(1), candidate(2, session="", role="user")
    scores, likely = [1.0, 0.2, 0.2], [0.9, 0.2, 0.2]
    best = candidate(3)
    found = judgement.is_tail(ASKED, [best, message, memory], likely, scores, [False] * 3)
    assert found == [False, True, False]


def test_a_search_that_the_provider_runs_is_a_call() -> None:
    action = {"type": "search", "query": "custom base url of the proxy"}
    message = Message("assistant", ({"type": "web_search_call", "action": action},))
    assert recall_questions.read_form(message, writes=False) == "call"
    said = {"type": "text", "text": "The proxy takes a custom base url."}
    assert recall_questions.read_form(Message("assistant", (said,)), writes=False) == "prose"


def test_a_passage_with_every_word_of_a_question_is_known() -> None:
    wanted = ("lock", "file", "renam", "twice")
    far = " ".join(["lock", *["more"] * 40, "file renam twice"])
    texts = ["the file is renam and lock twice", far, "the lock of the file", f"{far} the lock"]
    found = [recall_questions.holds_closely(text, wanted) for text in texts]
    assert found == [True, False, False, True]


def test_a_passage_with_every_word_is_before_words_that_are_spread() -> None:
    spread, close = candidate(1), candidate(2, close=True)
    scores = ranking.score_candidates(ASKED, [spread, close])
    assert scores[1] - scores[0] == pytest.approx(ranking.CLOSE)


@pytest.mark.parametrize(
    ("text", "announces"),
    [
        ("Now run fmt, lint, and tests.", True),
        ("Let me look at the failing test:", True),
        ("Now the build passes because the cache is cleared.", False),
        ("Then run make lint first, because the hook needs the files that it generates.", False),
        ("Now update the caller in `server.go` and add a line to its log for every request.", True),
    ],
)
def test_words_that_only_say_what_an_agent_does_next_are_known(text: str, announces: bool) -> None:
    assert recall_questions.announces_only(text) is announces


@pytest.mark.parametrize(
    ("held", "found"),
    [("a b a", (2, 1)), ("a a a b", (3, 1)), ("ab ba", (0, 0)), ("", (0, 0)), ("b b", (0, 2))],
)
def test_stems_are_counted_as_whole_words(held: str, found: tuple[int, ...]) -> None:
    assert recall_questions.count_stems([held, held], ("a", "b")) == [found, found]
    long = f"{held} {'other ' * recall_questions.LONG_TEXT}{held}"
    assert recall_questions.count_stems([long], ("a", "b")) == [tuple(2 * n for n in found)]
    assert recall_questions.count_stems([held], ()) == [()]
