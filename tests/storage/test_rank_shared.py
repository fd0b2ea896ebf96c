"""Which of the entries with some stems come first."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from recollect.storage.database import rank_shared

STEMS = "abcdef"


@given(
    st.dictionaries(st.sampled_from(STEMS), st.sets(st.integers(1, 30)), min_size=1),
    st.lists(st.sampled_from([1.0, 1.5, 2.0, 4.0]), min_size=len(STEMS), max_size=len(STEMS)),
)
def test_entries_with_several_stems_come_first_then_the_heaviest_then_the_newest(
    holding: dict[str, set[int]], heavy: list[float]
) -> None:
    weights = dict(zip(holding, heavy, strict=False))
    listed = {stem: ",".join(map(str, sorted(held))) or None for stem, held in holding.items()}

    def place(entry: int) -> tuple[bool, float, int, int]:
        held = [stem for stem in weights if entry in holding[stem]]
        total = sum(weights[stem] for stem in held)
        first = -list(weights).index(held[0]) if len(held) == 1 else 0
        return len(held) > 1, total, first, entry

    entries = sorted(set().union(*holding.values()), key=place, reverse=True)
    assert list(rank_shared(listed, weights)) == [str(entry) for entry in entries]
