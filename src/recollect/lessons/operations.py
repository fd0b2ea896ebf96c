"""Operations on episodes, on the lessons made from them, and on links."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypedDict, Unpack

from ..actions import call_results
from ..context import Context, new_id
from ..documents.user_files_io import read_json_objects
from ..episodes import aging, session_observations
from ..episodes import steps as episodes_steps
from ..errors import InvalidInput, NotFound
from ..freshness import steps as freshness_steps
from ..memory import operations as memory_operations
from ..recall import steps_records as recall_steps_records
from ..secrets import redaction
from ..storage.database import Database, Tx
from ..text import dates
from ..types.records import Json, Link, Memory, Session, Stored
from ..types.reports import HiddenLesson
from ..types.trust import require_person
from ..undo import sql as undo_sql
from ..undo import steps as undo_steps
from . import manifests_io, steps, steps_observed, steps_schedule


class EpisodeFields(TypedDict, total=False):
    """The parts of an episode other than its goal and outcome.

    files: files it was about (repeat for several)
    artifacts: files that were made or changed (repeat for several)
    constraints: a constraint of the task (repeat for several)
    errors: an error and what helped, as "TypeError: no len() => pass a list" (repeat for several)
    phase: exploration, implementation, debugging, review or refactoring
    task: the task's id or slug
    session: the session it happened in
    agent: the agent that did it
    commit: the resulting commit
    sources: addresses of the messages it was built from (repeat for several)
    """

    files: Sequence[str]
    artifacts: Sequence[str]
    constraints: Sequence[str]
    errors: Sequence[str]
    phase: str
    task: str
    session: str
    agent: str
    commit: str
    sources: Sequence[str]


def record_episode(
    context: Context,
    goal: str = "",
    outcome: str = "unknown",
    episode: Mapping[str, Json] | None = None,
    **fields: Unpack[EpisodeFields],
) -> episodes_steps.RecordedEpisode:
    """Save an episode: what happened on a task.

    goal: the goal of the task
    outcome: success, failure, partial or unknown
    episode: the whole episode as a JSON object, in place of all other options

    Example: recollect episode record "Add login" --outcome success --file src/login.py
    """
    if episode is not None and (goal or fields):
        raise InvalidInput("give a whole episode or its parts, not both", where="episode")
    errors = fields.pop("errors", ())
    parts = {"goal": goal, "outcome": outcome, **fields}
    given = _build_episode(parts, errors) if episode is None else episode
    now = context.clock()
    label = context.origin
    if context.project_space.present():
        label = context.project_space.read(
            lambda tx: episodes_steps.label_for(tx, context.origin, given)
        )
    row, redacted = episodes_steps.prepare_row(given, context.origin, label, now)
    return context.project_space.write(lambda tx: episodes_steps.store_episode(tx, row, redacted))


def _build_episode(fields: Mapping[str, Json], errors: Sequence[str]) -> dict[str, Json]:
    """Return the JSON of an episode given by its parts; an error is `ERROR => RESOLUTION`."""
    context = {
        "goal": fields.get("goal", ""),
        "phase": fields.get("phase", ""),
        "constraints": list(fields.get("constraints", ())),
        "files_involved": list(fields.get("files", ())),
    }
    body: dict[str, Json] = {
        "task_id": fields.get("task", ""),
        "agent": fields.get("agent", ""),
        "session": fields.get("session", ""),
        "git_commit": fields.get("commit", ""),
        "artifacts_produced": list(fields.get("artifacts", ())),
        "sources": list(fields.get("sources", ())),
        "errors_encountered": [_parse_error(one) for one in errors],
    }
    given = {name: value for name, value in body.items() if value}
    given["outcome"] = fields.get("outcome", "unknown")
    return given | {"context": {name: value for name, value in context.items() if value}}


def _parse_error(words: str) -> dict[str, str]:
    left, _, right = words.partition("=>")
    error, resolution = left.strip(), right.strip()
    kind, colon, message = error.partition(": ")
    parsed = {"type": kind if colon else "error", "message": message if colon else error}
    return parsed | ({"resolution": resolution} if resolution else {})


def load_episodes(context: Context, path: str) -> tuple[episodes_steps.RecordedEpisode, ...]:
    """Load episodes from a JSON file or a folder of them.

    path: the file or folder; what an agent loads can be searched and is not learned from

    Example: recollect episode load episodes/task-001.json
    """
    label = "user" if context.origin == "user" else "import"
    now = context.clock()
    ready = [
        episodes_steps.prepare_row(one, context.origin, label, now)
        for one in read_json_objects(path)
    ]
    return context.project_space.write(
        lambda tx: tuple(episodes_steps.store_episode(tx, row, redacted) for row, redacted in ready)
    )


def build_episodes(context: Context, session: str = "") -> episodes_steps.BuiltEpisodes:
    """Build episodes from archived conversations.

    session: only this session; without it, all with new messages since the last build

    Example: recollect episode build
    """
    if not context.project_space.present():
        return episodes_steps.BuiltEpisodes(0, 0, 0, 0)
    learn = _learning(context)
    return episodes_steps.build(context.project_space, session, context.clock, learn=learn)


def list_episodes(
    context: Context, outcome: str = "", session: str = "", status: str = "", limit: int = 50
) -> tuple[episodes_steps.ShownEpisode, ...]:
    """List episodes, newest first.

    outcome: only this outcome: success, failure, partial or unknown
    session: only this session
    status: only this status: active or hidden
    limit: how many to list at most

    Example: recollect episode list --outcome failure
    """
    if not context.project_space.present():
        return ()
    chosen = {"outcome": outcome, "session": session, "status": status}
    where = {name: value for name, value in chosen.items() if value}
    return tuple(
        context.project_space.read(lambda tx: episodes_steps.list_episodes(tx, where, limit))
    )


def show_episode(context: Context, id: str) -> episodes_steps.ShownEpisode:
    """Show one episode in full.

    id: the episode's id, or the beginning of it

    Example: recollect episode show e-4k9w2c --json
    """
    return episodes_steps.show_row(
        context.project_space.read(lambda tx: episodes_steps.get_episode(tx, id))
    )


def replay_episode(context: Context, id: str) -> episodes_steps.EpisodeReplay:
    """Show an episode step by step, with the state of its files now.

    id: the episode's id, or the beginning of it

    Example: recollect episode replay e-4k9w2c
    """
    row = context.project_space.read(lambda tx: episodes_steps.get_episode(tx, id))
    return episodes_steps.replay(row, freshness_steps.open_working_tree(context).stamp)


def list_learnings(
    context: Context, since: str = "", limit: int = 30
) -> tuple[aging.LearningDay, ...]:
    """List errors by day, each with its resolution.

    since: only since this time, such as 2026-01-06 or "a week ago"
    limit: how many days to list at most, the newest

    Example: recollect learnings --since "a week ago"
    """
    if not context.project_space.present():
        return ()
    start = dates.parse_time_filter(since, context.clock())
    found = context.project_space.read(lambda tx: episodes_steps.list_learnings(tx, start, limit))
    return tuple(found)


def consolidate(
    context: Context, dry_run: bool = False, if_due: bool = False
) -> steps.Consolidated:
    """Learn lessons from episodes, merge duplicates, hide faded memories.

    dry_run: change nothing, show what would be done and why
    if_due: only if the last run was a week ago, or did not finish its work

    Example: recollect consolidate --dry-run
    Example: recollect consolidate
    """
    space = context.project_space
    if not space.present():
        return steps.Consolidated(not dry_run, 0)
    memory_operations.write_recalls(context)
    needs = steps.Dependencies(context.clock, new_id, context.embedder())
    if dry_run:
        return steps.preview(space, needs)
    return (steps_schedule.run_if_due if if_due else steps.run)(space, needs)


def undo_consolidation(context: Context) -> steps.Undone:
    """Undo the last consolidation.

    Example: recollect consolidate undo
    """
    memory_operations.write_recalls(context)
    now = context.clock()
    return context.project_space.write(lambda tx: steps.undo(tx, now))


def link_records(
    context: Context,
    source: str,
    relation: str,
    target: str,
    reason: str = "",
    remove: bool = False,
) -> Link:
    """Connect two records; a link can be followed from both ends.

    source: an id or address
    relation: derived_from, related_to, contradicts, elaborates, example_of, supersedes or
        superseded_by
    target: another id or address
    reason: why they belong together
    remove: end the link instead

    Example: recollect link m-4k9w2c elaborates m-8x1b7d
    """
    found, (one, other) = _space_with(context, source, target)

    def work(tx: Tx, now: int) -> Link:
        if not remove:
            return recall_steps_records.add_link(
                tx, (one, other), relation, reason, context.origin, now
            )
        if not recall_steps_records.end_link(tx, (one, other), relation, now):
            raise NotFound("there is no such link", where=f"{source} {relation} {target}")
        return Link(one, relation, other, reason, context.origin, now)

    done = "removed the link" if remove else "linked"
    what, watched = f"{done} {one} {relation} {other}", undo_steps.Watched("links", "source", one)
    space = context.writable(found)
    return undo_steps.write_undoable(context, what, watched, work, reason, space)


def _space_with(context: Context, *addresses: str) -> tuple[Database, list[str]]:
    """Return the space that has all these records, and their ids in links."""
    for space in (context.project_space, context.user_space):
        if space.present():
            refs = space.read(
                lambda tx: [recall_steps_records.resolve_ref(tx, one) for one in addresses]
            )
            if all(refs):
                return space, refs
    several = "they must be records of one space" if len(addresses) > 1 else ""
    raise NotFound(
        "there is no such record",
        where=", ".join(addresses),
        hint=several or "`recollect list` lists them",
    )


def list_links(
    context: Context, id: str, depth: int = 1, format: str = "", relation: Sequence[str] = ()
) -> recall_steps_records.Linked:
    """List the records that are linked to a record.

    id: an id or address
    depth: how many steps to follow
    format: the graph as json, dot or mermaid
    relation: only these relations, such as source_of or superseded_by (repeat for several)

    Example: recollect links m-4k9w2c --depth 2
    Example: recollect links m-4k9w2c --depth 3 --format mermaid
    """
    space, (start,) = _space_with(context, id)
    return space.read(
        lambda tx: recall_steps_records.follow_links(tx, start, depth, relation, format)
    )


def learn_from_finished_work(context: Context, task_done: bool = False) -> steps_schedule.Settled:
    """Build the episodes of finished work and consolidate, unless the settings forbid it."""
    if not context.settings.consolidate:
        return steps_schedule.Settled()
    memory_operations.write_recalls(context)
    needs = steps.Dependencies(context.clock, new_id, context.embedder())
    learn = _learning(context)
    return steps_schedule.settle(context.project_space, needs, learn, task_done)


def _learning(context: Context) -> episodes_steps.Learn:
    """Return the function that observes commands, error fixes and places in a session."""
    root = context.project.root
    manifests = manifests_io.read(root)
    now = context.clock()

    def learn(
        session: Session, messages: Sequence[Stored], tried: Sequence[call_results.CallAttempt]
    ) -> Callable[[Tx], None]:
        cwd = root if f"{session.cwd}/".startswith(f"{root}/") else session.cwd
        found = session_observations.observe(messages, cwd, manifests.scripts, tried)
        rows = steps_observed.prepare(session.id, found, session.last_active)

        def store(tx: Tx) -> None:
            steps_observed.store(tx, session.id, rows)
            if manifests.complete:
                steps_observed.store_scripts(tx, list(manifests.scripts), now)

        return store

    return learn


# ---------------------------------------------------------------- hide and restore

LESSON = "lesson"
"""The name of undo records for hiding a command or fix."""


def hide(context: Context, id: str) -> Memory | HiddenLesson:
    """Hide a memory, a command or a fix. It is no longer shown to agents; recall still finds it.

    id: the memory's id, or the beginning of it; `command:…` or `fix:…` as `lessons` and `seen`
        show it

    Example: recollect hide m-4k9w2c
    Example: recollect hide "command:make test"
    """
    if _names_lesson(id):
        return _set_hidden(context, id, True)
    return memory_operations.hide(context, id)


def restore(context: Context, id: str) -> Memory | HiddenLesson:
    """Restore a hidden memory, command or fix, or a memory whose place another took.

    id: the memory's id, or the beginning of it; `command:…` or `fix:…`

    Example: recollect restore m-4k9w2c
    """
    if _names_lesson(id):
        return _set_hidden(context, id, False)
    return memory_operations.restore(context, id)


def _names_lesson(id: str) -> bool:
    return id.startswith(("command:", "avoid:", "fix:", "resolution:"))


def _set_hidden(context: Context, id: str, hide: bool) -> HiddenLesson:
    """Hide or restore a command or fix, and record how to undo it."""
    require_person(context.origin, f"{'hide' if hide else 'restore'} a lesson", where=id)
    now = context.clock()

    def work(tx: Tx) -> HiddenLesson:
        ref = steps_observed.find_lesson(tx, id, now)
        if not ref:
            hint = "`recollect lessons` lists the commands and fixes"
            raise NotFound("there is no such command or fix", where=id, hint=hint)
        if hide != (ref in steps_observed.hidden_refs(tx)):
            steps_observed.set_hidden(tx, ref, hide, now)
            body = redaction.redact_json({"ref": ref, "hid": hide}).text
            undo_sql.insert(tx, new_id("u"), LESSON, body, now)
        return HiddenLesson(ref, "hidden" if hide else "active")

    if not context.project_space.present():
        raise NotFound("there is no such command or fix", where=id)
    return context.project_space.write(work)
