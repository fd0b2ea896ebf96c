"""Load the material for a start block.

One transaction loads everything, another one logs the items that were shown; between them the
claims are checked against the working tree.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set

from ..actions import command_words
from ..archive import sql as archive_sql
from ..documents import sql as documents_sql
from ..episodes import sql as episodes_sql
from ..fast_typing import TYPE_CHECKING, NamedTuple
from ..freshness import steps as freshness_steps
from ..injections import sql as injections_sql
from ..lessons import findings
from ..lessons import steps_observed as lessons_steps_observed
from ..memory import lifecycle
from ..memory import sql as memory_sql
from ..memory import sql_lists as memory_sql_lists
from ..memory import steps_visible as memory_steps_visible
from ..procedures import sql as procedures_sql
from ..secrets import redaction
from ..storage import sql as storage_sql
from ..storage.database import Tx
from ..types.records import BASELINE_KINDS, UNTRUSTED_ORIGINS, Document, Memory
from ..window import sql as window_sql
from . import matching, rendering, selection, steps_action, steps_follow_up, steps_known, wording
from .rendering import COMMANDS, Item, LeftOut

if TYPE_CHECKING:
    from ..lessons.findings import KnownCommand

OTHER_KINDS = ("pitfall", "solution", "workflow", "decision", "pattern", "reference", "fact")
MOST_OF_A_KIND = 60
MOST_SKILLS = 10
MOST_COMMANDS, MOST_PARTS = 7, 4
"""The most commands in the block, and the most of them for a part of the project: the others are
shown when a file of that part is changed."""

HEADING = 10
"""Tokens kept for the heading of a section."""

MOST_CONCLUSIONS = 3
FEW_LINES = 3
"""With fewer lines than this, the latest tasks are shown as well."""

MOST_EPISODES = 6
SHORTEST_GOAL = 20


class Ask(NamedTuple):
    """A request for a briefing.

    context: `fresh` when the session's context was thrown away, `kept` when the session resumes
        with its old context
    host: the agent; the text of its instruction files is not repeated
    first: this is the first prompt of the session
    mark: identifies the event, so that it is answered once
    notes: the text of the file NOTES.md, if there is one
    """

    session: str = ""
    query: str = ""
    files: tuple[str, ...] = ()
    context: str = ""
    host: str = ""
    cwd: str = ""
    first: bool = False
    mark: storage_sql.EventMark | None = None
    notes: str | None = None


class LoadedStart(NamedTuple):
    """The loaded material of a start block; `frozen` is the block that the context already has."""

    material: selection.StartMaterial = selection.StartMaterial()
    frozen: window_sql.StableBlock | None = None
    shown: frozenset[str] = frozenset()
    summary: rendering.InjectedSummary | None = None
    commands: tuple[KnownCommand, ...] = ()
    """All commands that may be shown, also those that are not in the block."""
    checks: freshness_steps.LoadedChecks | None = None
    watched: str = ""
    """The programs to look for before a command runs."""
    since: int = 0
    """When the context was last thrown away."""


class Briefing(NamedTuple):
    """The text shown to the model, and its items with the reason and the cost of each.

    `stable` is the start block, `turn` the block of this moment.
    """

    stable: str
    turn: str
    items: tuple[Item, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    tokens: int = 0
    notes: tuple[str, ...] = ()
    explained: bool = False
    begins: bool = True
    """The context sees its start block for the first time."""

    @property
    def text(self) -> str:
        return "\n".join(part for part in (self.stable, self.turn) if part)


EMPTY = Briefing("", "")


def why_silent(mode: str, query: str) -> str:
    """Return why nothing is shown now; empty if something may be."""
    if mode == "no-ltm":
        return "the mode is no-ltm: no long-term memory is injected"
    if query:
        from ..capture import ignore_memory  # not loaded for other moments

        if ignore_memory.asks_to_ignore(query):
            return "the user asked to ignore memory this turn"
    return ""


def load_start(
    txs: Sequence[Tx],
    ask: Ask,
    instructions: matching.Instructions,
    changed: freshness_steps.FindChanged,
    now: int,
    summary_limit: int = 0,
) -> LoadedStart:
    """Load the material of a start block. The first space is the project's, which has sessions.

    summary_limit: the most tokens of memory_summary.md above the block; 0 leaves it out
    """
    known = bool(ask.session) and ask.context != "fresh"
    frozen = window_sql.load_block(txs, ask.session) if known else None
    if known and ask.query and txs:
        txs[0].settle()  # mostly the context has its block
    if frozen and ask.context != "kept":
        return LoadedStart(frozen=frozen)
    own = memory_steps_visible.find_memory_owners(txs, ask.session)
    memories: list[Memory] = []
    skills: list[selection.Skill] = []
    for tx in txs:
        kinds = (*BASELINE_KINDS, *OTHER_KINDS)
        memories += memory_sql_lists.list_strongest(tx, kinds, MOST_OF_A_KIND, own)
        skills += [skill_of(row) for row in procedures_sql.list_proven(tx, MOST_SKILLS)]
    summary = _load_summary(txs, instructions, summary_limit) if summary_limit else None
    in_summary = summary.refs if summary else frozenset()
    known_commands = lessons_steps_observed.known_commands(txs[0], now=now) if txs else []
    commands, left_out = steps_action.usable_commands(
        txs, known_commands, instructions, in_summary, memories
    )
    lines, full = _collect_lines(txs, ask, now, commands, in_summary)
    left_out += full
    since = window_sql.began(txs, ask.session) if known else 0
    left_out += steps_known.leave_out(memories, in_summary, ask.session if known else "", since)
    gone = {one.id for one in left_out}
    candidates = [one for one in memories if one.id not in gone]
    if txs and len(lines) + len(candidates) < FEW_LINES:
        lines += _latest_tasks(txs[0], ask.session)
    material = selection.StartMaterial(
        _rate(txs, candidates, now), tuple(lines), tuple(skills), tuple(left_out)
    )
    shown = frozenset(window_sql.shown_ids(txs, ask.session)) if frozen else frozenset()
    checked = [one.memory.id for one in material.memories if one.memory.layer != "user"]
    is_kept = bool(ask.session) and not frozen
    # A failing command is watched even if an instruction file names the one that replaced it.
    replaced = [form for one in known_commands for form in one.replaces if one.retired is None]
    return LoadedStart(
        material=material,
        frozen=frozen,
        shown=shown,
        summary=summary,
        commands=tuple(commands),
        checks=freshness_steps.load_checks(txs[0], checked, changed) if checked else None,
        watched=steps_action.watched_programs(memories, replaced) if is_kept else "",
        since=since,
    )


def _load_summary(
    txs: Sequence[Tx], instructions: matching.Instructions, limit: int
) -> rendering.InjectedSummary | None:
    """Return memory_summary.md as a block, or None without it."""
    document = documents_sql.get_document(txs[0], rendering.SUMMARY_ADDRESS) if txs else None
    # A row that was changed outside Recollect is labelled import.
    if document is None or document.label == "import":
        return None
    refs = {str(name) for _, names in document.fields["lines"] for name in names}
    hidden = _find_hidden(txs[0], refs)
    return rendering.fit_summary(document.fields, limit, instructions.find_statement, hidden)


def _find_hidden(tx: Tx, refs: Set[str]) -> frozenset[str]:
    """Return the commands, fixes and memories among these that are out of use now."""
    hidden = lessons_steps_observed.hidden_refs(tx)
    memories = memory_sql.get_many(tx, sorted(ref for ref in refs if ref.startswith("m-")))
    return frozenset(
        ref
        for ref in refs
        if not hidden.isdisjoint(findings.lesson_refs(ref))
        or (ref in memories and memories[ref].status in ("hidden", "superseded"))
    )


def _collect_lines(
    txs: Sequence[Tx],
    ask: Ask,
    now: int,
    commands: Sequence[KnownCommand],
    in_summary: frozenset[str],
) -> tuple[list[Item], list[LeftOut]]:
    """Return the lines on the state of the work, the best commands and the conclusions of agents;
    and the commands that do not fit."""
    if not txs:
        return [], []
    project = txs[0]
    lines = state_lines(project, ask)
    room = selection.MOST_TOKENS[COMMANDS] - HEADING
    of_parts = [one for one in commands if one.parts][MOST_PARTS:]
    chosen = [one for one in commands if one not in of_parts][:MOST_COMMANDS]
    shown = wording.command_lines(chosen, room)
    lines += shown
    inside = {form for item in shown for form in item.forms}
    left_out = [
        LeftOut(one.form, wording.command_ref(one.form), f"{COMMANDS} is full")
        for one in commands
        if one.form not in inside
    ]
    concluded = lessons_steps_observed.conclusions(project, now=now)
    conclusions = [
        wording.conclusion_line(one)
        for one in concluded[:MOST_CONCLUSIONS]
        if not command_words.suggests_danger(one.text)
    ]
    lines += [item for item in conclusions if item.address not in in_summary]
    return lines, left_out


def _latest_tasks(tx: Tx, session: str) -> Iterator[Item]:
    """Yield the latest tasks in the words that the user typed, with their outcomes."""
    for row in episodes_sql.list_episodes(tx, {"status": "active"}, MOST_EPISODES):
        if row.session == session or len(row.goal) < SHORTEST_GOAL or row.goal[0] in "/[<":
            continue
        if row.label != "import" and _was_typed(tx, row):
            yield wording.episode_line(row.id, row.goal, row.outcome, row.at)


def _was_typed(tx: Tx, row: episodes_sql.EpisodeRow) -> bool:
    """Check whether the goal of an episode is a message that the user typed."""
    sources = json.loads(row.sources)
    first = str(sources[0]).rpartition("/")[2].partition("-")[0] if sources else ""
    message = archive_sql.message(tx, row.session, int(first)) if first.isdigit() else None
    return message is not None and message.label == "user"


def _rate(
    txs: Sequence[Tx], memories: Iterable[Memory], now: int
) -> tuple[selection.Candidate, ...]:
    """Return the memories, each once, with their strength and usefulness."""
    unique = {memory.id: memory for memory in memories}
    rated = [one.id for one in unique.values() if one.successes or one.failures]
    verdicts: dict[str, dict[str, int]] = {}
    for tx in txs if rated else ():
        verdicts.update(injections_sql.count_verdicts(tx, rated))
    tried = injections_sql.list_outcomes(txs[0], list(unique)) if unique else {}
    found = []
    for memory in unique.values():
        usefulness = 1.0
        if counts := verdicts.get(memory.id):
            usefulness = lifecycle.rate_usefulness(
                counts.get("helped", 0), counts.get("wrong", 0), counts.get("stale", 0)
            )
        found.append(
            selection.Candidate(
                memory,
                lifecycle.compute_strength(memory, now),
                usefulness=usefulness,
                is_idle=steps_follow_up.is_idle(tried.get(memory.id, ())),
            )
        )
    return tuple(found)


def skill_of(row: procedures_sql.ProcedureRow) -> selection.Skill:
    """Return a stored procedure as a skill that may be shown."""
    return selection.Skill(
        id=row.id,
        address=f"memory://{row.id}",
        name=row.name,
        description=row.description,
        successes=row.successes,
        failures=row.failures,
        status=row.status,
        label=row.label,
        at=row.valid_from,
    )


def with_freshness(
    material: selection.StartMaterial, fresh: Mapping[str, freshness_steps.Freshness]
) -> selection.StartMaterial:
    """Return the material with the freshness of its memories. A new path is redacted: it comes from
    the working tree, all other text of a block from the store."""
    if not fresh:
        return material
    memories = []
    for one in material.memories:
        if checked := fresh.get(one.memory.id):
            path = redaction.redact(checked.moved_to) if checked.moved_to else ""
            one = one._replace(freshness=checked.state, moved_to=path)
        memories.append(one)
    return material._replace(memories=tuple(memories))


# ---------------------------------------------------------------- where things stand

NOTES = "memory://notes"
MOST_HANDOFFS = 50


def state_lines(tx: Tx, ask: Ask) -> list[Item]:
    """Return the lines of the section "Where things stand"; none when no work is noted."""
    notes = documents_sql.get_document(tx, NOTES)
    task = memory_steps_visible.running_task(tx, ask.session)
    lines = list(_note_lines(tx, notes, ask.notes, task)) if notes else []
    document = documents_sql.get_document(tx, f"memory://task/{task}") if task else None
    if document and document.label not in UNTRUSTED_ORIGINS:
        lines += wording.task_lines(document)
    for handoff in documents_sql.list_documents(tx, "handoff", MOST_HANDOFFS):
        if handoff.label not in UNTRUSTED_ORIGINS and not handoff.fields.get("accepted_at"):
            lines.append(wording.handoff_line(handoff))
            break
    # Last, so that they are the first to be left out: the lists in the notes.
    return sorted(lines, key=lambda item: item.address.endswith(("#Blockers", "#Pending")))


def _note_lines(tx: Tx, document: Document, on_file: str | None, task: str) -> Iterator[Item]:
    """Yield a line for each part of the notes, without what the line of the running task says."""
    from ..work import notes as work_notes
    from ..work import steps as work_steps

    if work_steps.why_unseen(tx, document, on_file):
        return
    notes = work_notes.parse_notes(document.text)
    if task and work_steps.find_task_of(notes) == task:
        notes = notes._replace(objective="", phase="")
    for name, content in (
        ("Objective", notes.objective),
        ("Phase", notes.phase),
        ("Blockers", "; ".join(notes.blockers)),
        ("Pending", "; ".join(notes.pending)),
    ):
        if content:
            yield wording.state_line(document, name, content, "the notes say so")
