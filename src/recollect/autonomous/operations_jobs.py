"""Run one leased job: when to stop, its heartbeat, what becomes of a failure, calls of a model."""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from ..config import Settings
from ..context import Context, new_id
from ..errors import Conflict, RecollectError, Refused
from ..jobs import sql as jobs_sql
from ..secrets import redaction
from ..storage.database import Database
from ..text import tokens
from . import models_io, sql, steps
from .operations import Rebuilt

HEARTBEAT = 30.0
"""Seconds between two renewals of a lease."""

RETRY = 60 * steps.SECOND
"""The first delay after a failure; it doubles with each, and is spread by half of it."""


class Watch:
    """Tells a worker when to stop: its parent is gone, or its lease was lost.

    A parent that was gone before the work began is not waited for: the work ends when the queue is
    empty.
    """

    def __init__(self, parent: int = 0) -> None:
        self._parent = parent if parent > 1 and _is_alive(parent) else 0
        self.lost = threading.Event()

    def should_stop(self) -> bool:
        """Check whether to stop before the next job."""
        return self.lost.is_set() or bool(self._parent and not _is_alive(self._parent))


class Heartbeat:
    """Renews leases in a thread of its own while work is going on.

    `renew` raises when a lease was lost; then the watch says so, and the thread ends.
    """

    def __init__(self, renew: Callable[[], None], watch: Watch, every: float = HEARTBEAT) -> None:
        self._renew = renew
        self._watch = watch
        self._every = every
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self) -> Heartbeat:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _beat(self) -> None:
        try:
            while not self._done.wait(self._every):
                self._renew()
        except Exception:
            self._watch.lost.set()
            raise


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # it runs, as another user
    return True


class WorkerRun(NamedTuple):
    """One run of the worker."""

    context: Context
    watch: Watch
    owner: str
    default: models_io.ModelSpec | None
    smol: models_io.ModelSpec | None

    @property
    def space(self) -> Database:
        return self.context.project_space

    @property
    def settings(self) -> Settings:
        return self.context.settings

    def lease(self, model: models_io.ModelSpec | None, times: float = 1.0) -> steps.Lease:
        cap = self.settings.memories_daily_token_cap if model else -1
        length = round(self.settings.memories_lease_seconds * times * steps.SECOND)
        return steps.Lease(self.owner, length, cap)


def add(one: Rebuilt, other: Rebuilt) -> Rebuilt:
    """Return the results of two parts of a run together."""
    names = ("extracted", "proposed", "failed", "statements", "skills", "pruned", "files")
    sums = {name: getattr(one, name) + getattr(other, name) for name in names}
    return one._replace(**sums, notes=tuple(dict.fromkeys((*one.notes, *other.notes))))


def beat(length: int) -> float:
    """Return the seconds between heartbeats: a quarter of the lease, at most 30."""
    return min(HEARTBEAT, length / steps.SECOND / 4)


def next_job(run: WorkerRun, kind: str, lease: steps.Lease) -> jobs_sql.Job | None:
    """Lease the next job of a kind."""
    now = run.context.clock()
    return run.space.write(lambda tx: steps.lease_job(tx, kind, lease, now))


def start_heartbeat(run: WorkerRun, job: jobs_sql.Job, length: int) -> Heartbeat:
    """Renew the lease of a job while it runs. A lost lease is noticed at the next write."""

    def renew() -> None:
        with suppress(Conflict):
            run.space.write(lambda tx: jobs_sql.renew_lease(tx, job, run.context.clock() + length))

    return Heartbeat(renew, run.watch, beat(length))


def attempt(
    run: WorkerRun,
    job: jobs_sql.Job,
    work: Callable[[], Rebuilt],
    instead: Callable[[], object] | None = None,
) -> Rebuilt:
    """Run the work of a job; after a failure release it with the reason. `instead` may run after
    the last try."""
    try:
        return work()
    except Conflict as error:
        return Rebuilt(notes=(error.message,))
    except (RecollectError, models_io.ModelFailure) as error:
        told = f"{error.message} ({error.where})" if error.where else error.message
        wait = getattr(error, "pause", 0.0)
        delay = round(wait * steps.SECOND) or _delay(job.failures)
        how = {
            "counts": not (isinstance(error, Refused) and "cap" in error.message),
            "final": bool(getattr(error, "final", False)),
            "pause": bool(wait),
        }
        now = run.context.clock()
        try:
            status = run.space.write(lambda tx: steps.give_back(tx, job, told, now, delay, how))
        except Conflict as lost:
            return Rebuilt(notes=(lost.message,))
        if status == "error" and instead:
            instead()
        return Rebuilt(failed=1, notes=(told,))


def _delay(failures: int) -> int:
    """Return the microseconds until the next try, spread so that tries do not meet."""
    return int(RETRY * 2 ** max(failures - 1, 0) * random.uniform(0.5, 1.5))


def ask(
    run: WorkerRun, job: jobs_sql.Job, who: tuple[str, models_io.ModelSpec], prompt: tuple[str, str]
) -> str:
    """Ask a model once; the ledger has the call before it is made."""
    role, model = who
    most = run.settings.memories_answer_tokens
    call = sql.SpendRow(
        id=new_id("call"),
        role=role,
        model=redaction.redact(model.title),
        purpose=job.kind,
        input_tokens=tokens.estimate_tokens(sum(map(len, prompt))),
        output_tokens=most,
        at=run.context.clock(),
    )
    cap = run.settings.memories_daily_token_cap
    run.space.write(lambda tx: steps.begin_call(tx, job, call, cap))
    answer = models_io.ask(model, *prompt, most, run.settings.models_timeout)
    run.space.write(
        lambda tx: sql.correct_call(tx, call.id, answer.input_tokens, answer.output_tokens)
    )
    return answer.text
