"""Prepare a statement to be learned: check it, redact it, split it into words.

`steps_learn` writes it, or reinforces what says the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..archive import sql as archive_sql
from ..errors import InvalidInput, Refused
from ..fast_typing import NamedTuple
from ..index import steps as index_steps
from ..secrets import redaction
from ..storage.database import Tx
from ..text import addresses, dates, messages
from ..text.terms import split_lower_words
from ..types import trust
from ..types.records import (
    FOREVER,
    KIND_NAMES,
    KINDS,
    LAYERS,
    PRIORITIES,
    Json,
    Memory,
    SafeText,
)
from . import hygiene, sql, steps_revisions

LONGEST_TEXT = 20_000
_EMPTY = redaction.redact("")
_NO_LIST, _NO_OBJECT = redaction.redact_json([]).text, redaction.redact_json({}).text
NEAR = ("create", "skip", "merge")


class Draft(NamedTuple):
    """A statement as its writer gave it."""

    text: str
    kind: str = "fact"
    subject: str = ""
    detail: Mapping[str, Json] | None = None
    category: str = ""
    scope: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    citations: tuple[Json, ...] = ()
    evidence: tuple[str, ...] = ()
    reason: str = ""
    confidence: float = 0.8
    priority: str = ""
    layer: str = "project"
    owner: str = ""
    sources: tuple[str, ...] = ()
    near: str = ""
    key: str = ""


def check_draft(draft: Draft) -> Draft:
    """Return the draft, or raise the error that names the wrong field."""
    if draft.kind in KIND_NAMES:
        draft = draft._replace(kind=KIND_NAMES[draft.kind])
    if not draft.text.strip():
        raise InvalidInput("there is nothing to learn: the text is empty", where="text")
    if len(draft.text) > LONGEST_TEXT:
        raise InvalidInput(
            f"a memory is one statement; this text has {len(draft.text):,} characters",
            where="text",
            hint=f"at most {LONGEST_TEXT:,}; keep long texts with `recollect store KEY`",
        )
    for field, value, allowed in (
        ("kind", draft.kind, KINDS),
        ("layer", draft.layer, LAYERS),
        ("priority", draft.priority or "normal", PRIORITIES),
        ("near", draft.near or "create", NEAR),
    ):
        if value not in allowed:
            raise InvalidInput(
                f"{value!r} is not a {field}", where=field, hint=f"one of: {', '.join(allowed)}"
            )
    if not 0.0 <= draft.confidence <= 1.0:
        raise InvalidInput(
            f"confidence is a number from 0 to 1, not {draft.confidence!r}", where="confidence"
        )
    if draft.layer in ("session", "task") and not draft.owner:
        raise InvalidInput(
            f"a memory of the {draft.layer} layer needs an owner",
            where="owner",
            hint=f"pass owner=<{draft.layer} id>",
        )
    if draft.owner:
        redaction.check_name(draft.owner, "owner")
    if draft.category:
        redaction.check_name(draft.category, "category")
    return draft


def _check_text(draft: Draft, words: Sequence[str]) -> None:
    refused = hygiene.find_refusal(draft.text, draft.kind, draft.layer, words)
    if refused:
        raise Refused(
            f"this does not belong in long-term memory: {refused.rule}", hint=refused.where
        )


class PreparedMemory(NamedTuple):
    """A draft ready to be written: redacted, admitted, indexed, with its idempotency key."""

    row: sql.MemoryRow
    words: index_steps.StemParts
    key: str
    near: str
    redacted: tuple[str, ...]
    memory: Memory


class LabelledDraft(NamedTuple):
    """A draft, the id of its memory, and its label: the origin's unless it is lower."""

    draft: Draft
    id: str
    label: str


def prepare(
    draft: Draft, origin: str, now: int, id: str, label: str = "", propose: bool = False
) -> PreparedMemory:
    """Prepare one statement."""
    return prepare_all([LabelledDraft(draft, id, label or origin)], origin, now, propose)[0]


def prepare_all(
    drafts: Sequence[LabelledDraft], origin: str, now: int, propose: bool = False
) -> list[PreparedMemory]:
    """Do all the work that needs no transaction. `propose` saves them for a person to confirm,
    whatever their kinds and labels."""
    # One step for all, then the next: what a step needs stays in the processor's caches, which
    # takes a third off the whole.
    for draft, _, _ in drafts:
        trust.check_priority(draft.priority, origin)
    drafts = [LabelledDraft(check_draft(draft), id, label) for draft, id, label in drafts]
    spelled = [split_lower_words(draft.text) for draft, _, _ in drafts]
    for (draft, _, _), words in zip(drafts, spelled, strict=True):
        _check_text(draft, words)
    statuses = [
        "proposed" if propose else trust.admit_memory(draft.kind, label)
        for draft, _, label in drafts
    ]
    texts = [
        dates.replace_relative_dates(draft.text.strip(), now, words)
        for (draft, _, _), words in zip(drafts, spelled, strict=True)
    ]
    clean = redaction.redact_many(texts)
    made = [
        _make_row(one, text, status, origin, now)
        for one, text, status in zip(drafts, clean, statuses, strict=True)
    ]
    memories = [sql.load_memory(row) for row, _ in made]
    indexed = [
        index_steps.split_stems(steps_revisions.make_searchable_text(one)) for one in memories
    ]
    return [
        PreparedMemory(
            row=row,
            words=stems,
            key=one.draft.key,
            near=one.draft.near,
            redacted=redacted,
            memory=memory,
        )
        for one, (row, redacted), stems, memory in zip(drafts, made, indexed, memories, strict=True)
    ]


def _make_row(
    one: LabelledDraft, text: redaction.Redacted, status: str, origin: str, now: int
) -> tuple[sql.MemoryRow, tuple[str, ...]]:
    """Return the row of a draft with a redacted text, and the types of all removed secrets."""
    draft, id, label = one
    kind = KINDS[draft.kind]
    found = list(text.found)
    row = sql.MemoryRow(
        id=id,
        root=id,
        revision=1,
        kind=draft.kind,
        text=text.text,
        subject=_clean(draft.subject, found),
        detail=_pack(dict(draft.detail), found) if draft.detail else _NO_OBJECT,
        category=draft.category or kind.category,
        scope=_pack(sorted(set(draft.scope)), found) if draft.scope else _NO_LIST,
        tags=_pack(draft.tags, found),
        examples=_pack(draft.examples, found),
        citations=_pack(draft.citations, found),
        evidence=_pack(draft.evidence, found),
        reason=_clean(draft.reason, found),
        confidence=float(draft.confidence),
        priority=draft.priority or kind.priority,
        layer=draft.layer,
        owner=draft.owner,
        status=status,
        origin=origin,
        label=label,
        sources=_pack(draft.sources, found),
        reinforcement=1,
        successes=0,
        failures=0,
        recalls=0,
        first_seen=now,
        last_confirmed=now,
        last_reinforced=now,
        last_recalled=0,
        valid_from=now,
        valid_to=FOREVER,
        digest=messages.text_digest(text.text),
    )
    return row, tuple(found)


def _clean(value: str, found: list[str]) -> SafeText:
    """Redact a field; add the types of removed secrets to `found`."""
    if not value:
        return _EMPTY
    text, types = redaction.redact_and_report(value.strip())
    found += types
    return text


def _pack(value: Json, found: list[str]) -> SafeText:
    """Redact a field as JSON; add the types of removed secrets to `found`."""
    if not value:
        return _NO_LIST
    text, types = redaction.redact_json(value)
    found += types
    return text


def find_label(tx: Tx, origin: str, evidence: Sequence[str]) -> str:
    """Return the least trusted label of a statement's writer and the messages it was made from. A
    person's own word needs no evidence."""
    if origin in ("system", "user"):
        return origin
    labels = [origin]
    for address in evidence:
        place = addresses.parse_address(address) if address.startswith(addresses.SCHEME) else None
        if place and place.kind == "messages":
            labels += archive_sql.labels(tx, place.name, place.first, place.last)
    return trust.least_trusted(labels)
