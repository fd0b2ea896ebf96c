"""Work off the queue: phase 1 for each session, then phase 2, as the only worker of the store.

A model is asked outside of any transaction. Each effect is one transaction that proves the lease.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import chain

from ..context import Context, new_id
from ..errors import InvalidInput, Refused
from ..jobs import sql as jobs_sql
from ..lessons import manifests_io
from ..procedures import skills
from ..procedures import sql as procedures_sql
from ..procedures import steps as procedures_steps
from ..project import user_directory
from ..secrets import redaction
from ..text import messages, tokens
from ..types.records import Json, Stored
from . import evidence, files_io, merging, models_io, pages, prompts, sql, statements, steps
from .operations import Rebuilt
from .operations_jobs import (
    Heartbeat,
    Watch,
    WorkerRun,
    add,
    ask,
    attempt,
    beat,
    next_job,
    start_heartbeat,
)

WORKER = "worker"
SUMMARISE_LEASE = 1.5
"""The lease of phase 2 in leases of phase 1 (180 s to 120 s)."""


def work(context: Context, watch: Watch) -> Rebuilt:
    """Process the queue; return at once if another worker of this store is running."""
    settings, owner = context.settings, new_id("w")
    default, smol = (
        models_io.parse_model(model, settings.models_key, context.environment)
        for model in (settings.models_default, settings.models_smol)
    )
    run = WorkerRun(context, watch, owner, default, smol or default)
    space, length = context.project_space, run.lease(None).length
    now = context.clock()
    worker = space.write(lambda tx: jobs_sql.acquire_lease(tx, WORKER, owner, now, length))
    if worker is None:
        return Rebuilt(notes=("another process is running it",))

    def renew() -> None:
        space.write(lambda tx: jobs_sql.renew_lease(tx, worker, context.clock() + length))

    before = space.read(lambda tx: sql.sum_since(tx, 0))
    done = Rebuilt(model=default.title if default else "rules")
    try:
        with Heartbeat(renew, watch, beat(length)):
            done = add(done, _phase_one_side_by_side(run))
            done = add(done, _phase_two(run))
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
        with start_heartbeat(run, job, lease.length):
            work, instead = partial(_extract, run, job), partial(_extract_by_rules, run, job)
            done = add(done, attempt(run, job, work, instead))
    return done


def _extract(run: WorkerRun, job: jobs_sql.Job) -> Rebuilt:
    """Extract one session by rules, and with a model the statements that rules miss."""
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
    """Save the extraction by rules of a session whose model failed for good."""
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
    """Ask a model about each chunk of a session; a retry continues with the next chunk."""
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
        run.space.write(partial(jobs_sql.save_progress, job=job, progress=json.loads(safe)))
    picked = [statements.evidence_from_json(one) for one in progress["found"]]
    return picked, *progress["told"]


# ---------------------------------------------------------------- phase 2


def _phase_two(run: WorkerRun) -> Rebuilt:
    """Write the outputs, if something asks for it."""
    done = Rebuilt()
    lease = run.lease(run.smol, SUMMARISE_LEASE)
    while not run.watch.should_stop():
        job = next_job(run, steps.SUMMARISE, lease)
        if job is None:
            break
        with start_heartbeat(run, job, lease.length):
            part = attempt(run, job, partial(_summarise, run, job))
        done = add(done, part)
        if part.failed:
            break
    return done


def _summarise(run: WorkerRun, job: jobs_sql.Job) -> Rebuilt:
    context, settings = run.context, run.settings
    folder, now = context.project.folder, context.clock()
    material = run.space.read(steps.load_material)
    before = files_io.read_memory(folder)
    edits, note = _edits(folder, before, material.page, job.progress)
    root = context.project.root
    manifests = manifests_io.read(root)
    scripts = list(manifests.scripts) if manifests.complete else None
    found = merging.merge(material.extractions, material.memories, now, scripts)
    curated, problem = _curated_or_not(run, job, found, material)
    found = prompts.apply_curation(found, curated)
    made = _skills(material)
    limit = settings.memories_summary_injection_token_limit
    lines = pages.summary_lines(found, edits, made, limit, tokens.count_tokens)
    guide = files_io.load_prompt("read_path.md", user_directory(context.environment))
    head, _, tail = guide.partition("{{memory_summary}}")
    page = pages.render_memory(found, edits, len(material.extractions))
    outputs = pages.Outputs(
        page._replace(text=redaction.redact(page.text)),
        tuple(lines),
        (head.strip(), tail.strip()),
        {name: redaction.redact(text) for name, text in pages.render_skills(made).items()},
        problem,
    )
    proposed = _proposed_skills(curated, found, now)
    mark = {"writing": messages.text_digest(outputs.page.text)}
    run.space.write(lambda tx: jobs_sql.save_progress(tx, job, mark))

    def write_files() -> list[str]:
        if files_io.read_memory(folder) not in (before if not note else None, outputs.page.text):
            raise Refused("MEMORY.md was changed meanwhile", where=folder)
        summary = redaction.redact(outputs.summary_text)
        return files_io.write_outputs(folder, outputs.page.text, summary, outputs.skills)

    pruned = run.space.write(
        lambda tx: steps.save_outputs(tx, job, outputs, proposed, write_files, context.clock())
    )
    return Rebuilt(
        statements=len(page.keys),
        skills=tuple(outputs.skills),
        pruned=tuple(pruned),
        files=tuple(files_io.list_outputs(folder)),
        notes=tuple(filter(None, (note, problem))),
    )


def _edits(
    folder: str, text: str | None, page: pages.MemoryPage, progress: Mapping[str, Json]
) -> tuple[pages.Edits, str]:
    """Return the edits of a person in MEMORY.md. A file that we did not write is moved aside."""
    if text is None or messages.text_digest(text) == progress.get("writing"):
        return page.edits, ""
    if not page.text:
        place = files_io.set_aside(folder)
        return page.edits, f"a MEMORY.md that Recollect did not write was renamed: {place}"
    return pages.read_edits(redaction.redact(text), page), ""


def _skills(material: steps.Material) -> list[skills.Procedure]:
    """Return the procedures in use, and the commands that sessions ran before commits as
    procedures."""
    observed = map(pages.workflow_skill, merging.workflows(material.extractions))
    return [
        one
        for one in {made.name: made for made in chain(observed, material.skills)}.values()
        if one.name not in material.refused
    ]


def _curated_or_not(
    run: WorkerRun,
    job: jobs_sql.Job,
    found: list[statements.PageStatement],
    material: steps.Material,
) -> tuple[prompts.Curated, str]:
    """Ask a model, if there is one. When it fails in the last try, go on without it: say why."""
    if not run.smol or not found:
        return prompts.Curated(), ""
    try:
        return _curated(run, job, found, material), ""
    except (models_io.ModelFailure, InvalidInput) as error:
        final = isinstance(error, models_io.ModelFailure) and error.final
        if job.failures < jobs_sql.TRIES and not final:
            raise
        return prompts.Curated(), f"written by rules: {error.message} ({error.where})"


def _curated(
    run: WorkerRun,
    job: jobs_sql.Job,
    found: list[statements.PageStatement],
    material: steps.Material,
) -> prompts.Curated:
    """Ask a model which statements come first, and which are left out."""
    assert run.smol is not None
    sent = prompts.within(found, run.settings.memories_chunk_tokens)
    template = files_io.load_prompt("consolidation.md", user_directory(run.context.environment))
    told = [
        {"session": one.session, "slug": one.slug, "synopsis": one.synopsis}
        for one in material.extractions
        if one.synopsis
    ]
    asked = {
        "raw_memories": redaction.redact(prompts.raw_memories(sent, material.page.text)),
        "rollout_summaries": redaction.redact(prompts.items_json(told)),
    }
    answer = ask(run, job, ("smol", run.smol), ("", prompts.fill(template, asked)))
    return prompts.read_curation(prompts.parse_answer(answer), sent)


def _proposed_skills(
    curated: prompts.Curated, found: list[statements.PageStatement], now: int
) -> list[procedures_sql.ProcedureRow]:
    """Return the skills that a model put together, for a person to accept."""
    known = {one.key: one for one in found}
    rows = []
    for name, keys in curated.skills:
        inside = [known[key] for key in keys if key in known]
        if len(inside) < 2:
            continue  # it left out what it wants to have done
        commands = [one.refs[0].partition(":")[2] for one in inside]
        sources = list(dict.fromkeys(one.sources[0] for one in inside))
        procedure = pages.command_skill(name, commands, sources)
        row = procedures_steps.prepare_row(procedure, "agent", "agent", now, new_id("p"))
        rows.append(row._replace(status="proposed"))
    return rows
