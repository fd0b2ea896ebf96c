"""Save many memories in one call, or one by the names of the seed documents."""

from __future__ import annotations

import gc
from collections.abc import Mapping, Sequence
from functools import partial

from ..context import Context, new_ids
from ..documents.user_files_io import read_json_lines
from ..errors import InvalidInput, RecollectError
from ..fast_typing import Any
from ..freshness import steps as freshness_steps
from ..types.records import Json, Learned
from . import steps, steps_learn
from .operations import LISTS, MemoryFields, learn, make_draft


def learn_many(
    context: Context, statements: Sequence[Mapping[str, Json]] | str, layer: str = "project"
) -> tuple[Learned, ...]:
    """Save many memories at once: all of them or, if one is refused, none.

    Each has a `text` and may have the fields of `learn`. The same text again strengthens what is
    there. Near duplicates and contradictions are not looked for: `consolidate` finds them.

    statements: a file of JSON lines, or - for the standard input; in Python also a list of objects.
        A line: {"text": "Tests need Redis", "kind": "reference", "tags": ["redis"]}. Fields: text,
        kind, subject, reason, priority, layer, owner, near, key (texts); scope, tags, examples,
        citations, evidence (lists of texts); confidence (a number); detail (an object)
    layer: project (default) or user (across projects; only a person)

    Example: recollect learn-many facts.jsonl
    Example: jq -c '.facts[]' facts.json | recollect learn-many -
    """
    items = read_json_lines(statements) if isinstance(statements, str) else list(statements)
    # The records of the call live until its end and form no cycles: each collection would only walk
    # over them, which takes a twentieth of the call.
    collects = gc.isenabled()
    gc.disable()
    try:
        return _save_all(context, items, layer)
    finally:
        if collects:
            gc.enable()


def _save_all(
    context: Context, items: Sequence[Mapping[str, Json]], layer: str
) -> tuple[Learned, ...]:
    now = context.clock()
    space = context.writable(context.space_of(layer))
    # In order: neighbours in every index, and a list of them keeps the order of the call.
    ids = new_ids("m", len(items))
    try:
        ready = _prepare(context, items, ids, layer, now)
    except RecollectError:
        # All are prepared together: look for the first that is wrong.
        for number, (item, id) in enumerate(zip(items, ids, strict=True), start=1):
            try:
                _prepare(context, [item], [id], layer, now)
            except RecollectError as error:
                error.where = f"statement {number}" + (f", {error.where}" if error.where else "")
                raise error from None
        raise
    known = _pin_all(context, ready) if layer != "user" else {}
    return tuple(space.write(lambda tx: steps_learn.learn_all(tx, ready, now, known)))


def _prepare(
    context: Context,
    items: Sequence[Mapping[str, Json]],
    ids: Sequence[str],
    layer: str,
    now: int,
) -> list[steps.PreparedMemory]:
    made: dict[str, steps.LabelledDraft] = {}
    statements = []
    for item, id in zip(items, ids, strict=True):
        text = item.get("text", "")
        rest = {name: value for name, value in item.items() if name != "text"}
        # Most statements of a call have the same other fields: these are read once.
        fields = made.get(named := repr(rest))
        if fields is None or not isinstance(text, str):
            fields = made[named] = _read_fields(context, item, layer)
        statements.append(steps.NewStatement(id, text, fields))
    return steps.prepare_all(statements, context.origin, now)


def _pin_all(
    context: Context, ready: Sequence[steps.PreparedMemory]
) -> dict[str, Sequence[freshness_steps.PinnedClaim]]:
    """Pin the claims of many statements to the code, reading each file once, without a process."""
    tree = freshness_steps.open_working_tree(context, quick=True)
    claims = {
        item.row.id: freshness_steps.find_claims(item.row.text, item.memory.citations, quick=True)
        for item in ready
    }
    pinned = {id: tree.pin(some) for id, some in claims.items() if some}
    return {id: some for id, some in pinned.items() if some}


_TEXTS = ("text", "kind", "subject", "reason", "priority", "layer", "owner", "near", "key")
_FIELDS: Mapping[str, Any] = {
    **dict.fromkeys(_TEXTS, str),
    **dict.fromkeys(LISTS, (list, tuple)),
    "confidence": (int, float),
    "detail": Mapping,
}


def _read_fields(context: Context, item: Mapping[str, Json], layer: str) -> steps.LabelledDraft:
    """Return the draft in an object, with its label; raise InvalidInput for a wrong field."""
    for name, value in item.items():
        known = _FIELDS.get(name)
        if known is None:
            raise InvalidInput(
                "there is no such field",
                where=name,
                hint=f"fields: {', '.join(sorted(_FIELDS))}",
            )
        right = isinstance(value, known) and not isinstance(value, bool)
        if not right or (name in LISTS and not all(isinstance(one, str) for one in value)):
            raise InvalidInput("this value is of the wrong type", where=name, hint="see `learn`")
    fields: MemoryFields = {"layer": layer}
    fields.update(item)  # type: ignore[typeddict-item]
    if (fields["layer"] == "user") != (layer == "user"):
        raise InvalidInput(
            "one call can write to one layer only",
            where="layer",
            hint="pass --layer user for statements about you",
        )
    draft = make_draft(context, "", str(item.get("kind", "fact")), fields)
    label = context.origin
    if draft.evidence:
        look = partial(steps.find_label, origin=label, evidence=draft.evidence)
        label = context.project_space.read(look)
    return steps.LabelledDraft(draft, label)


def add_discovery(context: Context, fact: str, confidence: float = 0.8) -> Learned:
    """Save a fact about the codebase.

    fact: the fact
    confidence: how sure you are, from 0 to 1

    Example: recollect add-discovery "Config uses YAML, not JSON" --confidence 0.9
    """
    return learn(context, fact, confidence=confidence)


def add_solution(
    context: Context, error: str, solution: str, examples: Sequence[str] = ()
) -> Learned:
    """Save an error with its fix.

    error: the error message
    solution: the fix
    examples: files it is about (repeat for several)

    Example: recollect add-solution "Session save: permission denied" "Own .clio/ yourself"
    """
    return learn(
        context,
        f"{error.strip().rstrip('.')}: {solution.strip()}",
        kind="solution",
        detail={"error": error, "fix": solution},
        examples=examples,
    )


def add_pattern(
    context: Context, pattern: str, confidence: float = 0.8, examples: Sequence[str] = ()
) -> Learned:
    """Save a convention of the code.

    pattern: the convention
    confidence: how sure you are, from 0 to 1
    examples: files that show it (repeat for several)

    Example: recollect add-pattern "File writes use temp and rename" --example src/save.py
    """
    return learn(context, pattern, kind="pattern", confidence=confidence, examples=examples)
