"""Phase 2: all extractions, the memories in force and the last MEMORY.md become the outputs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import chain

from ..context import new_id
from ..errors import InvalidInput, Refused
from ..jobs import sql as jobs_sql
from ..lessons import manifests_io
from ..procedures import skills
from ..procedures import sql as procedures_sql
from ..procedures import steps as procedures_steps
from ..project import user_directory
from ..secrets import redaction
from ..text import messages, tokens
from ..types.records import Json
from . import files_io, merging, models_io, pages, prompts, statements, steps
from .operations import Rebuilt
from .operations_jobs import WorkerRun, add, ask, attempt, leased, next_job

SUMMARISE_LEASE = 1.5
"""The lease of phase 2 in leases of phase 1 (180 s to 120 s)."""


def phase_two(run: WorkerRun) -> Rebuilt:
    """Write the outputs, if something asks for it."""
    done = Rebuilt()
    lease = run.lease(run.smol, SUMMARISE_LEASE)
    while not run.watch.should_stop():
        job = next_job(run, steps.SUMMARISE, lease)
        if job is None:
            break
        with leased(run, job, lease.length):
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
    made = _skills(material, edits)
    limit = settings.memories_summary_injection_token_limit
    lines = pages.summary_lines(found, edits, made, limit, tokens.count_tokens)
    guide = files_io.load_prompt("read_path.md", user_directory(context.environment))
    head, _, tail = guide.partition("{{memory_summary}}")
    page = pages.render_memory(found, edits, len(material.extractions))
    outputs = steps.Outputs(
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
    """Return what a person changed in MEMORY.md. A file that we did not write is set aside."""
    if text is None or messages.text_digest(text) == progress.get("writing"):
        return page.edits, ""
    if not page.text:
        place = files_io.set_aside(folder)
        return page.edits, f"a MEMORY.md that Recollect did not write was renamed: {place}"
    return pages.read_edits(redaction.redact(text), page), ""


def _skills(material: steps.Material, edits: pages.Edits) -> list[skills.Procedure]:
    """Return the procedures in use, and what sessions ran before commits."""
    observed = (
        pages.workflow_skill(one.steps, one.purposes, (one.sessions, one.last), one.sources)
        for one in merging.workflows(material.extractions)
    )
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
