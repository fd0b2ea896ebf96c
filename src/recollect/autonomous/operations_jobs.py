"""Run one leased job: its heartbeat, what becomes of a failure, and calls of a model."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from ..config import Settings
from ..context import Context, new_id
from ..errors import Conflict, RecollectError, Refused
from ..jobs import sql as jobs_sql
from ..jobs import worker_io
from ..secrets import redaction
from ..storage.database import Database
from ..text import tokens
from . import models_io, sql, steps
from .operations import Rebuilt

RETRY = 60 * steps.SECOND
"""The first delay after a failure; it doubles with each, and is spread by half of it."""


class WorkerRun(NamedTuple):
    """One run of the worker."""

    context: Context
    watch: worker_io.Watch
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
    return one._replace(
        extracted=one.extracted + other.extracted,
        proposed=one.proposed + other.proposed,
        failed=one.failed + other.failed,
        statements=one.statements + other.statements,
        skills=(*one.skills, *other.skills),
        pruned=(*one.pruned, *other.pruned),
        files=(*one.files, *other.files),
        notes=tuple(dict.fromkeys((*one.notes, *other.notes))),
    )


def beat(length: int) -> float:
    """Return the seconds between heartbeats: a quarter of the lease, at most 30."""
    return min(worker_io.HEARTBEAT, length / steps.SECOND / 4)


def next_job(run: WorkerRun, kind: str, lease: steps.Lease) -> jobs_sql.Job | None:
    """Lease the next job of a kind."""
    now = run.context.clock()
    return run.space.write(lambda tx: steps.lease_job(tx, kind, lease, now))


def start_heartbeat(run: WorkerRun, job: jobs_sql.Job, length: int) -> worker_io.Heartbeat:
    """Renew the lease of a job while it runs. A lost lease is noticed at the next write."""

    def renew() -> None:
        with suppress(Conflict):
            run.space.write(lambda tx: jobs_sql.renew_lease(tx, job, run.context.clock() + length))

    return worker_io.Heartbeat(renew, run.watch, beat(length))


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
    run: WorkerRun,
    job: jobs_sql.Job,
    who: tuple[str, models_io.ModelSpec],
    prompt: tuple[str, str],
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
