"""Recollect as it is installed: a new project in a new folder, `record`, `recall`.

Every turn is a message with its role and its date, recorded through the public API; a hit is
mapped back by its session and its place there. It is asked a moment after the newest turn, as a
user would ask: no set says more than its questions.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import environ
from tempfile import TemporaryDirectory

import recollect
from recollect.types.records import ROLES

from .baselines import Retriever
from .datasets import Item

EVERYTHING = 1_000_000_000
_MINUTE = 60_000_000


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
        for item in items:
            session = self._sessions.setdefault(item.session, f"s-{len(self._sessions)}")
            role = item.role if item.role in ROLES else "user"
            message = recollect.Message(role, item.text, at=item.at)
            done = self.opened.record(session, message)
            self._items[done.session, done.seq] = item.id
        self.opened.store.rebuild(missing=True)
        self.opened.store.rebuild(missing=True)

    def search(self, question: str, count: int) -> list[str]:
        found = self.opened.recall(question, limit=count, budget=EVERYTHING)
        return [self._items[hit.session, int(hit.id.rpartition(":")[2])] for hit in found]

    def close(self) -> None:
        self.opened.close()
        self._folder.cleanup()
