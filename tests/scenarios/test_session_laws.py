"""The laws of windows and summaries, on generated sessions, through the real store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import recollect
from recollect.archive import steps as archive_steps
from recollect.archive.operations import build_session
from recollect.text.messages import NumberedMessage, plain_text
from recollect.types.records import Message
from tests.builders.sessions import sessions
from tests.window.test_trim import orphans

Mem = recollect.Recollect
numbers = count()


@pytest.fixture(scope="module")
def store() -> Iterator[Mem]:
    with recollect.open(incognito=True, environment={}) as memory:
        yield memory


def keep(mem: Mem, session: str, messages: Sequence[Message]) -> None:
    """Record many messages in one transaction."""
    ready = [archive_steps.prepare(archive_steps.Incoming(message), 1) for message in messages]
    new = build_session(mem.context, session)
    mem.context.project_space.write(lambda tx: archive_steps.record(tx, new, ready, 1))


def always_kept(messages: Sequence[Message]) -> bool:
    """Whether there is nothing but the system prompt, the summary and requests."""
    return {message.role for message in messages} <= {"system", "user"}


@settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))
@given(session=sessions(), context=st.integers(700, 12_000))
def test_every_law_holds_for_generated_sessions(
    store: Mem, session: list[NumberedMessage], context: int
) -> None:
    at = next(numbers)
    id, marker = f"s-{at}", f"marker{at}word"
    keep(store, id, [Message("user", f"Begin with {marker}"), *(n.message for n in session)])
    newest = [n.message for n in session if n.message.role == "user"]
    first = store.prepare(id, context, system="Be careful.")

    # Within the budget, or only what is always kept; the system prompt first; no orphans; the
    # newest request is there.
    assert first.fits or always_kept(first.messages)
    assert first.messages[0] == Message("system", "Be careful.")
    assert orphans(first.messages) == set()
    if newest:
        assert plain_text(newest[-1]) in [plain_text(message) for message in first.messages]

    # Again, nothing changes; after another message, only the end does.
    again = store.prepare(id, context, system="Be careful.")
    assert again.messages == first.messages
    keep(store, id, [Message("assistant", "Noted.")])
    grown = store.prepare(id, context, system="Be careful.")
    assert grown.trimmed or grown.messages[: len(first.messages)] == first.messages

    # Each attempt after a refusal leaves less, until nothing can go.
    kept = grown
    for attempt in (1, 2, 3):
        try:
            less = store.sessions.overflow(id, attempt)
        except recollect.Overflow:
            break
        assert less.tokens < kept.tokens
        assert orphans(less.messages) == set()
        if newest:
            assert plain_text(newest[-1]) in [plain_text(message) for message in less.messages]
        kept = less

    # The summary says where the rest is, and that is where it is; the archive is whole.
    shown = store.sessions.show(id, 1, 999)
    assert shown.session is not None
    assert len(shown.messages) == len(session) + 2
    if shown.session.summary:
        address = shown.session.summary.split("Where the rest is: ")[1].split()[0]
        assert store.show(address).messages[0].seq <= 2
        assert f"Begin with {marker}" in shown.session.summary
    assert [found.session for found in store.sessions.search(marker, mode="plain")] == [id]
