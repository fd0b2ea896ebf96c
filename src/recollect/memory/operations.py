"""Operations on memories: learn, recall, show, list."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from ..context import Context, new_id
from ..errors import InvalidInput
from ..fast_typing import TypedDict, Unpack
from ..freshness import operations as freshness_operations
from ..recall import operations as recall_operations
from ..recall import steps as recall_steps
from ..recall import steps_show as recall_steps_show
from ..types.records import KINDS, LAYERS, STATUSES, Json, Learned, Memory
from . import steps, steps_versions


class MemoryFields(TypedDict, total=False):
    """The fields of a memory besides its text and kind.

    subject: what it is about, in a few words
    scope: path globs it applies to, such as src/api/** (repeat for several)
    tags: words to filter by (repeat for several)
    examples: files that show it (repeat for several)
    citations: where it can be checked, such as src/db.py:42 (repeat for several)
    evidence: addresses of the messages or episodes it came from (repeat for several)
    reason: why it is worth keeping
    confidence: how sure you are, from 0 to 1
    priority: normal, medium, high or critical (only a person); the kind decides if you do not
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
    context: Context, text: str, kind: str = "fact", **fields: Unpack[MemoryFields]
) -> Learned:
    """Keep a statement for later conversations; the same text again reinforces it.

    text: one statement, as you would tell a colleague
    kind: policy, pitfall, architecture, solution, workflow, decision, pattern, preference,
        reference or fact

    Example: recollect learn "Integration tests need Redis on port 6380" --kind reference
    Example: recollect learn "Never edit generated files" --kind policy --scope 'src/gen/**'
    """
    citations = tuple({"path": place} for place in fields.get("citations", ()))
    draft = steps.Draft(
        text=text,
        kind=kind,
        subject=fields.get("subject", ""),
        detail=fields.get("detail"),
        scope=tuple(fields.get("scope", ())),
        tags=tuple(fields.get("tags", ())),
        examples=tuple(fields.get("examples", ())),
        citations=citations,
        evidence=tuple(fields.get("evidence", ())),
        reason=fields.get("reason", ""),
        confidence=fields.get("confidence", 0.8),
        priority=fields.get("priority", ""),
        layer=fields.get("layer", "project"),
        owner=fields.get("owner", ""),
        near=fields.get("near", ""),
        key=fields.get("key", ""),
    )
    now = context.clock()
    space = context.writable(context.space_of(draft.layer))
    label = context.origin
    if draft.evidence:
        label = context.project_space.read(
            lambda tx: steps.label_of(tx, context.origin, draft.evidence)
        )
    ready = steps.prepare(draft, context.origin, now, new_id("m"), label)
    around = space.read(lambda tx: steps_versions.neighbours(tx, ready.row))
    cited = json.loads(ready.row.citations)
    known = (
        []
        if draft.layer == "user"
        else freshness_operations.pin_claims(context, ready.row.text, cited)
    )
    return space.write(lambda tx: steps.learn(tx, ready, now, around, known))


def list_memories(
    context: Context,
    kind: str = "",
    layer: str = "",
    status: str = "",
    limit: int = 50,
    offset: int = 0,
    as_of: str = "",
) -> tuple[Memory, ...]:
    """The memories in use, or those believed at another time, newest first.

    kind: only this kind
    layer: only this layer: session, task, project or user
    status: only this status: active, proposed, quarantined, or archived, which are hidden
        otherwise
    limit: at most so many
    offset: after skipping so many
    as_of: what was believed then: 2026-05-01, 3d, last week

    Example: recollect list --kind policy
    Example: recollect list --as-of 2w
    """
    among("kind", (kind,) if kind else (), tuple(KINDS))
    among("layer", (layer,) if layer else (), LAYERS)
    among("status", (status,) if status else (), STATUSES)
    if as_of and status:
        raise InvalidInput("which status a memory had at a time is not known", where="status")
    at = recall_steps.moment(as_of, context.clock())
    recall_operations.write_recalls(context)
    chosen = {"kind": kind, "layer": layer, "status": status}
    where = {name: value for name, value in chosen.items() if value}
    found = context.read_both(
        lambda txs: [
            memory
            for tx in txs
            for memory in recall_steps_show.listing(tx, where, limit + offset, at)
        ]
    )
    found.sort(key=lambda memory: (-memory.first_seen, memory.id))
    return tuple(found[offset : offset + limit])


def among(name: str, values: tuple[str, ...], allowed: tuple[str, ...]) -> tuple[str, ...]:
    for value in values:
        if value not in allowed:
            raise InvalidInput(
                f"{value!r} is not a {name}", where=name, hint=f"one of: {', '.join(allowed)}"
            )
    return values
