"""What a record adds to a match: little, and in the right direction."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.recall import steps_hits as recall_steps_hits
from recollect.types.records import ORIGINS, STATUSES


@given(st.sampled_from(ORIGINS), st.sampled_from(STATUSES), st.floats(0, 1e9))
def test_what_a_record_adds_is_bounded(label: str, status: str, strong: float) -> None:
    assert 0.4 < recall_steps_hits.weigh_trust(label, status, strong) < 1.2


@given(st.floats(0, 1e6), st.floats(0, 1e6))
def test_a_stronger_memory_is_never_lowered(one: float, other: float) -> None:
    weak, strong = sorted((one, other))
    assert recall_steps_hits.weigh_trust("user", "active", weak) <= recall_steps_hits.weigh_trust(
        "user", "active", strong
    )


@pytest.mark.parametrize(("better", "worse"), [("user", "agent"), ("agent", "tool")])
def test_what_is_trusted_more_is_raised_more(better: str, worse: str) -> None:
    assert recall_steps_hits.weigh_trust(better, "active") > recall_steps_hits.weigh_trust(
        worse, "active"
    )


def test_what_is_in_use_comes_before_what_is_hidden() -> None:
    assert recall_steps_hits.weigh_trust("user", "active") > recall_steps_hits.weigh_trust(
        "user", "hidden"
    )
