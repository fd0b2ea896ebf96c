"""Recollect as it is installed: a new project in a new folder, its archive, `recall`.

Every turn is a message with its role and its date, recorded a session at a time as an import does;
a hit is mapped back by its session and its place there. It is asked a moment after the newest turn,
as a user would ask: no set says more than its questions.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import environ
from tempfile import TemporaryDirectory

import recollect
from recollect.archive import steps as archive_steps
from recollect.types.records import ROLES, Message

from .baselines import Retriever
from .datasets import Item

EVERYTHING = 1_000_000_000
_MINUTE = 60_000_000


def record_session(
    opened: recollect.Recollect, session: str, messages: Sequence[Message], now: int
) -> list[tuple[str, int]]:
    """Record the messages of a session in one transaction; return session and number of each."""
    new = archive_steps.build_session(session, "", agent="", cwd="", branch="", origin="user")
    ready = [archive_steps.prepare(archive_steps.Incoming(one), now) for one in messages]
    done = opened.context.project_space.write(lambda tx: archive_steps.record(tx, new, ready, now))
    return [(one.session, one.seq) for one in done]


class Product(Retriever):
    """One memory; the person on either side of a talk between people is a user."""

    def __init__(self) -> None:
        self._folder = TemporaryDirectory(prefix="recollect-bench-")
        self._now = 0
        variables = {"RECOLLECT_HOME": f"{self._folder.name}/home", "PATH": environ["PATH"]}
        self.opened = recollect.open(
            self._folder.name, clock=lambda: self._now, origin="user", environment=variables
        )
        self._sessions: dict[str, str] = {}
        self._items: dict[tuple[str, int], str] = {}

    def add(self, items: Sequence[Item]) -> None:
        self._now = max([self._now, *(item.at + _MINUTE for item in items)])
        sessions: dict[str, list[Item]] = {}
        for item in items:
            name = self._sessions.setdefault(item.session, f"s-{len(self._sessions)}")
            sessions.setdefault(name, []).append(item)
        for name, held in sessions.items():
            messages = [
                Message(one.role if one.role in ROLES else "user", one.text, at=one.at)
                for one in held
            ]
            places = record_session(self.opened, name, messages, self._now)
            self._items |= zip(places, [one.id for one in held], strict=True)
        self.opened.store.rebuild(missing=True)
        self.opened.store.rebuild(missing=True)

    def search(self, question: str, count: int) -> list[str]:
        found = self.opened.recall(question, limit=count, budget=EVERYTHING)
        return [self._items[hit.session, int(hit.id.rpartition(":")[2])] for hit in found]

    def close(self) -> None:
        self.opened.close()
        self._folder.cleanup()
