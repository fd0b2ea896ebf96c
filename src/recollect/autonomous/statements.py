"""Records of the two phases: the extraction of one session, and the statements of all of them.

An extraction holds evidence: what a session says about a subject, and the messages that say so.
Statements are what MEMORY.md is made of; each cites messages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..fast_typing import NamedTuple
from ..text.messages import range_address
from ..types.records import Json

Span = tuple[int, int]
"""First and last message number."""

RULES, DECISIONS, COMMANDS = "Rules and preferences", "Decisions and facts", "How work is done here"
ERRORS, PLACES, CLAIMS = "Errors and what helped", "Files changed together", "Unconfirmed"
PROPOSED, HISTORY = "Proposed, not confirmed", "What was done"
SECTIONS = (RULES, DECISIONS, COMMANDS, ERRORS, PLACES, CLAIMS, PROPOSED, HISTORY)
"""The sections of MEMORY.md, in their order."""


class Evidence(NamedTuple):
    """What one session says about a subject; `body` is that of an observation, or a quote."""

    kind: str
    subject: str
    at: int
    body: Mapping[str, Json]
    spans: tuple[Span, ...]
    label: str = "system"


class Extraction(NamedTuple):
    """What phase 1 made of a session: evidence, a synopsis and a slug. `seq` is its last message,
    `by` is rules or the name of a model; without evidence it held nothing durable."""

    session: str
    seq: int
    at: int
    slug: str
    synopsis: str
    evidence: tuple[Evidence, ...] = ()
    by: str = "rules"


class PageStatement(NamedTuple):
    """One line of MEMORY.md. `key` identifies it when it is worded anew, `sources` are addresses of
    messages, `refs` the names under which the start block would show the same. `short` is what the
    summary says of it: a line, or what is joined to the line of another command."""

    key: str
    section: str
    line: str
    label: str
    sources: tuple[str, ...]
    at: int = 0
    weight: float = 0.0
    refs: tuple[str, ...] = ()
    in_summary: bool = True
    short: str = ""


def addresses_of(session: str, spans: Sequence[Span]) -> list[str]:
    """Return the addresses of spans of messages."""
    return [range_address(session, first, last) for first, last in spans]


def conversation_of(session: str) -> str:
    """Return the conversation that a session belongs to: subagents are part of their parent's."""
    return ".".join(session.split(".")[:2])


def evidence_to_json(one: Evidence) -> dict[str, Json]:
    """Return evidence as JSON."""
    return {**one._asdict(), "spans": [list(span) for span in one.spans]}


def evidence_from_json(given: Mapping[str, Json]) -> Evidence:
    """Parse evidence that `evidence_to_json` wrote."""
    return Evidence(**{**given, "spans": tuple((int(a), int(b)) for a, b in given["spans"])})


def to_json(extraction: Extraction) -> dict[str, Json]:
    """Return an extraction as JSON."""
    evidence = [evidence_to_json(one) for one in extraction.evidence]
    return {**extraction._asdict(), "evidence": evidence}


def from_json(given: Mapping[str, Json]) -> Extraction:
    """Parse an extraction that `to_json` wrote."""
    evidence = tuple(evidence_from_json(one) for one in given["evidence"])
    return Extraction(**{**given, "evidence": evidence})
