"""A store against a dictionary: any sequence of operations by two clients, with crashes in between,
restarts and steps of the clock, gives what a dictionary would give."""

from __future__ import annotations

import os
import random
import signal
from itertools import count
from pathlib import Path
from typing import Any

import apsw
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import recollect
from recollect.storage.postgres.tx import PostgresTx
from tests.conftest import Clock
from tests.faults.tiers import choose

EXAMPLES, STEPS = choose(4, 60, 500), choose(15, 40, 50)
LETTERS = "bcdfghjklmnprstvz"


def word(number: int) -> str:
    """Return a word that stands in one text only."""
    chosen = random.Random(number)
    return "".join(chosen.choice(LETTERS) + chosen.choice("aeiou") for _ in range(5)) + "x"


def text(number: int) -> str:
    """Return a statement that is like no other."""
    return " ".join(word(number * 10 + place) for place in range(5))


class Model(RuleBasedStateMachine):
    """The dictionary, and two clients of one store."""

    environment: dict[str, str]
    root: Path
    numbers = count()

    @initialize()
    def begin(self) -> None:
        self.project = self.root / f"project{next(self.numbers)}"
        self.project.mkdir()
        self.clock = Clock()
        self.clients = [self._open(), self._open()]
        self.turn = 0
        self.next = count(1)
        self.texts: dict[str, list[int]] = {}
        """The numbers of a memory's texts, the current one last."""
        self.hidden: set[str] = set()
        self.edited: set[str] = set()
        self.forgotten: list[int] = []

    def _open(self) -> recollect.Recollect:
        return recollect.open(
            self.project, environment=self.environment, clock=self.clock, origin="user"
        )

    @property
    def client(self) -> recollect.Recollect:
        self.turn += 1
        return self.clients[self.turn % 2]

    def _pick(self, data: Any, of: Any) -> str:
        return str(data.draw(st.sampled_from(sorted(of))))

    @rule()
    def learn(self) -> None:
        number = next(self.next)
        done = self.client.learn(text(number))
        assert done.action == "created"
        self.texts[done.id] = [number]

    @precondition(lambda self: {*self.texts} - self.hidden)
    @rule(data=st.data())
    def learn_again(self, data: Any) -> None:
        id = self._pick(data, {*self.texts} - self.hidden)
        assert self.client.learn(text(self.texts[id][-1])).id == id

    @precondition(lambda self: self.forgotten)
    @rule(data=st.data())
    def learn_what_was_forgotten(self, data: Any) -> None:
        number = data.draw(st.sampled_from(self.forgotten))
        assert self.client.learn(text(number)).action == "skipped"

    @precondition(lambda self: {*self.texts} - self.hidden)
    @rule(data=st.data())
    def edit(self, data: Any) -> None:
        id, number = self._pick(data, {*self.texts} - self.hidden), next(self.next)
        assert self.client.memories.correct(id, text(number)).id == id
        self.texts[id].append(number)
        self.edited.add(id)

    @precondition(lambda self: self.edited - self.hidden)
    @rule(data=st.data())
    def undo(self, data: Any) -> None:
        id = self._pick(data, self.edited - self.hidden)
        *_, before, now = self.texts[id]
        assert self.client.memories.undo(id).text == text(before)
        self.texts[id] += [before] if before != now else []

    @precondition(lambda self: {*self.texts} - self.hidden)
    @rule(data=st.data())
    def hide(self, data: Any) -> None:
        id = self._pick(data, {*self.texts} - self.hidden)
        self.client.memories.hide(id)
        self.hidden.add(id)
        self.edited.discard(id)

    @precondition(lambda self: self.hidden)
    @rule(data=st.data())
    def restore(self, data: Any) -> None:
        id = self._pick(data, self.hidden)
        self.client.memories.restore(id)
        self.hidden.discard(id)

    @precondition(lambda self: {*self.texts} - self.hidden)
    @rule(data=st.data())
    def confirm(self, data: Any) -> None:
        id = self._pick(data, {*self.texts} - self.hidden)
        assert self.client.memories.confirm(id).text == text(self.texts[id][-1])
        self.edited.discard(id)

    @precondition(lambda self: self.texts)
    @rule(data=st.data())
    def forget(self, data: Any) -> None:
        id = self._pick(data, self.texts)
        assert self.client.memories.forget(id, yes=True).applied
        self.forgotten += self.texts.pop(id)
        self.hidden.discard(id)
        self.edited.discard(id)

    @rule(at=st.integers(1, 40))
    def crash(self, at: int) -> None:
        """Learn in a process that is killed at some statement: it is there, or it is not."""
        number = next(self.next)
        child = os.fork()
        if not child:
            _die_at(at)
            self._open().learn(text(number))
            os._exit(0)
        os.waitpid(child, 0)
        found = [one for one in self.client.list(limit=1000) if one.text == text(number)]
        if found:
            self.texts[found[0].id] = [number]

    @rule(client=st.integers(0, 1))
    def reopen(self, client: int) -> None:
        self.clients[client].close()
        self.clients[client] = self._open()

    @rule(hours=st.sampled_from([-8760, -25, -1, 1, 25, 8760]))
    def step_clock(self, hours: int) -> None:
        self.clock.advance(hours=hours)

    @precondition(lambda self: self.texts)
    @rule(data=st.data())
    def recall(self, data: Any) -> None:
        id = self._pick(data, self.texts)
        asked = word(self.texts[id][-1] * 10 + data.draw(st.integers(0, 4)))
        assert id in [hit.id for hit in self.client.recall(asked, limit=5)]

    @precondition(lambda self: self.forgotten)
    @rule(data=st.data())
    def recall_what_was_forgotten(self, data: Any) -> None:
        number = data.draw(st.sampled_from(self.forgotten))
        assert text(number) not in [hit.text for hit in self.client.recall(word(number * 10))]

    @invariant()
    def both_clients_list_what_the_dictionary_holds(self) -> None:
        for client in getattr(self, "clients", ()):
            active = {one.id: one.text for one in client.list(status="active", limit=1000)}
            hidden = {one.id: one.text for one in client.list(status="hidden", limit=1000)}
            wanted = {id: text(numbers[-1]) for id, numbers in self.texts.items()}
            assert active == {id: one for id, one in wanted.items() if id not in self.hidden}
            assert hidden == {id: one for id, one in wanted.items() if id in self.hidden}

    def teardown(self) -> None:
        for client in getattr(self, "clients", ()):
            assert not [
                check.detail
                for check in client.store.doctor().checks
                if not check.ok and "store" in check.name
            ]
            client.close()


def _die_at(statement: int) -> None:
    """Kill this process at its n-th statement, on either engine."""
    done = 0

    def seen(*_: object) -> None:
        nonlocal done
        done += 1
        if done == statement:
            os.kill(os.getpid(), signal.SIGKILL)

    apsw.connection_hooks.append(lambda one: one.trace_v2(apsw.SQLITE_TRACE_STMT, seen))
    for name in ("run", "one", "many"):
        original = getattr(PostgresTx, name)

        def counted(self: Any, *given: Any, original: Any = original, **named: Any) -> Any:
            seen()
            return original(self, *given, **named)

        setattr(PostgresTx, name, counted)


def test_a_store_does_what_a_dictionary_does(tmp_path: Path, environment: dict[str, str]) -> None:
    machine = type("ModelHere", (Model,), {"environment": environment, "root": tmp_path})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=STEPS,
            deadline=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        ),
    )
