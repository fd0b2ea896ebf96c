"""Work off the queue: phase 1 for each session, then phase 2, as the only worker of the store.

A model is asked outside of any transaction. Each effect is one transaction that proves the lease.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial

from ..context import Context, new_id
from ..jobs import sql as jobs_sql
from ..lessons import manifests_io
from ..project import user_directory
from ..secrets import redaction
from ..types.records import Json, Stored
from . import (
    evidence,
    files_io,
    models_io,
    operations_summarise,
    prompts,
    sql,
    statements,
    steps,
    worker_io,
)
from .operations import Rebuilt
from .operations_jobs import WorkerRun, add, ask, attempt, beat, leased, next_job

WORKER = "worker"


def work(context: Context, watch: worker_io.Watch) -> Rebuilt:
    """Work off the queue; return at once when another worker of this store is at it."""
    settings, owner = context.settings, new_id("w")
    default = models_io.parse_model(
        settings.models_default, settings.models_key, context.environment
    )
    smol = models_io.parse_model(settings.models_smol, settings.models_key, context.environment)
    run = WorkerRun(context, watch, owner, default, smol or default)
    space, length = context.project_space, run.lease(None).length
    now = context.clock()
    worker = space.write(lambda tx: jobs_sql.acquire_lease(tx, WORKER, owner, now, length))
    if worker is None:
        return Rebuilt(notes=("another worker is at it",))

    def renew() -> None:
        space.write(lambda tx: jobs_sql.renew_lease(tx, worker, context.clock() + length))

    before = space.read(lambda tx: sql.sum_since(tx, 0))
    done = Rebuilt(model=default.title if default else "rules")
    try:
        with worker_io.Heartbeat(renew, watch, beat(length)):
            done = add(done, _phase_one_side_by_side(run))
            done = add(done, operations_summarise.phase_two(run))
    finally:
        space.write(lambda tx: jobs_sql.finish_job(tx, worker, {}, context.clock()))
    after = space.read(lambda tx: sql.sum_since(tx, 0))
    return done._replace(calls=after[0] - before[0], tokens=after[1] - before[1])


# ---------------------------------------------------------------- phase 1


def _phase_one_side_by_side(run: WorkerRun) -> Rebuilt:
    """Extract sessions, several at the same time where the settings want that."""
    number = run.settings.memories_concurrency
    if number <= 1:
        return _phase_one(run)
    done = Rebuilt()
    with ThreadPoolExecutor(number) as pool:
        for part in [pool.submit(_phase_one_in_thread, run) for _ in range(number)]:
            done = add(done, part.result())
    return done


def _phase_one_in_thread(run: WorkerRun) -> Rebuilt:
    try:
        return _phase_one(run)
    finally:
        run.space.close()  # the connection of this thread


def _phase_one(run: WorkerRun) -> Rebuilt:
    """Extract one session after another."""
    done = Rebuilt()
    lease = run.lease(run.default)
    while not run.watch.should_stop():
        job = next_job(run, steps.EXTRACT, lease)
        if job is None:
            break
        with leased(run, job, lease.length):
            work, instead = partial(_extract, run, job), partial(_extract_by_rules, run, job)
            done = add(done, attempt(run, job, work, instead))
    return done


def _extract(run: WorkerRun, job: jobs_sql.Job) -> Rebuilt:
    """Extract one session: by rules, and with a model what rules do not hear."""
    extraction, held = _observed(run, job)
    if run.default:
        picked, synopsis, slug = _picked(run, job, held, run.default)
        extraction = extraction._replace(
            evidence=(*extraction.evidence, *picked),
            by=run.default.title,
            synopsis=synopsis or extraction.synopsis,
            slug=slug or extraction.slug,
        )
    now = run.context.clock()
    ready = steps.prepare_proposals(extraction, now, new_id)
    count = run.space.write(lambda tx: steps.save_extraction(tx, job, extraction, ready, now))
    return Rebuilt(extracted=1, proposed=count)


def _extract_by_rules(run: WorkerRun, job: jobs_sql.Job) -> None:
    """Keep what rules find in a session whose model failed for good."""
    extraction, _ = _observed(run, job)
    now = run.context.clock()
    run.space.write(lambda tx: steps.keep_extraction(tx, extraction, now))


def _observed(run: WorkerRun, job: jobs_sql.Job) -> tuple[statements.Extraction, list[Stored]]:
    session, held, tasks = run.space.read(
        lambda tx: steps.load_session(tx, job.subject, job.input_watermark)
    )
    root = run.context.project.root
    cwd = root if f"{session.cwd}/".startswith(f"{root}/") else session.cwd
    found = evidence.extract(held, cwd, manifests_io.read(root).scripts, tasks)
    goal = str(tasks[0].body["goal"]) if tasks else ""
    return statements.Extraction(
        session=session.id,
        seq=held[-1].seq if held else 0,
        at=session.last_active,
        slug=prompts.slug_of(goal),
        synopsis=goal[: prompts.LONGEST_SYNOPSIS],
        evidence=found,
    ), held


def _picked(
    run: WorkerRun, job: jobs_sql.Job, held: list[Stored], model: models_io.ModelSpec
) -> tuple[list[statements.Evidence], str, str]:
    """Ask a model about each chunk of a session; a later try goes on where this one ended."""
    parts = prompts.chunks(held, run.settings.memories_chunk_tokens)
    progress: dict[str, Json] = dict(job.progress)
    if progress.get("up_to") != job.input_watermark:
        progress = {"up_to": job.input_watermark, "done": 0, "found": [], "told": ["", ""]}
    stored = {one.seq: one for one in held}
    folder = user_directory(run.context.environment)
    system = files_io.load_prompt("stage_one_system.md", folder)
    template = files_io.load_prompt("stage_one_input.md", folder)
    for number in range(int(progress["done"]), len(parts)):
        items = redaction.redact(prompts.items_json(parts[number]))
        asked = {"thread_id": job.subject, "response_items_json": items}
        answer = ask(run, job, ("default", model), (system, prompts.fill(template, asked)))
        picks = prompts.read_picks(prompts.parse_answer(answer), stored)
        told = [picks.synopsis or progress["told"][0], picks.slug or progress["told"][1]]
        fresh = [prompts.with_proof(one, held) for one in picks.evidence]
        found = [*progress["found"], *map(statements.evidence_to_json, fresh)]
        progress = {**progress, "done": number + 1, "found": found, "told": told}
        safe = redaction.redact_json(progress).text
        run.space.write(partial(steps.save_progress, job=job, progress=safe))
    picked = [statements.evidence_from_json(one) for one in progress["found"]]
    return picked, *progress["told"]
