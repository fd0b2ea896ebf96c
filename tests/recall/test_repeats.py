"""What was printed several times is shown once, and a request with what came of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import recollect
from recollect.recall import outdated, questions
from recollect.types.records import Hit
from tests.conftest import Clock

Mem = recollect.Recollect

LOG = (
    "style: checking 14 files in /home/ann/shop\nimports: ok, 31 ms\nspacing: ok, 12 ms\ndone in {}"
)


def printed(number: int, text: str, **given: object) -> outdated.RankedText:
    hit = Hit(
        id=f"s-{number}:1",
        address=f"memory://session/s-{number}/messages/1-1",
        kind="message",
        text=text,
        score=0.9 - number / 100,
        why="",
        layer="session",
        status="active",
        trust="tool",
        at=number,
        session=f"s-{number}",
        role="tool",
    )
    values = {"score": 1.0, "printed": True} | given
    return outdated.RankedText(hit, **values)  # type: ignore[arg-type]


def test_logs_of_one_check_are_one_hit() -> None:
    ranked = [printed(number, LOG.format(f"{number}.5 s")) for number in (2, 1, 3)]
    found = outdated.merge_repeats(ranked, by_time=True)
    assert [hit.at for hit in found] == [3]
    assert found[0].score == ranked[0].hit.score  # in the place of the best
    assert found[0].alike == tuple(ranked[at].hit.address for at in (0, 1))


def test_the_best_stands_for_the_others_where_time_does_not_count() -> None:
    ranked = [printed(number, LOG.format(number)) for number in (2, 3)]
    assert [hit.at for hit in outdated.merge_repeats(ranked, by_time=False)] == [2]


def test_a_much_weaker_log_does_not_stand_for_a_better_one() -> None:
    ranked = [printed(1, LOG.format(1)), printed(2, LOG.format(2), score=0.3)]
    assert [hit.at for hit in outdated.merge_repeats(ranked, by_time=True)] == [1]


@pytest.mark.parametrize(
    "other",
    [
        LOG.format("2 s") + "\nspacing: failed",
        "style: checking\nunused name in cart.py\nunused name in order.py\ntwo findings",
        "style: checking 14 files",
    ],
)
def test_another_outcome_is_no_repeat(other: str) -> None:
    found = outdated.merge_repeats([printed(1, LOG.format("1 s")), printed(2, other)], by_time=True)
    assert len(found) == 2 and not any(hit.alike for hit in found)


def test_one_line_that_tells_another_value_is_no_repeat() -> None:
    lines = [printed(1, "the shop listens on port 8080"), printed(2, "the shop listens on port 81")]
    assert len(outdated.merge_repeats(lines, by_time=True)) == 2


def test_the_result_of_another_command_is_no_repeat() -> None:
    ranked = [printed(1, LOG.format(1), command="make a"), printed(2, LOG.format(2), command="b")]
    assert len(outdated.merge_repeats(ranked, by_time=True)) == 2


def test_a_request_is_shown_with_what_came_of_it(mem: Mem, clock: Clock) -> None:
    mem.record("s", "look at the checkout latency please", role="user")
    mem.record("s", "Now let me look at the handler:", role="assistant")
    told = "The handler asks the tax service once for each item. I batch the calls now."
    mem.record("s", told, role="assistant")
    mem.record("s", "That was the old task in the background.", role="assistant")
    mem.record("s", "thanks, next one", role="user")
    clock.advance(days=1)
    found = mem.recall("checkout latency")
    assert found[0].text == "look at the checkout latency please"
    assert found[0].outcome is not None and found[0].outcome.text == told
    assert found[0].outcome.address == "memory://session/s/messages/3-3"
    assert found.tokens > mem.recall("checkout latency", kind=["user"])[0].tokens - 1


def test_an_imported_request_is_shown_with_what_came_of_it(mem: Mem, tmp_path: Path) -> None:
    told = "The handler asks the tax service once for each item. I batch the calls now."
    turns = [("user", "look at the checkout latency please"), ("assistant", told)]
    lines = [json.dumps({"role": role, "content": text}) for role, text in turns]
    (tmp_path / "old.jsonl").write_text("\n".join(lines), encoding="utf-8")
    mem.import_transcripts(str(tmp_path / "old.jsonl"), agent="messages")
    found = mem.recall("checkout latency")
    assert found[0].trust == "import"
    assert found[0].outcome is not None and found[0].outcome.text == told


def test_a_reply_that_is_a_hit_stands_before_its_request(mem: Mem) -> None:
    mem.record("s", "the checkout latency is too high", role="user")
    told = "The checkout latency comes from the tax service: one call for each item."
    mem.record("s", told, role="assistant")
    mem.record("s", "ok", role="user")
    found = mem.recall("checkout latency")
    assert [hit.role for hit in found] == ["assistant", "user"]
    assert found[1].outcome is None  # it is shown already


def test_an_announcement_is_no_outcome(mem: Mem) -> None:
    mem.record("s", "look at the checkout latency please", role="user")
    mem.record("s", "I'll look at the handler of the checkout now:", role="assistant")
    found = mem.recall("latency please")
    assert found[0].role == "user" and found[0].outcome is None


@pytest.mark.parametrize(
    "said",
    [
        "I’ll spawn a worker for the report, so that the branch can stay small.",
        "I’m checking that it starts cleanly before I wait for it.",
        "While that runs, let me look at the history of the file.",
    ],
)
def test_announcements_in_other_words(said: str) -> None:
    assert questions.announces_only(said)
