"""The same answers on both engines, and before and after a rebuild."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect.archive import steps as archive_steps
from recollect.memory import operations as memory_operations
from recollect.types.records import Message

from ..conftest import Clock

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


def fill(mem: recollect.Recollect) -> None:
    """A store in which searches are cut off among equals: copies, short messages, all kinds."""
    things = ("gateway", "parser", "scheduler", "ledger", "cache")
    for number in range(60):
        thing = things[number % 5]
        record(
            mem,
            f"s-{(number * 7) % 60:02}",
            f"deploy the {thing}",
            "please continue",
            f"the {thing} fails with error E{number % 9}: see src/{thing}.py and retry",
            f"I want the {thing} to log every retry, number {number}",
        )
    for layer in ("project", "user"):
        mem.learn_many(
            [
                {
                    "text": f"{things[number % 5]} {number}: retry at most {number % 4} times",
                    "kind": ("fact", "decision", "pitfall")[number % 3],
                    "tags": ["often"] if number % 2 else [],
                    "scope": ["src/*.py"] if number % 3 else [],
                }
                for number in range(90 if layer == "project" else 20)
            ],
            layer=layer,
        )
    mem.procedures.learn("deploy", "how to deploy the gateway", steps=["retry twice"])
    mem.notes.set("# Goal\nThe gateway must retry")
    ids = [one.id for one in mem.list(limit=12)]
    for id in ids[:4]:
        mem.memories.hide(id)
    for place, id in enumerate(ids[4:8]):
        mem.memories.correct(id, f"the gateway retries never, as of version {place}")
    mem.store.rebuild(missing=True)


QUESTIONS = (
    "gateway",
    "please continue",
    "how often does the parser retry?",
    "why does the scheduler fail with E3",
    "src/ledger.py",
    "what did I say about the cache",
    '"deploy the gateway"',
)
FILTERS: dict[str, tuple[Any, ...]] = {
    "kind": ((), ("message",), ("fact",), ("decision", "pitfall"), ("user",)),
    "layer": ((), ("project",), ("user",)),
    "tags": ((), ("often",)),
    "file": ("", "src/ledger.py"),
    "session": ("", "s-07"),
    "since": ("", "2026-09-20"),
    "until": ("", "2026-10-01"),
    "status": ((), ("active",), ("hidden", "superseded")),
    "as_of": ("", "2026-10-01"),
}


def pairs() -> list[dict[str, Any]]:
    """No filter, each filter, and each pair of them."""
    single = [{name: one} for name, values in FILTERS.items() for one in values if one]
    both = [
        {**one, **other}
        for place, one in enumerate(single)
        for other in single[place + 1 :]
        if one.keys().isdisjoint(other)
    ]
    return [{}, *single, *both]


def open_on(
    project: Path, home: Path, clock: Callable[[], int], database: str = ""
) -> recollect.Recollect:
    variables = {"RECOLLECT_HOME": str(home), "HOME": str(home), "PATH": os.environ["PATH"]}
    variables |= {"RECOLLECT_DATABASE": database} if database else {}
    return recollect.open(project, clock=clock, environment=variables, origin="user")


def test_both_engines_answer_alike_in_six_statements(
    project: Path,
    tmp_path: Path,
    clock: Clock,
    postgres_ready: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import psycopg

    with open_on(project, tmp_path / "home", clock) as ours:
        fill(ours)
        assert ours.store.stats().unembedded == 0
        ours.store.migrate(postgres_ready)
        ours.store.migrate(postgres_ready, layer="user")
    asked: list[str] = []
    execute = psycopg.Cursor.execute

    def spy(self: Any, query: Any, *more: Any, **named: Any) -> Any:
        asked.append(str(query))
        return execute(self, query, *more, **named)

    with (
        open_on(project, tmp_path / "home", clock) as ours,
        open_on(project, tmp_path / "home", clock, postgres_ready) as theirs,
    ):
        theirs.store.rebuild()
        monkeypatch.setattr(memory_operations, "note_recalls", lambda *given: None)
        monkeypatch.setattr(psycopg.Cursor, "execute", spy)
        assert theirs.recall("gateway")
        for place, filters in enumerate(pairs()):
            for question in QUESTIONS if len(filters) < 2 else QUESTIONS[place % 7 :: 7]:
                here = ours.recall(question, **filters)
                asked.clear()
                there = theirs.recall(question, **filters)
                # The last digits of a sum depend on the order of its parts.
                found = [
                    [one._replace(score=round(one.score, 9)) for one in each]
                    for each in (here, there)
                ]
                assert found[1] == found[0], (question, filters)
                assert (there.left_out, there.notes) == (here.left_out, here.notes)
                assert len(asked) <= 6, (question, filters, asked)
