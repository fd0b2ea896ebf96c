"""Search of past sessions: all messages, also those that left the window long ago."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import recollect
from recollect.recall.steps_session_search import score_message
from recollect.text.messages import searchable_text
from tests.conftest import Clock
from tests.window.test_windows import talk

Mem = recollect.Recollect


@pytest.mark.parametrize("mode", ["ranked", "plain"])
def test_text_that_was_trimmed_five_times_ago_is_found(mem: Mem, mode: str) -> None:
    mem.record("s-1", "The heron protocol wants a nonce in every frame, remember that.")
    trims = 0
    for n in range(0, 100, 4):
        talk(mem, 4, n)
        trims += mem.prepare("s-1", 5_000).trimmed
        if trims >= 6:
            break
    assert trims >= 6
    prompt = " ".join(searchable_text(m) for m in mem.prepare("s-1", 5_000).messages[1:])
    assert "heron protocol" not in prompt
    [found, *_] = mem.sessions.search("heron protocol nonce", mode=mode)
    assert found.address == "memory://session/s-1/messages/1-1"
    assert "heron protocol" in found.preview
    assert mem.recall("heron protocol nonce")[0].address == found.address


@pytest.mark.parametrize("mode", ["ranked", "plain"])
def test_a_nonsense_query_returns_nothing(mem: Mem, mode: str) -> None:
    talk(mem, 3)
    for query in ("zzyzx flurble", "", "?!", "%", "\x00"):
        assert mem.sessions.search(query, mode=mode) == ()


def test_the_ranked_mode_finds_by_meaning(mem: Mem) -> None:
    mem.record("s-1", "The automobile needs new brakes before the winter.")
    mem.record("s-2", "Lunch is at noon.")
    mem.store.rebuild(missing=True)
    found = mem.sessions.search("car brake repair")
    assert found[0].session == "s-1"
    assert "meaning" in found[0].why


def test_the_plain_mode_gives_the_seeds_numbers(mem: Mem, clock: Clock) -> None:
    mem.record("a", "we did the token refresh in the client", name="Client work")
    mem.record("b", "refresh the page, then the token appears", name="Token bugs")
    mem.record("c", "a token of thanks")
    mem.record("d", "nothing of the kind")
    clock.advance(days=1)
    mem.record("e", "a token of regret")
    found = mem.sessions.search("token refresh", mode="plain")
    assert [(item.session, item.score) for item in found] == [
        ("a", 3 + 2 + 1.5),
        ("b", 2 + 1.5 + 0.5),
        ("e", 1.0),
        ("c", 1.0),
    ]
    assert found[0].name == "Client work"
    assert found[0].role == "user"


words = st.sampled_from(["token", "refresh", "page", "cache", "the", "heron", "nonce", "server"])


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    st.lists(st.lists(words, min_size=1, max_size=6), min_size=1, max_size=8),
    st.lists(words, min_size=1, max_size=3),
)
def test_the_plain_mode_is_the_same_as_reading_everything(
    texts: list[list[str]], query: list[str]
) -> None:
    """Only a word that says nothing finds nothing by itself, where others were asked for."""
    with recollect.open(incognito=True) as mem:
        for at, text in enumerate(texts):
            mem.record(f"s-{at % 3}", " ".join(text), name=f"About {text[0]}")
        asked = " ".join(query)
        said = {word for word in query if word != "the"} or {"the"}
        every = [
            score_message(asked, whole, session.name)
            for session in mem.sessions.list()
            for stored in mem.sessions.show(session.id).messages
            if said & set((whole := searchable_text(stored.message)).split())
        ]
        found = mem.sessions.search(asked, max_results=50, mode="plain")
    assert [item.score for item in found] == sorted(every, reverse=True)
    assert [(-item.score, -item.at) for item in found] == sorted(
        (-item.score, -item.at) for item in found
    )


def test_the_answer_is_bounded_in_sessions_and_messages(mem: Mem) -> None:
    for session in ("a", "b", "c"):
        for n in range(4):
            mem.record(session, f"the cache of {session} was cold, try {n}")
    for mode in ("ranked", "plain"):
        found = mem.sessions.search("cache cold", max_results=6, max_sessions=2, mode=mode)
        assert len(found) == 6
        assert len({item.session for item in found}) == 2


def test_a_long_message_is_shown_around_the_match(mem: Mem) -> None:
    mem.record("s", "padding " * 2_000 + "the needle is here " + "padding " * 2_000)
    for mode in ("ranked", "plain"):
        [found] = mem.sessions.search("needle", mode=mode)
        assert "needle" in found.preview
        assert 300 < len(found.preview) < 700


@pytest.mark.parametrize("wrong", [{"mode": "seed"}, {"max_results": 0}, {"max_sessions": 0}])
def test_invalid_arguments_are_refused(mem: Mem, wrong: dict[str, int]) -> None:
    with pytest.raises(recollect.InvalidInput):
        mem.sessions.search("x", **wrong)  # type: ignore[arg-type]
