"""Operations on tasks, ledgers and handoffs: work that outlives a conversation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypedDict, Unpack

from ..context import Context, new_id
from ..errors import InvalidInput
from ..lessons import operations as lessons_operations
from ..lessons import steps_schedule as lessons_steps_schedule
from ..secrets import redaction
from ..storage.database import Tx
from ..text import addresses
from ..types.records import Json
from ..undo import steps as undo_steps
from . import records, steps, steps_tasks


def _write_task(
    context: Context,
    what: str,
    slug: str,
    work: Callable[[Tx, int], steps_tasks.ShownTask],
    gate: steps_tasks.Gate,
    text: str = "",
) -> steps_tasks.ShownTask:
    """Change a task; log the change, and record how to undo it."""

    def change(tx: Tx, now: int) -> steps_tasks.ShownTask:
        shown = work(tx, now)
        steps_tasks.log_gate(tx, slug, gate, context.origin, now)
        return shown

    watched = undo_steps.Watched("documents", "owner", slug)
    return undo_steps.write_undoable(context, f"{what} {slug}", watched, change, text)


class HandoffParts(TypedDict, total=False):
    """Optional parts of a handoff.

    artifacts: files that were made or changed (repeat for several)
    needs_testing: an item that is not tested yet (repeat for several)
    known_issues: a known issue (repeat for several)
    relevant_patterns: the id of a relevant memory (repeat for several)
    git_state: the state of the tree; by default read from git
    """

    artifacts: Sequence[str]
    needs_testing: Sequence[str]
    known_issues: Sequence[str]
    relevant_patterns: Sequence[str]
    git_state: str


def start_task(context: Context, title: str, phases: Sequence[str] = ()) -> steps_tasks.ShownTask:
    """Start a task that outlives the conversation.

    title: the task in a few words; its name is made from them
    phases: the phases of the plan (repeat for several)

    Example: recollect task start "Feature X" --phase design --phase build
    """
    return _write_task(
        context,
        "started the task",
        addresses.slugify(redaction.redact(title)),
        lambda tx, now: steps_tasks.start_task(tx, title, phases, context.origin, now),
        _gate("task start", phases=list(phases)),
    )


def show_task(context: Context, slug: str) -> steps_tasks.ShownTask:
    """Show a task with its phases, decisions, verified items and regressions.

    slug: its name in kebab-case

    Example: recollect task show feature-x
    """
    return context.project_space.read(lambda tx: steps_tasks.show_task(tx, slug))


def enter_phase(
    context: Context, slug: str, name: str, report: str = "", blocked: str = ""
) -> steps_tasks.ShownTask:
    """Enter a phase of a task; end it with a report, or mark it as blocked.

    slug: the task
    name: the phase
    report: the result
    blocked: why it cannot go on

    Example: recollect task phase feature-x design
    Example: recollect task phase feature-x design --report "One table, two endpoints"
    """
    if report and blocked:
        raise InvalidInput("a phase is done or blocked, not both", where=f"task {slug}")
    if report:
        done = _write_task(
            context,
            f"ended the phase {name} of the task",
            slug,
            lambda tx, now: steps_tasks.finish_phase(tx, slug, name, report, context.origin, now),
            _gate("phase end", phase=name),
            report,
        )
        from . import operations

        operations.prune_notes(context, done.task, name)
        return done
    return _change_task(
        context,
        f"{'blocked' if blocked else 'entered'} the phase {name} of the task",
        slug,
        lambda task: (
            records.set_phase(task, name, "blocked", blocked)
            if blocked
            else records.enter_phase(task, name)
        ),
        _gate("phase blocked" if blocked else "phase start", phase=name, reason=blocked),
    )


def record_decision(
    context: Context, slug: str, text: str, reason: str = ""
) -> steps_tasks.ShownTask:
    """Record a decision of a task.

    slug: the task
    text: the decision
    reason: why

    Example: recollect task decide feature-x "Use one table" --reason "fewer joins"
    """
    now = context.clock()
    return _change_task(
        context,
        "recorded a decision of the task",
        slug,
        lambda task: records.add_decision(task, text, reason, now),
        _gate("decision", text=text, reason=reason),
        text,
    )


def add_deliverable(context: Context, slug: str, name: str, text: str) -> steps_tasks.ShownTask:
    """Save a design, diagram or other result of a task as one of its pages.

    slug: the task
    name: its name; the page is memory://task/SLUG/deliverables/NAME.md
    text: the content; - reads standard input

    Example: recollect task deliver feature-x schema "One table, two indexes"
    """
    return _write_task(
        context,
        f"wrote the deliverable {name} of the task",
        slug,
        lambda tx, now: steps_tasks.write_deliverable(tx, slug, name, text, context.origin, now),
        _gate("deliverable", name=name),
        text,
    )


def verify_task_items(
    context: Context, slug: str, items: Sequence[str] = (), revise: str = ""
) -> steps_tasks.ShownTask:
    """Mark items as verified; a new revision of the plan starts with none.

    slug: the task
    items: a verified item (repeat for several)
    revise: the reason for a new revision of the plan

    Example: recollect task verify feature-x --item "login works"
    """
    now = context.clock()

    def step(task: records.Task) -> records.Task:
        return records.verify_items(
            records.revise_plan(task, revise, now) if revise else task, items
        )

    gate = _gate("plan revised" if revise else "items verified", items=list(items), reason=revise)
    return _change_task(context, "verified items of the task", slug, step, gate, ", ".join(items))


def complete_task(context: Context, slug: str, review: str = "") -> steps_tasks.ShownTask:
    """Complete a task: write its report, and learn episodes and lessons from the work.

    slug: the task
    review: the result of a final review, saved as memory://task/SLUG/final_review.md

    Example: recollect task complete feature-x
    """
    shown = _write_task(
        context,
        "completed the task",
        slug,
        lambda tx, now: steps_tasks.complete_task(tx, slug, context.origin, now, review),
        _gate("task complete", reviewed=bool(review)),
    )
    settled = lessons_operations.learn_from_finished_work(context, task_done=True)
    return shown._replace(lessons=lessons_steps_schedule.describe_lessons(settled))


def list_tasks(context: Context, limit: int = 100) -> tuple[steps_tasks.ShownTask, ...]:
    """List all tasks.

    limit: maximum number of tasks

    Example: recollect task list
    """
    return tuple(context.project_space.read(lambda tx: steps_tasks.list_tasks(tx, limit)))


def task_log(context: Context, slug: str, limit: int = 1000) -> str:
    """Show the log of a task, one JSON object a line.

    slug: the task
    limit: maximum number of events, the newest

    Example: recollect task log feature-x
    """
    show_task(context, slug)  # a task that does not exist has no log
    return context.project_space.read(lambda tx: steps_tasks.read_log(tx, slug, limit))


def _change_task(
    context: Context,
    what: str,
    slug: str,
    step: steps_tasks.TaskChange,
    gate: steps_tasks.Gate,
    text: str = "",
) -> steps_tasks.ShownTask:
    return _write_task(
        context,
        what,
        slug,
        lambda tx, now: steps_tasks.change_task(tx, slug, step, context.origin, now),
        gate,
        text,
    )


def _gate(type: str, **payload: Json) -> steps_tasks.Gate:
    return steps_tasks.Gate(new_id("ev"), type, {key: one for key, one in payload.items() if one})


def write_ledger(
    context: Context, agent: str, ledger: Mapping[str, Json] | None = None
) -> Mapping[str, Json]:
    """Show the ledger of an agent, or write it.

    agent: the agent's name
    ledger: the whole ledger as a JSON object

    Example: recollect ledger eng-001
    Example: recollect ledger eng-001 --ledger '{"tasks_completed": 12}'
    """
    if ledger is None:
        return context.project_space.read(lambda tx: steps.read_ledger(tx, agent))
    return undo_steps.write_undoable(
        context,
        f"wrote the ledger of {agent}",
        undo_steps.Watched("documents", "owner", agent),
        lambda tx, now: steps.write_ledger(tx, agent, ledger, context.origin, now),
    )


def give_handoff(
    context: Context,
    to: str = "",
    done: str = "",
    sender: str = "",
    handoff: Mapping[str, Json] | None = None,
    **parts: Unpack[HandoffParts],
) -> steps.ShownHandoff:
    """Hand work over to another agent.

    to: the agent that receives it
    done: the finished work
    sender: the agent that gives it
    handoff: the whole handoff as a JSON object, instead of all other options

    Example: recollect handoff give qa-001 --done "Login form" --needs-testing "validation"
    """
    now, id = context.clock(), new_id("h")
    given = handoff
    if given is None:
        commit = _read_tree_state(context, ()).commit
        state = parts.pop("git_state", "") or (f"commit {commit}" if commit else "")
        made = records.Handoff(
            id=id,
            from_agent=sender,
            to_agent=to,
            at=now,
            what_was_done=done,
            git_state=state,
            **_to_tuples(parts),
        )
        given = records.HANDOFF.dump(made)
    checked = steps.check_handoff(given)
    tree = _read_tree_state(context, checked.artifacts)
    return undo_steps.write_undoable(
        context,
        f"gave a handoff to {checked.to_agent}",
        undo_steps.Watched("documents", "owner", checked.to_agent),
        lambda tx, now: steps.give_handoff(tx, checked, tree, id, context.origin, now),
        checked.what_was_done,
    )


def accept_handoff(context: Context, id: str, agent: str = "") -> steps.ShownHandoff:
    """Accept a handoff, and report what changed since it was given.

    id: the handoff
    agent: the agent that accepts; it must be the receiver

    Example: recollect handoff accept h-5eydz64j0aqr --agent qa-001
    """
    files = context.project_space.read(lambda tx: steps.get_artifacts(tx, id))
    tree = _read_tree_state(context, files)
    return undo_steps.write_undoable(
        context,
        f"accepted the handoff {id}",
        undo_steps.Watched("documents", "address", f"memory://handoff/{id}"),
        lambda tx, now: steps.accept_handoff(tx, id, agent, tree, context.origin, now),
    )


def list_handoffs(
    context: Context, to: str = "", limit: int = 100
) -> tuple[steps.ShownHandoff, ...]:
    """List handoffs.

    to: only to this agent
    limit: maximum number of handoffs

    Example: recollect handoff list --to qa-001
    """
    return tuple(context.project_space.read(lambda tx: steps.list_handoffs(tx, to, limit)))


def _read_tree_state(context: Context, files: Sequence[str]) -> records.TreeState:
    """Read the commit of the tree and the digests of these files."""
    from ..freshness import git_io
    from ..freshness.working_tree_io import WorkTree

    commits = git_io.read_git_state(context.top).commits
    tree = WorkTree(context.top)
    contents = {path: tree.blob(path)[:16] for path in files}
    return records.TreeState(commits[0].split(" ")[0] if commits else "", contents)


def _to_tuples(parts: HandoffParts) -> dict[str, Json]:
    return {name: tuple(words) for name, words in parts.items() if isinstance(words, Sequence)}
