"""The ratings of statements that the project keeps: readable, and without text of others."""

from __future__ import annotations

from collections import Counter

from bench import autonomous_ratings as ratings


def test_each_kept_rating_has_a_verdict_and_no_text_of_others() -> None:
    found = ratings.load()
    assert found
    for one in found:
        assert one.verdict in ratings.VERDICTS.values()
        assert len(one.id) == 12
        assert ratings.is_plain(one.reason), one.reason
    assert max(Counter((one.round, one.id) for one in found).values()) <= 2


def test_a_statement_keeps_its_hash_when_dates_and_ids_change() -> None:
    first = "- [m-4k9w2] Never push to main, last on 2026-03-02"
    assert ratings.statement_id(first) == ratings.statement_id(
        "- [m-7xq1z] Never push to main, last on 2026-11-15"
    )
    assert ratings.statement_id(first) != ratings.statement_id("- [m-4k9w2] Push to main")
