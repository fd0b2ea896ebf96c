"""The two phases of a run: sessions become extractions, extractions become the outputs.

A model is asked outside of any transaction. Each result is written in one transaction that checks
the lease.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial, reduce

from ..context import new_id
from ..errors import Conflict, InvalidInput, RecollectError, Refused
from ..jobs import sql as jobs_sql
from ..lessons import manifests_io
from ..procedures import steps as procedures_steps
from ..project import user_directory
from ..secrets import redaction
from ..text import messages, tokens
from ..types.records import Json, Stored
from . import evidence, files_io, merging, models_io, pages, prompts, sql, statements, steps
from .operations import Rebuilt, WorkerRun, add

RETRY = 60 * steps.SECOND
"""The first delay after a failure. It doubles with each failure, and varies by half at random."""

SUMMARISE_LEASE = 1.5
"""The lease of phase 2 as a multiple of that of phase 1 (180 s to 120 s)."""


Work = Callable[[WorkerRun, jobs_sql.Job], Rebuilt]


def _process(run: WorkerRun, kind: str, work: Work, fallback: Work | None = None) -> Rebuilt:
    """Process the jobs of a kind, one after another."""
    done = Rebuilt()
    is_extraction = kind == steps.EXTRACT
    lease = run.lease(
        run.default if is_extraction else run.smol, 1.0 if is_extraction else SUMMARISE_LEASE
    )
    while not run.watch.should_stop():
        now = run.context.clock()
        job = run.space.write(partial(steps.lease_job, kind=kind, lease=lease, now=now))
        if job is None:
            break
        with run.heartbeat(job, lease.length):
            done = add(done, _attempt(run, job, work, fallback))
    return done


def _attempt(run: WorkerRun, job: jobs_sql.Job, work: Work, fallback: Work | None) -> Rebuilt:
    """Run the work of a job; after a failure release the job with the error.

    fallback: the work to run after the last failed try
    """
    try:
        return work(run, job)
    except Conflict as error:
        return Rebuilt(notes=(error.message,))
    except (RecollectError, models_io.ModelFailure) as error:
        message = f"{error.message} ({error.where})" if error.where else error.message
        wait = getattr(error, "pause", 0.0)
        delay = round(wait * steps.SECOND) or _delay(job.failures)
        failure = steps.JobFailure(
            message,
            delay,
            counts=not (isinstance(error, Refused) and "cap" in error.message),
            is_final=bool(getattr(error, "final", False)),
            is_pause=bool(wait),
        )
        now = run.context.clock()
        try:
            status = run.space.write(lambda tx: steps.release_failed(tx, job, failure, now))
        except Conflict as lost:
            return Rebuilt(notes=(lost.message,))
        if status == "error" and fallback:
            fallback(run, job)
        return Rebuilt(failed=1, notes=(message,))


def _delay(failures: int) -> int:
    """Return the microseconds until the next try, with a random part."""
    return int(RETRY * 2 ** max(failures - 1, 0) * random.uniform(0.5, 1.5))


def _ask(
    run: WorkerRun, job: jobs_sql.Job, who: tuple[str, models_io.ModelSpec], prompt: tuple[str, str]
) -> str:
    """Ask a model once, after writing the call into the ledger."""
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


# ---------------------------------------------------------------- phase 1


def phase_one(run: WorkerRun) -> Rebuilt:
    """Extract sessions, several at a time if the settings say so."""
    number = run.settings.memories_concurrency
    if number <= 1:
        return _process(run, steps.EXTRACT, _extract, _extract_by_rules)

    def extract_in_thread() -> Rebuilt:
        try:
            return _process(run, steps.EXTRACT, _extract, _extract_by_rules)
        finally:
            run.space.close()  # the connection of this thread

    with ThreadPoolExecutor(number) as pool:
        parts = [pool.submit(extract_in_thread) for _ in range(number)]
        return reduce(add, (part.result() for part in parts), Rebuilt())


def _extract(run: WorkerRun, job: jobs_sql.Job) -> Rebuilt:
    """Extract one session by rules, and with a model the statements that rules miss."""
    extraction, messages = _extract_observations(run, job)
    if run.default:
        picked, synopsis, slug = _pick_sentences(run, job, messages, run.default)
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


def _extract_by_rules(run: WorkerRun, job: jobs_sql.Job) -> Rebuilt:
    """Save the extraction by rules of a session after the model's last failure."""
    extraction, _ = _extract_observations(run, job)
    now = run.context.clock()
    run.space.write(lambda tx: steps.keep_extraction(tx, extraction, now))
    return Rebuilt()


def _extract_observations(
    run: WorkerRun, job: jobs_sql.Job
) -> tuple[statements.Extraction, list[Stored]]:
    """Return the extraction of a session by rules, and its messages."""
    session, messages, tasks = run.space.read(
        lambda tx: steps.load_session(tx, job.subject, job.input_watermark)
    )
    root = run.context.project.root
    cwd = root if f"{session.cwd}/".startswith(f"{root}/") else session.cwd
    found = evidence.extract(messages, cwd, manifests_io.read(root).scripts, tasks)
    goal = str(tasks[0].body["goal"]) if tasks else ""
    return statements.Extraction(
        session=session.id,
        seq=messages[-1].seq if messages else 0,
        at=session.last_active,
        slug=prompts.slug_of(goal),
        synopsis=goal[: prompts.LONGEST_SYNOPSIS],
        evidence=found,
    ), messages


def _pick_sentences(
    run: WorkerRun, job: jobs_sql.Job, messages: list[Stored], model: models_io.ModelSpec
) -> tuple[list[statements.Evidence], str, str]:
    """Ask a model about each chunk of a session; return evidence, synopsis and slug. A retry
    continues after the last finished chunk."""
    parts = prompts.chunks(messages, run.settings.memories_chunk_tokens)
    progress: dict[str, Json] = dict(job.progress)
    if progress.get("up_to") != job.input_watermark:
        progress = {"up_to": job.input_watermark, "done": 0, "found": [], "told": ["", ""]}
    stored = {one.seq: one for one in messages}
    folder = user_directory(run.context.environment)
    system = files_io.load_prompt("stage_one_system.md", folder)
    template = files_io.load_prompt("stage_one_input.md", folder)
    for number in range(int(progress["done"]), len(parts)):
        items = redaction.redact(prompts.items_json(parts[number]))
        asked = {"thread_id": job.subject, "response_items_json": items}
        answer = _ask(run, job, ("default", model), (system, prompts.fill(template, asked)))
        picks = prompts.read_picks(prompts.parse_answer(answer), stored)
        synopsis = [picks.synopsis or progress["told"][0], picks.slug or progress["told"][1]]
        fresh = [prompts.with_proof(one, messages) for one in picks.evidence]
        found = [*progress["found"], *map(statements.evidence_to_json, fresh)]
        progress = {**progress, "done": number + 1, "found": found, "told": synopsis}
        safe = redaction.redact_json(progress).text
        run.space.write(partial(jobs_sql.save_progress, job=job, progress=json.loads(safe)))
    picked = [statements.evidence_from_json(one) for one in progress["found"]]
    return picked, *progress["told"]


# ---------------------------------------------------------------- phase 2


def phase_two(run: WorkerRun) -> Rebuilt:
    """Write the outputs, if a job for it is queued."""
    return _process(run, steps.SUMMARISE, _summarise)


def _summarise(run: WorkerRun, job: jobs_sql.Job) -> Rebuilt:
    context, settings = run.context, run.settings
    folder, now = context.project.folder, context.clock()
    material = run.space.read(steps.load_material)
    before = files_io.read_memory(folder)
    edits, note = _read_edits(folder, before, material.page, job.progress)
    root = context.project.root
    manifests = manifests_io.read(root)
    scripts = list(manifests.scripts) if manifests.complete else None
    found = merging.merge(material.extractions, material.memories, now, scripts, material.hidden)
    curated, problem = _try_curation(run, job, found, material)
    found = prompts.apply_curation(found, curated)
    made = pages.choose_skills(
        material.extractions, material.skills, material.refused, material.hidden
    )
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
    proposed = [
        procedures_steps.prepare_row(one, "agent", "agent", now, new_id("p"))._replace(
            status="proposed"
        )
        for one in pages.command_skills(curated.skills, found)
    ]
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


def _read_edits(
    folder: str, text: str | None, page: pages.MemoryPage, progress: Mapping[str, Json]
) -> tuple[pages.Edits, str]:
    """Return a person's edits of MEMORY.md, and a note. A file that we did not write is renamed."""
    if text is None or messages.text_digest(text) == progress.get("writing"):
        return page.edits, ""
    if not page.text:
        place = files_io.set_aside(folder)
        return page.edits, f"a MEMORY.md that Recollect did not write was renamed: {place}"
    return pages.read_edits(redaction.redact(text), page), ""


def _try_curation(
    run: WorkerRun,
    job: jobs_sql.Job,
    found: list[statements.PageStatement],
    material: steps.Material,
) -> tuple[prompts.Curated, str]:
    """Ask a model for its choice, if there is one; if the last try fails, return an empty choice
    and the reason."""
    if not run.smol or not found:
        return prompts.Curated(), ""
    try:
        return _ask_curation(run, job, found, material), ""
    except (models_io.ModelFailure, InvalidInput) as error:
        final = isinstance(error, models_io.ModelFailure) and error.final
        if job.failures < jobs_sql.TRIES and not final:
            raise
        return prompts.Curated(), f"written by rules: {error.message} ({error.where})"


def _ask_curation(
    run: WorkerRun,
    job: jobs_sql.Job,
    found: list[statements.PageStatement],
    material: steps.Material,
) -> prompts.Curated:
    """Ask a model which statements come first, and which are left out."""
    assert run.smol is not None
    sent = prompts.fit_statements(found, run.settings.memories_chunk_tokens)
    template = files_io.load_prompt("consolidation.md", user_directory(run.context.environment))
    listed = [
        {"session": one.session, "slug": one.slug, "synopsis": one.synopsis}
        for one in material.extractions
        if one.synopsis
    ]
    asked = {
        "raw_memories": redaction.redact(prompts.raw_memories(sent, material.page.text)),
        "rollout_summaries": redaction.redact(prompts.items_json(listed)),
    }
    answer = _ask(run, job, ("smol", run.smol), ("", prompts.fill(template, asked)))
    return prompts.read_curation(prompts.parse_answer(answer), sent)
