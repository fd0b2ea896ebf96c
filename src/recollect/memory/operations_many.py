"""Save many memories in one call."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial

from ..context import Context, new_id
from ..documents.input_files_io import read_json_lines
from ..errors import InvalidInput, RecollectError
from ..freshness import steps as freshness_steps
from ..types.records import Json, Learned
from . import steps
from .operations import MemoryFields, make_draft


def learn_many(
    context: Context, statements: Sequence[Mapping[str, Json]] | str, layer: str = "project"
) -> tuple[Learned, ...]:
    """Save many memories at once: all of them or, if one is refused, none.

    Each has a `text` and may have the fields of `learn`. The same text again strengthens what is
    there. Near duplicates and contradictions are not looked for: `consolidate` finds them.

    statements: a file of JSON lines, or - for the standard input; in Python also a list of objects
    layer: project (default) or user (across projects; only a person)

    Example: recollect learn-many facts.jsonl
    Example: jq -c '.facts[]' facts.json | recollect learn-many -
    """
    items = read_json_lines(statements) if isinstance(statements, str) else list(statements)
    now = context.clock()
    space = context.writable(context.space_of(layer))
    ready: list[steps.PreparedMemory] = []
    for number, item in enumerate(items, start=1):
        try:
            draft = _read_draft(item, layer)
            label = context.origin
            if draft.evidence:
                look = partial(steps.find_label, origin=context.origin, evidence=draft.evidence)
                label = context.project_space.read(look)
            ready.append(steps.prepare(draft, context.origin, now, new_id("m"), label))
        except RecollectError as error:
            error.where = f"statement {number}" + (f", {error.where}" if error.where else "")
            raise
    known = _pin_all(context, ready) if layer != "user" else {}
    return tuple(space.write(lambda tx: steps.learn_all(tx, ready, now, known)))


def _pin_all(
    context: Context, ready: Sequence[steps.PreparedMemory]
) -> dict[str, Sequence[freshness_steps.PinnedClaim]]:
    """Pin the claims of many statements to the code, reading each file once."""
    tree = freshness_steps.open_working_tree(context)
    claims = {
        item.row.id: freshness_steps.find_claims(item.row.text, json.loads(item.row.citations))
        for item in ready
    }
    tree.look_up([claim for some in claims.values() for claim in some])
    return {id: tree.pin(some) for id, some in claims.items() if some}


_LISTS = ("scope", "tags", "examples", "citations", "evidence")
_TEXTS = ("kind", "subject", "reason", "priority", "layer", "owner", "near", "key")


def _read_draft(item: Mapping[str, Json], layer: str) -> steps.Draft:
    """Return the draft in an object; raise InvalidInput for a wrong field."""
    known = {"text", "confidence", "detail", *_LISTS, *_TEXTS}
    for name, value in item.items():
        right: bool = name in known
        if name in _LISTS:
            right = isinstance(value, list | tuple) and all(isinstance(one, str) for one in value)
        elif name == "confidence":
            right = isinstance(value, int | float) and not isinstance(value, bool)
        elif name == "detail":
            right = isinstance(value, Mapping)
        elif right:
            right = isinstance(value, str)
        if not right:
            unknown = name not in known
            raise InvalidInput(
                "there is no such field" if unknown else "this value is of the wrong type",
                where=name,
                hint=f"fields: {', '.join(sorted(known))}" if unknown else "see `learn`",
            )
    fields: MemoryFields = {"layer": layer}
    fields.update(item)  # type: ignore[typeddict-item]
    if (fields["layer"] == "user") != (layer == "user"):
        raise InvalidInput(
            "one call can write to one layer only",
            where="layer",
            hint="pass --layer user for statements about you",
        )
    return make_draft(str(item.get("text", "")), str(item.get("kind", "fact")), fields)
