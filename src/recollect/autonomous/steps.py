"""Transactions of the two phases. Every write for a job checks its lease."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence

from ..archive import sql as archive_sql
from ..archive import steps_sessions as archive_steps_sessions
from ..briefing import rendering
from ..config import Settings
from ..documents import sql as documents_sql
from ..documents import steps as documents_steps
from ..episodes import records
from ..episodes import sql as episodes_sql
from ..episodes import steps as episodes_steps
from ..errors import NotFound, Refused
from ..fast_typing import NamedTuple
from ..jobs import sql as jobs_sql
from ..lessons import steps_observed as lessons_steps_observed
from ..memory import sql_lists as memory_sql_lists
from ..memory import steps as memory_steps
from ..memory import steps_learn as memory_steps_learn
from ..memory import steps_revisions as memory_steps_revisions
from ..memory import steps_visible as memory_steps_visible
from ..procedures import skills as procedures_skills
from ..procedures import sql as procedures_sql
from ..procedures import steps as procedures_steps
from ..secrets import redaction
from ..storage import sql as storage_sql
from ..storage.database import Tx
from ..text import addresses, messages
from ..types.records import Memory, Session, Stored
from . import pages, prompts, quotations, sql, statements

EXTRACT, SUMMARISE = "extract", "summarise"
JOBS = (EXTRACT, SUMMARISE)
TYPE, ROOT = "extraction", "root"
MEMORY_ADDRESS = "memory://root/MEMORY.md"
DAY, HOUR, SECOND = 86_400_000_000, 3_600_000_000, 1_000_000
MOST_EXTRACTIONS, MOST_MEMORIES, MOST_PROCEDURES = 2_000, 1_000, 100
MOST_EPISODES, MOST_TYPED, MOST_SESSIONS = 20, 500, 100_000
PAUSE = "models paused until"


class Material(NamedTuple):
    """The input of phase 2."""

    extractions: list[statements.Extraction]
    memories: list[quotations.CitedMemory]
    page: pages.MemoryPage
    skills: list[procedures_skills.Procedure]
    refused: frozenset[str]
    """Names of procedures that are not in use: hidden, or waiting for review."""
    hidden: frozenset[str]
    """Commands and fixes that a person hid."""


# ---------------------------------------------------------------- the queue


def queue_sessions(tx: Tx, settings: Settings, now: int) -> list[sql.WaitingSession]:
    """Queue phase 1 for the sessions that are due; return them."""
    waiting = find_waiting(tx, settings, now)
    for one in waiting:
        jobs_sql.enqueue_job(tx, EXTRACT, one.id, one.last, now)
    return waiting


def find_waiting(tx: Tx, settings: Settings, now: int) -> list[sql.WaitingSession]:
    """Return the sessions with new messages that are not too old, idle for long enough, and not
    active."""
    return sql.waiting_sessions(
        tx,
        EXTRACT,
        since=now - settings.memories_max_rollout_age_days * DAY,
        until=now - round(settings.memories_min_rollout_idle_hours * HOUR),
        active_since=now - archive_steps_sessions.IDLE_AFTER,
        limit=settings.memories_max_rollouts_per_startup,
    )


def queue_summary(tx: Tx, now: int) -> None:
    """Queue phase 2."""
    jobs_sql.enqueue_job(tx, SUMMARISE, "", now, now, force=True)


class Lease(NamedTuple):
    """Terms of a lease: the owner, the microseconds, and the daily cap of tokens, -1 without a
    model."""

    owner: str
    length: int
    cap: int


def lease_job(tx: Tx, kind: str, lease: Lease, now: int) -> jobs_sql.Job | None:
    """Lease the next job of a kind. With a model, return None over the daily cap, or while the
    model's server asked to wait."""
    if lease.cap >= 0 and (is_capped(tx, lease.cap, now) or paused_until(tx) > now):
        return None
    return jobs_sql.claim_job(tx, (kind,), lease.owner, now, lease.length)


def is_capped(tx: Tx, cap: int, now: int) -> bool:
    """Check whether the daily cap of tokens is used up."""
    return sql.sum_since(tx, now - now % DAY)[1] >= cap


def paused_until(tx: Tx) -> int:
    """Return the time until which the model's server asked to wait."""
    return int(storage_sql.get_value(tx, PAUSE) or 0)


def begin_call(tx: Tx, job: jobs_sql.Job, call: sql.SpendRow, cap: int) -> None:
    """Write a call into the ledger before it is made: under the lease, and below the cap."""
    jobs_sql.hold_lease(tx, job)
    if is_capped(tx, cap, call.at):
        raise Refused(
            "the daily cap of tokens is reached", where="memories_daily_token_cap",
            hint="it continues tomorrow, or with a higher cap",
        )  # fmt: skip
    sql.insert_call(tx, call)


class JobFailure(NamedTuple):
    """A failed try of a job: the error, and the delay until the next try. `counts` is false if it
    is not the job's own failure; with `is_pause`, the model's server asked for the delay."""

    error: str
    delay: int
    counts: bool
    is_final: bool
    is_pause: bool


def release_failed(tx: Tx, job: jobs_sql.Job, failure: JobFailure, now: int) -> str:
    """Release a job after a failure; return its status."""
    message, run_after = redaction.redact(failure.error), now + failure.delay
    if failure.is_pause:
        storage_sql.set_value(tx, PAUSE, redaction.redact(str(run_after)), now)
    tries = 1 if failure.is_final else jobs_sql.TRIES
    return jobs_sql.retry_later(tx, job, message, run_after, tries, failure.counts)


# ---------------------------------------------------------------- phase 1


def load_session(
    tx: Tx, name: str, last: int
) -> tuple[Session, list[Stored], list[statements.Evidence]]:
    """Return a session, its messages up to a number, with their labels as origins, and its
    tasks."""
    session = archive_sql.get(tx, name)
    if session is None:
        raise NotFound("there is no such session", where=name)
    messages = [one for one in episodes_steps.load_messages(tx, name) if one.seq <= last]
    rows = episodes_sql.list_episodes(tx, {"session": name}, MOST_EPISODES)
    return session, messages, [one for row in rows if (one := _task(row)) is not None]


def _task(row: episodes_sql.EpisodeRow) -> statements.Evidence | None:
    episode = records.from_json(json.loads(row.body), row.label)
    spans = []
    for address in json.loads(row.sources):
        place = addresses.parse_address(address)
        if place.kind == "messages":
            spans.append((place.first, place.last))
    if not spans or row.label == "import":
        return None
    lasting = [path for path in episode.artifacts if not path.startswith(("/", "~", ".."))]
    body = {
        "goal": episode.goal,
        "outcome": episode.outcome,
        "files": lasting,
        "commit": episode.commit,
    }
    return statements.Evidence("task", row.id, row.at, body, tuple(spans[:1]), "agent")


def save_extraction(
    tx: Tx,
    job: jobs_sql.Job,
    extraction: statements.Extraction,
    proposed: Sequence[memory_steps.PreparedMemory],
    now: int,
) -> int:
    """Store the extraction of a session, propose the user's sentences that a model picked, finish
    the job and queue phase 2; return the number of proposals."""
    jobs_sql.hold_lease(tx, job)
    keep_extraction(tx, extraction, now)
    count = 0
    for one in proposed:
        # A statement that is known, even if it is hidden, is not proposed again.
        if not memory_steps_revisions.find_same_text(tx, one.row):
            memory_steps_learn.learn(tx, one, now)
            count += 1
    jobs_sql.complete_job(tx, job, now)
    return count


def keep_extraction(tx: Tx, extraction: statements.Extraction, now: int) -> None:
    """Store the extraction of a session in place of an earlier one, and queue phase 2."""
    # A model read everything in the session, including the output of tools.
    label = "system" if extraction.by == "rules" else "tool"
    address = f"memory://{TYPE}/{extraction.session}"
    fields = statements.to_json(extraction)
    owner = redaction.redact_name(extraction.session)
    new = documents_steps.NewDocument(address, TYPE, extraction.session, "", fields, owner=owner)
    documents_steps.write_revision(tx, new, "system", now, label)
    queue_summary(tx, now)


def prepare_proposals(
    extraction: statements.Extraction, now: int, new_id: Callable[[str], str]
) -> list[memory_steps.PreparedMemory]:
    """Return proposals for review: the rules, preferences and decisions that a model picked from
    the user's own words. The text is the quote."""
    ready = []
    for one in extraction.evidence:
        kind = prompts.KINDS.get(str(one.body.get("kind", "")), "")
        if one.kind != "quote" or one.label != "user" or kind in ("", "fact"):
            continue
        quote = str(one.body["quote"])
        draft = memory_steps.Draft(
            text=quote,
            kind=kind,
            detail={"captured": "model", "quote": quote},
            evidence=tuple(statements.addresses_of(extraction.session, one.spans)),
        )
        try:
            ready.append(
                memory_steps.prepare(draft, "agent", now, new_id("m"), "agent", propose=True)
            )
        except Refused:
            continue  # it does not belong in long-term memory
    return ready


# ---------------------------------------------------------------- phase 2


def load_material(tx: Tx) -> Material:
    """Return the input of MEMORY.md, and its last version."""
    documents = documents_sql.list_documents(tx, TYPE, MOST_EXTRACTIONS)
    own = memory_steps_visible.find_memory_owners([tx])
    memories = memory_sql_lists.list_in_force(tx, MOST_MEMORIES, own)
    rows = procedures_sql.list_open(tx, MOST_PROCEDURES)
    active = [row for row in rows if row.status == "active" and row.label in ("user", "system")]
    return Material(
        extractions=[
            statements.from_json(one.fields) for one in documents if one.label != "import"
        ],
        memories=_cited(tx, memories),
        page=load_page(tx),
        skills=[procedures_steps.parse_row(row) for row in active],
        refused=frozenset(row.name for row in rows if row.status not in ("active", "proposed")),
        hidden=lessons_steps_observed.hidden_refs(tx),
    )


def load_page(tx: Tx) -> pages.MemoryPage:
    """Return MEMORY.md as it was last written, unless its row was changed outside Recollect."""
    document = documents_sql.get_document(tx, MEMORY_ADDRESS)
    if document is None or document.label == "import":
        return pages.MemoryPage()
    return pages.page_from_json(document.text, document.fields)


def _cited(tx: Tx, memories: Sequence[Memory]) -> list[quotations.CitedMemory]:
    """Return memories with the addresses of their messages; a memory typed at a terminal cites
    itself."""
    typed: dict[str, list[tuple[int, str]]] = {}
    found = []
    for memory in memories:
        cited: list[str] = []
        for address in (*memory.sources, *memory.evidence):
            cited += _messages_of(tx, address, memory, typed)
        sources = tuple(dict.fromkeys(cited)) or (memory.address,)
        message, after = quotations.messages_around(sources[-1], typed)
        found.append(quotations.CitedMemory(memory, sources, message, after))
    return found


def _messages_of(
    tx: Tx, address: str, memory: Memory, typed: dict[str, list[tuple[int, str]]]
) -> list[str]:
    """Return the addresses of the messages that a source of a memory refers to."""
    if not address.startswith("memory://session/"):
        return []
    place = addresses.parse_address(address)
    if place.kind == "messages":
        return [address]
    if place.name not in typed:
        rows = archive_sql.list_typed(tx, place.name, 1, MOST_TYPED)
        typed[place.name] = [(row.seq, _plain(row.body)) for row in rows]
    quotes = [str(memory.detail.get("quote", "")), memory.text]
    stored = memory.detail.get("quotes", ())
    quotes += [str(one.get("text", "")) for one in stored if isinstance(one, Mapping)]
    for quote in filter(None, (" ".join(one.split()) for one in quotes)):
        for seq, text in typed[place.name]:
            if quote in text:
                return [messages.range_address(place.name, seq, seq)]
    return [address]


def _plain(body: str) -> str:
    return " ".join(messages.plain_text(messages.message_from_body(json.loads(body))).split())


def save_outputs(
    tx: Tx,
    job: jobs_sql.Job,
    outputs: pages.Outputs,
    proposed: Iterable[procedures_sql.ProcedureRow],
    write_files: Callable[[], list[str]],
    now: int,
) -> list[str]:
    """Write the outputs into the store and, under the lease, the files; finish the job. Return the
    names of skills that were pruned."""
    jobs_sql.hold_lease(tx, job)
    head, tail = outputs.block
    lines = [[one.text, list(one.refs)] for one in outputs.summary]
    about = {"head": head, "tail": tail, "lines": lines}
    for address, title, text, fields in (
        (MEMORY_ADDRESS, "MEMORY.md", outputs.page.text, pages.page_to_json(outputs.page)),
        (rendering.SUMMARY_ADDRESS, "root", outputs.summary_text, about),
    ):
        new = documents_steps.NewDocument(address, ROOT, title, text, fields)
        documents_steps.write_revision(tx, new, "system", now, "agent")
    for document in documents_sql.list_documents(tx, "skill", MOST_PROCEDURES):
        documents_sql.close_document(tx, document.address, now)
    for name, text in outputs.skills.items():
        address = f"memory://root/skills/{name}/SKILL.md"
        skill = documents_steps.NewDocument(address, "skill", "SKILL.md", text)
        documents_steps.write_revision(tx, skill, "system", now)
    for row in proposed:
        if procedures_sql.get_by_name(tx, row.name) is None:
            procedures_steps.learn_procedure(tx, row)
    jobs_sql.complete_job(tx, job, now, redaction.redact(outputs.problem))
    # The last statement: the row of the job is locked, so no other runner writes files.
    return write_files()


_KEPT = ((TYPE, "extractions"), (ROOT, "pages"), ("skill", "skills"))


def count(tx: Tx) -> dict[str, int]:
    """Count the stored extractions, pages, skills and jobs."""
    counts = {row[0]: int(row[1]) for row in documents_sql.count_by_type(tx)}
    jobs = sum(jobs_sql.count_jobs(tx, JOBS).values())
    return {"jobs": jobs, **{noun: counts.get(type, 0) for type, noun in _KEPT}}


def is_work_due(tx: Tx, now: int) -> bool:
    """Check whether a job may run now: it is pending and due, or its lease has expired."""
    turn = jobs_sql.next_run_time(tx, JOBS)
    return 0 < turn <= now or jobs_sql.has_expired_lease(tx, JOBS, now)


def clear(tx: Tx, now: int, forget: bool) -> dict[str, int]:
    """Remove extractions, outputs and jobs; return the counts. With `forget`, the same sessions are
    processed again."""
    removed = count(tx)
    for type, _ in _KEPT:
        for document in documents_sql.list_documents(tx, type, MOST_EXTRACTIONS):
            documents_sql.close_document(tx, document.address, now)
    jobs_sql.remove_jobs(tx, JOBS)
    if not forget:
        for session in archive_sql.latest_sessions(tx, MOST_SESSIONS):
            jobs_sql.settle_job(tx, EXTRACT, session.id, session.messages, now)
    storage_sql.delete_value(tx, PAUSE)
    return removed
