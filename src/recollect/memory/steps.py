"""Prepare a statement to be learned: check it, redact it, split it into words.

`steps_learn` writes it, or reinforces what says the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..archive import sql as archive_sql
from ..errors import InvalidInput, Refused
from ..fast_typing import Any, NamedTuple
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


def check_fields(draft: Draft) -> Draft:
    """Return the draft, or raise the error that names the wrong field. Its text is not read."""
    if draft.kind in KIND_NAMES:
        draft = draft._replace(kind=KIND_NAMES[draft.kind])
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


class PreparedMemory(NamedTuple):
    """A draft ready to be written: redacted, admitted, indexed, with its idempotency key."""

    row: sql.MemoryRow
    words: index_steps.StemParts
    key: str
    near: str
    redacted: tuple[str, ...]
    memory: Memory
    withdraws: tuple[str, bool, bool] | None = None
    """The words that name a rule that it takes back: see `capture.withdrawals`."""


def change_row(prepared: PreparedMemory, **changes: Any) -> PreparedMemory:
    """Return a prepared memory with other values in columns that hold no JSON."""
    return prepared._replace(
        row=prepared.row._replace(**changes), memory=prepared.memory._replace(**changes)
    )


class LabelledDraft(NamedTuple):
    """A draft and its label: the origin's unless it is lower."""

    draft: Draft
    label: str


class NewStatement(NamedTuple):
    """A text, the id of its memory, and all its other fields: many statements may share these, and
    the text of that draft is not read."""

    id: str
    text: str
    fields: LabelledDraft


def prepare(
    draft: Draft, origin: str, now: int, id: str, label: str = "", propose: bool = False
) -> PreparedMemory:
    """Prepare one statement."""
    one = NewStatement(id, draft.text, LabelledDraft(draft, label or origin))
    return prepare_all([one], origin, now, propose)[0]


def prepare_all(
    statements: Sequence[NewStatement], origin: str, now: int, propose: bool = False
) -> list[PreparedMemory]:
    """Do all the work that needs no transaction. `propose` saves them for a person to confirm,
    whatever their kinds and labels."""
    # One step for all, then the next: what a step needs stays in the processor's caches, which
    # takes a third off the whole.
    shared = {id(one.fields): one.fields for one in statements}
    made = {at: _make_fields(fields, origin, now, propose) for at, fields in shared.items()}
    common = [made[id(one.fields)] for one in statements]
    texts = [_check_size(one.text) for one in statements]
    clean = redaction.redact_many(_check_texts(texts, common, now))
    digests = messages.text_digests([text for text, _ in clean])
    stems = index_steps.split_stems_many(
        [
            fields.before + text + fields.behind
            for fields, (text, _) in zip(common, clean, strict=True)
        ]
    )
    return [
        PreparedMemory(
            row=sql.put_text(fields.row, one.id, text, digest),
            words=words,
            key=fields.key,
            near=fields.near,
            redacted=found + fields.found,
            memory=sql.put_text(fields.memory, one.id, text, digest),
        )
        for one, fields, (text, found), digest, words in zip(
            statements, common, clean, digests, stems, strict=True
        )
    ]


def _check_size(text: str) -> str:
    """Return the text without the space around it; raise InvalidInput if it is empty or long."""
    bare = text.strip()
    if not bare:
        raise InvalidInput("there is nothing to learn: the text is empty", where="text")
    if len(text) > LONGEST_TEXT:
        raise InvalidInput(
            f"a memory is one statement; this text has {len(text):,} characters",
            where="text",
            hint=f"at most {LONGEST_TEXT:,}; keep long texts with `recollect store KEY`",
        )
    return bare


def _check_texts(texts: Sequence[str], common: Sequence[_CommonFields], now: int) -> list[str]:
    """Return the texts with absolute dates; raise Refused for one that is not to be kept."""
    spelled = list(map(split_lower_words, texts))
    for at in hygiene.find_doubtful(texts, spelled):
        memory = common[at].memory
        refused = hygiene.find_refusal(texts[at], memory.kind, memory.layer, spelled[at])
        if refused:
            raise Refused(
                f"this does not belong in long-term memory: {refused.rule}", hint=refused.where
            )
    return [
        dates.replace_relative_dates(text, now, words)
        for text, words in zip(texts, spelled, strict=True)
    ]


class _CommonFields(NamedTuple):
    """What statements with the same other fields share: a row and a memory without id and text, and
    the searchable words before and behind the text."""

    row: sql.MemoryRow
    memory: Memory
    before: str
    behind: str
    key: str
    near: str
    found: tuple[str, ...]


def _make_fields(one: LabelledDraft, origin: str, now: int, propose: bool) -> _CommonFields:
    """Check a draft but for its text, and redact its fields."""
    trust.check_priority(one.draft.priority, origin)
    draft = check_fields(one.draft)
    kind = KINDS[draft.kind]
    found: list[str] = []
    row = sql.MemoryRow(
        id="",
        root="",
        revision=1,
        kind=draft.kind,
        text=_EMPTY,
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
        status="proposed" if propose else trust.admit_memory(draft.kind, one.label),
        origin=origin,
        label=one.label,
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
        digest="",
    )
    memory = sql.load_memory(row)
    before, behind = steps_revisions.make_searchable_fields(memory)
    return _CommonFields(
        row=row,
        memory=memory,
        before=before,
        behind=behind,
        key=draft.key,
        near=draft.near,
        found=tuple(found),
    )


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
