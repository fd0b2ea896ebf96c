"""Records of the two phases: the extraction of one session, and the statements of all of them.

An extraction holds the evidence of a session about subjects, with its messages. The evidence of all
sessions is grouped by subject and becomes the statements of MEMORY.md; each cites messages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

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

MOST_SOURCES = 7


class Evidence(NamedTuple):
    """The evidence of one session about a subject; `body` is that of an observation, or a quote."""

    kind: str
    subject: str
    at: int
    body: Mapping[str, Json]
    spans: tuple[Span, ...]
    label: str = "system"


class Extraction(NamedTuple):
    """The result of phase 1 for a session: evidence (none if nothing is durable), a synopsis and a
    slug. `seq` is its last message, `by` is rules or the name of a model."""

    session: str
    seq: int
    at: int
    slug: str
    synopsis: str
    evidence: tuple[Evidence, ...] = ()
    by: str = "rules"


class PageStatement(NamedTuple):
    """One line of MEMORY.md.

    `key` identifies it if its words change, `sources` are addresses of messages, `refs` the names
    of the start block's items with the same content. `short` is its line in the summary, or the
    part that is appended to the line of another command.
    """

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


class SessionEvidence(NamedTuple):
    """Evidence, and the session that gave it."""

    session: str
    evidence: Evidence


def group_evidence(
    extractions: Iterable[Extraction],
) -> dict[tuple[str, str], list[SessionEvidence]]:
    """Return the evidence by kind and subject, newest first, one for each conversation."""
    groups: dict[tuple[str, str], list[SessionEvidence]] = {}
    for extraction in extractions:
        for one in extraction.evidence:
            groups.setdefault((one.kind, one.subject), []).append(
                SessionEvidence(extraction.session, one)
            )
    for key, seen in groups.items():
        unique: dict[str, SessionEvidence] = {}
        for each in sorted(seen, key=lambda one: (-one.evidence.at, one.session)):
            unique.setdefault(conversation_of(each.session), each)
        groups[key] = list(unique.values())
    return groups


def sources_of(seen: Iterable[SessionEvidence], each: int = 2) -> tuple[str, ...]:
    """Return the addresses of the first spans of each session, the newest sessions first."""
    found = [
        address for one in seen for address in addresses_of(one.session, one.evidence.spans[:each])
    ]
    return tuple(dict.fromkeys(found))[:MOST_SOURCES]


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


# ---------------------------------------------------------------- reasons


def gives_cause(text: str) -> bool:
    """Check whether a text explains why the code must be as it is."""
    return re.search(_CAUSE, text) is not None


def gives_reason(text: str) -> bool:
    """Check whether a text gives a reason or a purpose of a change."""
    return gives_cause(text) or re.search(_PURPOSE, text) is not None


_CAUSE = (
    r"(?i)\b(?:because|caus(?:ed|es|ing)|root cause|due to|relied on|does ?n[o']t|did ?n[o']t"
    r"|would (?!be\b)\w+|no longer|race|leak\w*|re-?inserts?|deadlock\w*)\b"
)
_PURPOSE = (
    r"(?i)\b(?:so that|since|instead of|rather than|otherwise|without|prevent\w*"
    r"|avoids?|break\w*|bypass\w*|only (?:when|if)|must|enabl\w+|replac(?:es|ing))\b"
)
