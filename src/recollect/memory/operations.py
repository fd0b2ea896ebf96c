"""Operations on memories: learn, list, change, hide, prune, clear."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf

from ..context import Context, new_id
from ..errors import InvalidInput, NotFound
from ..fast_typing import Any, TypedDict, Unpack
from ..freshness import steps as freshness_steps
from ..storage.database import Result, Tx
from ..types import trust
from ..types.records import KIND_NAMES, Json, Learned, Memory
from . import (
    sql,
    sql_lists,
    steps,
    steps_learn,
    steps_lifecycle,
    steps_neighbours,
    steps_revisions,
    steps_verify,
    steps_visible,
)


class MemoryFields(TypedDict, total=False):
    """The fields of a memory besides its text and kind.

    subject: the topic, in a few words
    scope: path globs it applies to, such as src/api/** (repeat for several)
    tags: words to filter by (repeat for several)
    examples: files that show it (repeat for several)
    citations: where it can be checked, such as src/db.py:42 (repeat for several)
    evidence: addresses of the messages or episodes it came from (repeat for several)
    reason: why it is worth keeping
    confidence: how sure you are, from 0 to 1
    priority: normal, medium, high or critical (only a person); by default that of the kind
    layer: project (default), user (across projects; only a person), task or session
    owner: the task or session, for these two layers
    detail: fields of its kind as a JSON object, such as {"error": "…", "fix": "…"}
    near: what to do when a memory says almost the same, or the same of other files: create
        (default), skip or merge
    key: makes the call idempotent: the same key again changes nothing
    """

    subject: str
    scope: Sequence[str]
    tags: Sequence[str]
    examples: Sequence[str]
    citations: Sequence[str]
    evidence: Sequence[str]
    reason: str
    confidence: float
    priority: str
    layer: str
    owner: str
    detail: Mapping[str, Json]
    near: str
    key: str


def learn(
    context: Context,
    text: str,
    kind: str = "fact",
    again: bool = False,
    **fields: Unpack[MemoryFields],
) -> Learned:
    """Save a memory. Saving the same text again strengthens it.

    text: one statement, as told to a colleague; many: learn-many
    kind: policy, pitfall, architecture, solution, workflow, decision, pattern, preference,
        reference or fact
    again: save it although you forgot it before (only a person)

    Example: recollect learn "Integration tests need Redis on port 6380" --kind reference
    Example: recollect learn "Never edit generated files" --kind policy --scope 'src/gen/**'
    """
    if again:
        trust.require_person(context.origin, "save a forgotten text again", "again")
    draft = make_draft(context, text, kind, fields)
    now = context.clock()
    space = context.writable(context.space_of(draft.layer))
    label = context.origin
    if draft.evidence:
        label = context.project_space.read(
            lambda tx: steps.find_label(tx, context.origin, draft.evidence)
        )
    ready = steps.prepare(draft, context.origin, now, new_id("m"), label)
    known = (
        []
        if draft.layer == "user"
        # A process would cost more than all the rest: `steps_verify.pin_waiting` starts it later.
        else freshness_steps.pin_claims(context, ready.row.text, ready.memory.citations, quick=True)
    )

    def save(tx: Tx, around: steps_neighbours.Neighbours) -> Learned:
        if again:
            sql.allow_again(tx, ready.row.digest)
        return steps_learn.learn(tx, ready, now, around, known)

    learned = space.read_and_write(lambda tx: steps_neighbours.find_neighbours(tx, ready.row), save)
    context.lacks_vectors |= space.written_at < inf
    return learned


def make_draft(context: Context, text: str, kind: str, fields: MemoryFields) -> steps.Draft:
    """Return the draft of a statement with these fields."""
    given: dict[str, Any] = {**fields, "text": text, "kind": kind}
    for name in LISTS & given.keys():
        given[name] = tuple(given[name])
    if "scope" in given:
        given["scope"] = context.scopes_in_project(given["scope"])
    if "citations" in given:
        given["citations"] = tuple({"path": place} for place in given["citations"])
    return steps.Draft(**given)


LISTS = frozenset({"scope", "tags", "examples", "citations", "evidence"})
"""The fields of a memory that are lists of texts."""


def among(name: str, values: tuple[str, ...], allowed: tuple[str, ...]) -> tuple[str, ...]:
    if name == "kind":
        values = tuple(
            value if value in allowed else KIND_NAMES.get(value, value) for value in values
        )
    for value in values:
        if value not in allowed:
            listed = ", ".join(filter(None, allowed))
            raise InvalidInput(f"{value!r} is not a {name}", where=name, hint=f"one of: {listed}")
    return values


def confirm(context: Context, id: str) -> Memory:
    """Confirm a memory: it is trusted as yours, and active.

    id: the memory's id, or the beginning of it

    Example: recollect confirm m-4k9w2c
    """
    now = context.clock()
    rows = _run_in_space_of(context, id, lambda tx: steps_verify.load_claims(tx, id), write=False)
    known = (
        steps_verify.pin_changed(freshness_steps.open_working_tree(context), rows) if rows else ()
    )
    return _run_in_space_of(
        context, id, lambda tx: steps_lifecycle.confirm(tx, id, context.origin, now, known)
    )


def correct(context: Context, id: str, text: str, reason: str = "") -> Memory:
    """Change the text of a memory. The old text stays in its history.

    id: the memory's id, or the beginning of it
    text: the new text
    reason: why it changed

    Example: recollect correct m-4k9w2c "Redis listens on port 6390"
    """
    now = context.clock()
    old = _run_in_space_of(context, id, lambda tx: steps_revisions.open_memory(tx, id), write=False)
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
    around = context.space_of(old.layer).read(
        lambda tx: steps_neighbours.find_neighbours(tx, ready.row)
    )
    known = (
        ()
        if old.layer == "user"
        else freshness_steps.pin_claims(context, ready.row.text, old.citations)
    )
    return _run_in_space_of(
        context, id, lambda tx: steps_lifecycle.correct(tx, id, ready, now, around, known)
    )


def scope(context: Context, id: str, scope: Sequence[str] = ()) -> Memory:
    """Set the files a memory applies to. It keeps its id.

    id: the memory's id, or the beginning of it
    scope: path globs such as src/api/** (repeat for several); without any, it applies everywhere

    Example: recollect scope m-4k9w2c 'src/api/**'
    """
    now = context.clock()
    wanted = context.scopes_in_project(scope)
    return _run_in_space_of(
        context, id, lambda tx: steps_lifecycle.set_scope(tx, id, wanted, context.origin, now)
    )


def undo(context: Context, id: str) -> Memory:
    """Undo the last change of one memory.

    The memory keeps its id and says what it said before, as a new revision. Undoing twice brings
    the change back.

    id: the memory's id, or the beginning of it

    Example: recollect history undo m-4k9w2c
    """
    now = context.clock()
    earlier = _run_in_space_of(
        context, id, lambda tx: steps_revisions.find_before(tx, id), write=False
    )
    known = (
        ()
        if earlier.layer == "user"
        else freshness_steps.pin_claims(context, earlier.text, earlier.citations)
    )
    return _run_in_space_of(
        context,
        id,
        lambda tx: steps_lifecycle.undo_change(tx, earlier, context.origin, now, known),
    )


def reinforce(context: Context, id: str) -> Memory:
    """Reinforce a memory: it fades later.

    id: the memory's id, or the beginning of it

    Example: recollect reinforce m-4k9w2c
    """
    now = context.clock()
    return _run_in_space_of(context, id, lambda tx: steps_lifecycle.reinforce(tx, id, now))


def hide(context: Context, id: str) -> Memory:
    """Hide a memory. It is no longer shown to agents; recall still finds it.

    id: the memory's id, or the beginning of it

    Example: recollect hide m-4k9w2c
    """
    now = context.clock()
    return _run_in_space_of(
        context, id, lambda tx: steps_lifecycle.set_status(tx, id, "hidden", context.origin, now)
    )


def restore(context: Context, id: str) -> Memory:
    """Restore a hidden memory, or one whose place another took.

    id: the memory's id, or the beginning of it

    Example: recollect restore m-4k9w2c
    """
    now = context.clock()
    return _run_in_space_of(
        context, id, lambda tx: steps_lifecycle.restore(tx, id, context.origin, now)
    )


def feedback(context: Context, id: str, verdict: str, session: str = "") -> steps_lifecycle.Judged:
    """Rate a memory that was used; it counts in ranking.

    id: the memory's id, or the beginning of it
    verdict: helped, wrong or stale
    session: only for its injections into this session

    Example: recollect feedback m-4k9w2c helped
    """
    now = context.clock()
    return _run_in_space_of(
        context, id, lambda tx: steps_lifecycle.judge(tx, id, verdict, session, now)
    )


def prune(
    context: Context, max_age_days: float = 90.0, min_confidence: float = 0.3, apply: bool = False
) -> steps_lifecycle.Pruned:
    """Hide memories that are old and unused, or doubtful. Shows them first.

    max_age_days: hide those not reinforced, confirmed or recalled for this many days
    min_confidence: hide those with a lower confidence, from 0 to 1
    apply: hide them; `recollect restore ID` brings one back

    Example: recollect prune
    Example: recollect prune --max-age-days 180 --apply
    """
    now = context.clock()
    write_recalls(context)
    run = context.project_space.write if apply else context.project_space.read
    return run(
        lambda tx: steps_lifecycle.prune(
            tx, max_age_days, min_confidence, apply, context.origin, now
        )
    )


def clear_memories(context: Context, apply: bool = False) -> steps_lifecycle.Cleared:
    """Hide everything the project has learned. Without --apply, only count it.

    apply: hide everything (only at a terminal); `recollect clear undo` undoes it

    Example: recollect clear
    Example: recollect clear --apply
    """
    now = context.clock()
    write_recalls(context)
    run = context.project_space.write if apply else context.project_space.read
    return run(lambda tx: steps_lifecycle.clear_all(tx, apply, context.origin, new_id("u"), now))


def undo_clear(context: Context) -> steps_lifecycle.Returned:
    """Undo the last `clear`.

    Example: recollect clear undo
    """
    return context.project_space.write(lambda tx: steps_lifecycle.undo_clear(tx, context.origin))


def memory_history(context: Context, id: str) -> tuple[Memory, ...]:
    """List the revisions of a memory, oldest first.

    Statements whose place it took are listed too, with their own ids.

    id: the memory's id, or the beginning of it

    Example: recollect history m-4k9w2c
    """
    return tuple(
        _run_in_space_of(context, id, lambda tx: steps_revisions.list_history(tx, id), write=False)
    )


def for_file(context: Context, path: str, limit: int = 20) -> tuple[Memory, ...]:
    """List the memories that apply to a file, the most specific first.

    path: a path inside the project
    limit: how many to list at most

    Example: recollect for-file src/api/users.py
    """
    place = context.path_in_project(path).removeprefix("./")
    found = context.read_both(
        lambda txs: [
            item
            for own in [steps_visible.find_memory_owners(txs)]
            for tx in txs
            for item in steps_visible.find_for_files(tx, (place,), limit, own)
        ]
    )
    return tuple(found[:limit])


def _run_in_space_of(
    context: Context,
    id: str,
    work: Callable[[Tx], Result],
    write: bool = True,
) -> Result:
    """Run work in the space that has the memory, after counted recalls are written; raise NotFound
    if neither space has it. `write` runs it in a transaction that writes."""
    id = id.removeprefix("memory://")
    write_recalls(context)
    for space in (context.project_space, context.user_space):
        if space.present() and space.read(lambda tx: steps_revisions.has_memory(tx, id)):
            return context.writable(space).write(work) if write else space.read(work)
    raise NotFound("there is no such memory", where=id, hint="`recollect list` lists them")


_MOST_NOTED = 200


def note_recalls(context: Context, ids: Iterable[str], now: int) -> None:
    """Count recalls in memory; write them when there are many, and on closing.

    Such a count may be lost: a search must not cost a write.
    """
    for id in ids:
        context.recalls[id] = (context.recalls.get(id, (0, 0))[0] + 1, now)
    if len(context.recalls) >= _MOST_NOTED:
        noted, context.recalls = context.recalls, {}
        context.project_space.later(lambda: _save_recalls(context, noted))


def write_recalls(context: Context) -> None:
    """Write the recalls that were counted since the last time."""
    noted, context.recalls = context.recalls, {}
    if noted:
        _save_recalls(context, noted)


def _save_recalls(context: Context, noted: Mapping[str, tuple[int, int]]) -> None:
    """Write down how often memories were recalled; ids of another space are not found in one."""
    for space in (context.project_space, context.user_space):
        space.try_write(lambda tx: sql_lists.count_recalls(tx, noted))
