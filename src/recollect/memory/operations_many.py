"""List memories; save many in one call, or one by the names of the seed documents."""

from __future__ import annotations

import gc
from collections.abc import Mapping, Sequence
from functools import partial
from math import inf

from ..context import Context, new_ids
from ..documents.user_files_io import read_json_lines
from ..errors import InvalidInput, NotFound, RecollectError
from ..fast_typing import Any, TypedDict, Unpack
from ..freshness import steps as freshness_steps
from ..index import sql as index_sql
from ..secrets import redaction
from ..storage.database import Tx
from ..text import dates, display
from ..types.records import KINDS, LAYERS, STATUSES, Json, Learned, Memory
from . import sql_lists, steps, steps_learn, steps_revisions
from .operations import LISTS, MemoryFields, among, learn, make_draft, write_recalls

FEW = 64
"""Statements whose vectors the next recall makes; those of more are made in the background."""

_SHOWN, _NAMED = 60, 10


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
    items: Mapping[int, Mapping[str, Json]]
    if isinstance(statements, str):
        unit, items = "line", read_json_lines(statements)
    else:
        unit, items = "statement", dict(enumerate(statements, start=1))
    # The records of the call live until its end and form no cycles: each collection would only walk
    # over them, which takes a twentieth of the call.
    collects = gc.isenabled()
    gc.disable()
    try:
        return _save_all(context, items, layer, unit)
    finally:
        if collects:
            gc.enable()


def _save_all(
    context: Context, items: Mapping[int, Mapping[str, Json]], layer: str, unit: str
) -> tuple[Learned, ...]:
    now = context.clock()
    space = context.writable(context.space_of(layer))
    # In order: neighbours in every index, and a list of them keeps the order of the call.
    ids = new_ids("m", len(items))
    try:
        ready = _prepare(context, list(items.values()), ids, layer, now)
    except RecollectError as error:
        raise _name_refused(context, items, layer, unit) or error from None
    texts = {item.row.id: (item.row.text, item.memory.citations) for item in ready}
    known = freshness_steps.pin_many(context, texts) if layer != "user" else {}
    learned = tuple(space.write(lambda tx: steps_learn.learn_all(tx, ready, now, known)))
    context.lacks_vectors |= space.written_at < inf
    if len(learned) > FEW and context.start_background:
        context.start_background(context.project.root)  # it makes the vectors
    return learned


def _name_refused(
    context: Context, items: Mapping[int, Mapping[str, Json]], layer: str, unit: str
) -> RecollectError | None:
    """Return the error of the first statement that is refused, with its place and text, and the
    places of the others. All were prepared together: now each is by itself."""
    refused: dict[int, RecollectError] = {}
    for number, item in items.items():
        try:
            _prepare(context, [item], ["m-0"], layer, context.clock())
        except RecollectError as error:
            refused[number] = error
    if not refused:
        return None
    first, *others = refused
    found, text = refused[first], items[first].get("text", "")
    found.where = f"{unit} {first}" + (f", {found.where}" if found.where else "")
    if isinstance(text, str) and text:
        found.message += f": {display.format_line(redaction.redact(text), _SHOWN)!r}"
    if others:
        named = ", ".join(map(str, others[:_NAMED])) + (" …" if len(others) > _NAMED else "")
        more = display.format_count(len(others), f"more {unit}")
        found.hint = f"{found.hint}\n{more} refused: {named}".strip()
    return found


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


_TEXTS = ("text", "kind", "subject", "reason", "priority", "layer", "owner", "near", "key")
_WANTED: Mapping[Any, str] = {(int, float): "a number", Mapping: "an object"}
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
            wanted = "a list of texts" if name in LISTS else _WANTED.get(known, "a text")
            raise InvalidInput(f"this value is not {wanted}", where=name)
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


# ---------------------------------------------------------------- lists


class ListPlace(TypedDict, total=False):
    """Tags and the time of a list, and where it begins.

    tags: only memories with all these tags (repeat for several)
    as_of: the memories as they were then: 2026-05-01, 3d, last week
    after: the id of the last memory of the page before, which is quicker than `offset`
    since: saved at this time or later: 2026-05-01, 3d, 2w, yesterday
    until: saved before: 2026-05-01, 3d, 2w, yesterday
    """

    tags: Sequence[str]
    as_of: str
    after: str
    since: str
    until: str


_ALL = 2**31 - 1
"""More memories than a list can have."""


def list_memories(
    context: Context,
    kind: str = "",
    layer: str = "",
    status: str = "",
    limit: int = 50,
    offset: int = 0,
    **place: Unpack[ListPlace],
) -> tuple[Memory, ...]:
    """List memories, newest first; corrected ones keep their place, hidden ones are left out.

    kind: only this kind
    layer: only this layer: session, task, project or user
    status: only this status: active, proposed, quarantined, hidden or superseded; the last two are
        left out otherwise
    limit: how many to list at most
    offset: the number of memories to skip

    Example: recollect list --kind policy --since 2w
    Example: recollect list --tag deploy
    Example: recollect list --as-of 2w
    Example: recollect list --after m-4k9w2c
    """
    as_of, after = place.get("as_of", ""), place.get("after", "")
    (kind,) = among("kind", (kind,), ("", *KINDS))
    among("layer", (layer,) if layer else (), LAYERS)
    among("status", (status,) if status else (), STATUSES)
    tags = tuple(place.get("tags", ()))
    if as_of:
        _check_combinations(status=status, tags=tags, after=after)
    now = context.clock()
    at = dates.parse_time_filter(as_of, now)
    period = sql_lists.Period(
        since=dates.parse_time_filter(place.get("since", ""), now),
        until=dates.parse_time_filter(place.get("until", ""), now),
    )
    write_recalls(context)
    chosen = {"kind": kind, "layer": layer, "status": status}
    where = {name: value for name, value in chosen.items() if value}
    most = limit + offset

    def load(txs: Sequence[Tx]) -> list[Memory]:
        last = _find_place(txs, after) if after else None
        return [one for tx in txs for one in load_from(tx, last)]

    def load_from(tx: Tx, last: sql_lists.Place | None) -> list[Memory]:
        page = (last, "" if status else "hidden", period)
        if at:
            return sql_lists.list_valid_at(tx, where, at, most, period)
        if tags and not index_sql.needs_reindex(tx):
            return sql_lists.list_tagged(tx, tags, where, most, *page)
        # The tags of a migrated store are indexed by its first search.
        found = sql_lists.list_open(tx, where, _ALL if tags else most, *page)
        return [one for one in found if set(tags) <= set(one.tags)][:most]

    found = context.read_both(load)
    found.sort(key=lambda memory: (-memory.first_seen, memory.id))
    return tuple(found[offset : offset + limit])


def _check_combinations(status: str, tags: Sequence[str], after: str) -> None:
    """Raise InvalidInput for a filter that cannot be combined with --as-of."""
    for option, given, why in (
        ("status", status, ": earlier statuses are not stored"),
        ("tag", tags, ": only the tags of today are looked up"),
        ("after", after, ""),
    ):
        if given:
            raise InvalidInput(f"--{option} cannot be combined with --as-of{why}", where=option)


def _find_place(txs: Sequence[Tx], id: str) -> sql_lists.Place:
    """Return the place of a memory in the list of either space."""
    for tx in txs:
        if memory := steps_revisions.find(tx, id):
            return memory.first_seen, memory.id
    raise NotFound("there is no such memory", where=id, hint="`recollect list` shows what there is")
