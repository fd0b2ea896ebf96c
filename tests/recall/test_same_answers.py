"""The same answers before and after a rebuild."""

from __future__ import annotations

import recollect
from recollect.archive import steps as archive_steps
from recollect.types.records import Message

_AT = 1_780_000_000_000_000


def record(mem: recollect.Recollect, session: str, *texts: str) -> None:
    """Record messages of a user, all of one moment, as an import of copied sessions does."""
    new = archive_steps.build_session(session, "", agent="", cwd="", branch="", origin="user")
    ready = [
        archive_steps.prepare(archive_steps.Incoming(Message("user", text, at=_AT)), _AT)
        for text in texts
    ]
    mem.context.project_space.write(lambda tx: archive_steps.record(tx, new, ready, _AT))


def ask(mem: recollect.Recollect, question: str) -> list[tuple[str, float]]:
    return [(hit.address, hit.score) for hit in mem.recall(question, limit=20)]


def test_the_order_of_indexing_does_not_decide_between_equals(mem: recollect.Recollect) -> None:
    for session in ("s-c", "s-a", "s-b"):
        record(mem, session, "deploy the gateway", "please continue", "the gateway is slow again")
    mem.store.rebuild(missing=True)
    questions = ("gateway", "deploy the gateway", "is the gateway slow?", "please continue")
    before = [ask(mem, question) for question in questions]
    assert all(before)
    mem.store.rebuild()
    assert [ask(mem, question) for question in questions] == before
