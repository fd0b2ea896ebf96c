"""Operations that keep memories true: confirm, correct, remember, archive, prune, judge."""

from __future__ import annotations

from collections.abc import Sequence

from ..context import Context, new_id
from ..errors import NotFound
from ..freshness import operations as freshness_operations
from ..recall import operations as recall_operations
from ..types.records import Learned, Memory
from . import (
    operations,
    steps,
    steps_clear,
    steps_layers,
    steps_lifecycle,
    steps_scope,
    steps_verify,
    steps_versions,
)


def confirm(context: Context, id: str) -> Memory:
    """Stand behind a memory: a new version, trusted as yours, and active.

    id: the memory's id, or the beginning of it

    Example: recollect confirm m-4k9w2c
    """
    fresh, now = new_id("m"), context.clock()
    rows = _tend(context, id, lambda tx: steps_verify.claimed(tx, id), write=False)
    known = (
        steps_verify.pinned_anew(freshness_operations.working_tree(context), rows) if rows else ()
    )
    return _tend(
        context, id, lambda tx: steps_lifecycle.confirm(tx, id, context.origin, now, fresh, known)
    )


def correct(context: Context, id: str, text: str, reason: str = "") -> Memory:
    """Put another text in a memory's place; the old one stays in its history.

    id: the memory's id, or the beginning of it
    text: what is true now
    reason: why it changed

    Example: recollect correct m-4k9w2c "Redis listens on port 6390"
    """
    now = context.clock()
    old = _tend(context, id, lambda tx: steps_lifecycle.open_memory(tx, id), write=False)
    draft = steps.Draft(
        text,
        old.kind,
        subject=old.subject,
        scope=old.scope,
        reason=reason,
        layer=old.layer,
        owner=old.owner,
    )
    ready = steps.prepare(draft, context.origin, now, new_id("m"))
    around = context.space_of(old.layer).read(lambda tx: steps_versions.neighbours(tx, ready.row))
    known = (
        ()
        if old.layer == "user"
        else freshness_operations.pin_claims(context, ready.row.text, old.citations)
    )
    return _tend(context, id, lambda tx: steps_lifecycle.correct(tx, id, ready, now, around, known))


def remember(context: Context, id: str) -> Memory:
    """Reinforce a memory: its clock of decay begins anew.

    id: the memory's id, or the beginning of it

    Example: recollect remember m-4k9w2c
    """
    now = context.clock()
    return _tend(context, id, lambda tx: steps_lifecycle.reinforce(tx, id, now))


def hide(context: Context, id: str) -> Memory:
    """Hide a memory: still found by recall, never injected; `restore` takes it back.

    id: the memory's id, or the beginning of it

    Example: recollect hide m-4k9w2c
    """
    now = context.clock()
    return _tend(
        context, id, lambda tx: steps_lifecycle.set_status(tx, id, "archived", context.origin, now)
    )


def restore(context: Context, id: str) -> Memory:
    """Take a memory back out of the archive.

    id: the memory's id, or the beginning of it

    Example: recollect restore m-4k9w2c
    """
    now = context.clock()
    return _tend(
        context, id, lambda tx: steps_lifecycle.set_status(tx, id, "active", context.origin, now)
    )


def feedback(context: Context, id: str, verdict: str, session: str = "") -> steps_lifecycle.Judged:
    """Say what came of a memory that was used; it counts in ranking.

    id: the memory's id, or the beginning of it
    verdict: helped, wrong or stale
    session: only for its injections into this session

    Example: recollect feedback m-4k9w2c helped
    """
    now = context.clock()
    return _tend(context, id, lambda tx: steps_lifecycle.judge(tx, id, verdict, session, now))


def prune(
    context: Context, max_age_days: float = 90.0, min_confidence: float = 0.3, apply: bool = False
) -> steps_lifecycle.Pruned:
    """Archive memories that are old and unused, or doubtful; shows them first.

    max_age_days: not reinforced, confirmed or recalled for so long
    min_confidence: less sure than this
    apply: really archive them; `restore` takes one back

    Example: recollect prune
    Example: recollect prune --max-age-days 180 --apply
    """
    now = context.clock()
    recall_operations.write_recalls(context)
    run = context.project_space.write if apply else context.project_space.read
    return run(
        lambda tx: steps_lifecycle.prune(
            tx, max_age_days, min_confidence, apply, context.origin, now
        )
    )


def clear_memories(context: Context, apply: bool = False) -> steps_clear.Cleared:
    """Hide all that the project has learned: memories, episodes, procedures; counts first.

    apply: really hide it, at a terminal; `clear undo` takes it back

    Example: recollect clear
    Example: recollect clear --apply
    """
    now = context.clock()
    recall_operations.write_recalls(context)
    run = context.project_space.write if apply else context.project_space.read
    return run(lambda tx: steps_clear.clear(tx, apply, context.origin, new_id("u"), now))


def undo_clear(context: Context) -> steps_clear.Returned:
    """Take back the last clearing: what it hid is in use again, each as it was.

    Example: recollect clear undo
    """
    return context.project_space.write(lambda tx: steps_clear.undo(tx, context.origin))


def memory_history(context: Context, id: str) -> tuple[Memory, ...]:
    """Every version of a memory, oldest first, with the time it was believed.

    id: the id of any version, or the beginning of it

    Example: recollect history m-4k9w2c
    """
    return tuple(_tend(context, id, lambda tx: steps_lifecycle.history(tx, id), write=False))


def for_file(context: Context, path: str, limit: int = 20) -> tuple[Memory, ...]:
    """What applies to a file: memories whose scope takes it in, the most specific first.

    path: a path inside the project
    limit: at most so many

    Example: recollect for-file src/api/users.py
    """
    place = context.path_in_project(path).removeprefix("./")
    found = context.read_both(
        lambda txs: [
            item
            for own in [steps_layers.owners_of_memories(txs)]
            for tx in txs
            for item in steps_scope.for_file(tx, place, limit, own)
        ]
    )
    return tuple(found[:limit])


def add_discovery(context: Context, fact: str, confidence: float = 0.8) -> Learned:
    """Keep a fact about the codebase.

    fact: what was found out
    confidence: how sure you are, from 0 to 1

    Example: recollect add-discovery "Config uses YAML, not JSON" --confidence 0.9
    """
    return operations.learn(context, fact, confidence=confidence)


def add_solution(
    context: Context, error: str, solution: str, examples: Sequence[str] = ()
) -> Learned:
    """Keep an error with its fix.

    error: what went wrong
    solution: what helps
    examples: files it is about (repeat for several)

    Example: recollect add-solution "Session save: permission denied" "Own .clio/ yourself"
    """
    return operations.learn(
        context,
        f"{error.strip().rstrip('.')}: {solution.strip()}",
        kind="solution",
        detail={"error": error, "fix": solution},
        examples=examples,
    )


def add_pattern(
    context: Context, pattern: str, confidence: float = 0.8, examples: Sequence[str] = ()
) -> Learned:
    """Keep a convention of the code.

    pattern: how things are done here
    confidence: how sure you are, from 0 to 1
    examples: files that show it (repeat for several)

    Example: recollect add-pattern "File writes use temp and rename" --example src/save.py
    """
    return operations.learn(
        context, pattern, kind="pattern", confidence=confidence, examples=examples
    )


def _tend(
    context: Context,
    id: str,
    work: steps_lifecycle.Work[steps_lifecycle.Result],
    write: bool = True,
) -> steps_lifecycle.Result:
    """Do work in the space that has the memory."""
    id = id.removeprefix("memory://")
    recall_operations.write_recalls(context)
    for space in (context.project_space, context.user_space):
        if space.present() and space.read(lambda tx: steps_lifecycle.has(tx, id)):
            return context.writable(space).write(work) if write else space.read(work)
    raise NotFound("there is no such memory", where=id, hint="`recollect list` shows what there is")
