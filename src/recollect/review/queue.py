"""Decide which items wait for a person, in which order, and which passage is their evidence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from ..fast_typing import NamedTuple
from ..memory import similarity
from ..text import globs, terms
from ..types.records import KINDS, ORIGINS, PRIORITIES, WAITING_STATUSES, Json, Memory

REASONS = ("contradicting", "proposed", "stale", "quarantined")
"""In the order of the queue: contradicting and stale memories are in use, and proposals come from
people or agents; quarantined memories come last, in large batches."""

ANSWERS = ("keep", "edit", "scope", "both", "hide", "later")
_DOUBT = "doubt"  # set by capture.steps
_AROUND = 160
"""Characters of context on each side of a quoted sentence."""

_LEAST_SHARED = 0.3
"""Below this share of a memory's words no sentence of a message counts as its source."""


class Pair(NamedTuple):
    """Two open memories that contradict each other."""

    one: Side
    other: Side


class Side(NamedTuple):
    """The facts that decide which side of a contradiction is shown."""

    id: str
    status: str
    label: str
    at: int


class Excerpt(NamedTuple):
    """A sentence and the text before and after it."""

    before: str
    quote: str
    after: str


def pick_subject(pair: Pair) -> str:
    """Return the id of the side to ask about: the proposed one, the less trusted, the newer."""

    def doubt(side: Side) -> tuple[bool, int, int, str]:
        return side.status == "proposed", ORIGINS.index(side.label), side.at, side.id

    return max(pair, key=doubt).id


def find_opposed(pairs: Iterable[Pair]) -> dict[str, tuple[str, ...]]:
    """Return, for each memory that a person is asked about, the ids that it contradicts."""
    found: dict[str, dict[str, None]] = {}
    for pair in pairs:
        subject = pick_subject(pair)
        other = pair.other.id if pair.one.id == subject else pair.one.id
        if subject not in found.get(other, ()):  # linked from both ends, it is one contradiction
            found.setdefault(subject, {})[other] = None
    return {subject: tuple(others) for subject, others in found.items()}


def count_items(waiting: int, pairs: Sequence[Pair], stale: Mapping[str, str]) -> int:
    """Return the length of the queue.

    waiting: the number of proposed or quarantined memories and procedures
    stale: status by id of memories with stale claims
    """
    statuses = {side.id: side.status for pair in pairs for side in pair} | dict(stale)
    others = {*find_opposed(pairs), *stale}
    return waiting + sum(statuses[id] not in WAITING_STATUSES for id in others)


def rank(reasons: Sequence[str], kind: str, at: int, text: str) -> tuple[int, int, int, str]:
    """Return the sort key of an item: by reason, by the kind's priority, then newest first."""
    known = KINDS.get(kind)
    priority = PRIORITIES.index(known.priority) if known else PRIORITIES.index("high")
    return min(map(REASONS.index, reasons)), -priority, -at, text


def explain(memory: Memory, reason: str, details: Sequence[str] = ()) -> str:
    """Return why a memory waits, as a sentence.

    details: the claims that are stale, or the ids that it contradicts
    """
    if reason == "contradicting":
        return f"Contradicts {', '.join(details)}: both cannot hold."
    if reason == "stale":
        return f"The code it speaks of has changed: {'; '.join(details)}."
    if reason == "quarantined":
        return "Imported from a file of unknown origin. Not in use."
    doubt = memory.detail.get(_DOUBT)
    if doubt:
        return f"Found in your message, but {doubt}. Not in use."
    who = {"user": "You", "agent": "An agent", "system": "Recollect"}.get(memory.label, "A tool")
    return f"{who} proposed it. Not in use."


def contradict(one: Memory, other: Memory) -> bool:
    """Check whether two memories that may apply to the same file say the opposite, or one says that
    the value of the other is gone."""
    pair = (one.subject, one.text), (other.subject, other.text)
    found = {similarity.find_relation(*pair), similarity.find_relation(*reversed(pair))}
    return not found.isdisjoint(("contradicts", "replaces")) and not globs.are_disjoint(
        one.scope, other.scope
    )


def opposes(memory: Memory, line: str) -> bool:
    """Check whether a line of an instruction file says the opposite of a memory, or another value
    of the same thing."""
    statement = line.lstrip("-*+#0123456789.) ").rstrip(".! ")
    relation = similarity.find_relation(("", statement), ("", memory.text.rstrip(".! ")))
    return relation in ("contradicts", "revises")


def describe_claim(place: str, state: str, moved_to: str = "") -> str:
    """Return the current state of a file or symbol that a memory names."""
    return f"{place.strip()} {state}" + (f" to {moved_to}" if moved_to else "")


def answers_of(reasons: Sequence[str], is_procedure: bool = False) -> tuple[str, ...]:
    """Return the answers that an item takes."""
    if is_procedure:
        return ("keep", "hide", "later")
    return tuple(one for one in ANSWERS if one != "both" or "contradicting" in reasons)


def quote_of(memory: Memory) -> str:
    """Return the words by which the source message of a memory is found."""
    quote: Json = memory.detail.get("quote")
    return quote if isinstance(quote, str) and quote else memory.text


def find_exact(text: str, quote: str) -> Excerpt | None:
    """Return a quoted sentence with the text around it; None if the text does not contain it."""
    words = quote.split()
    if not words:
        return None
    found = re.search(r"\s+".join(map(re.escape, words)), text)
    return _around(text, found.start(), found.end()) if found else None


def find_similar(text: str, statement: str) -> tuple[float, Excerpt | None]:
    """Return the sentence that shares most words with a statement, and the share of its words."""
    wanted = set(terms.query_stems(statement))
    best, place = 0.0, (0, 0)
    for found in re.finditer(_SENTENCE, text):
        shared = wanted.intersection(terms.query_stems(found[0]))
        share = len(shared) / max(len(wanted), 1)
        if share > best:
            best, place = share, found.span()
    return (best, _around(text, *place)) if best >= _LEAST_SHARED else (0.0, None)


def _around(text: str, start: int, end: int) -> Excerpt:
    """Return a span with at most `_AROUND` characters on each side, cut between words."""
    before, after = text[:start], text[end:]
    if len(before) > _AROUND:
        before = "…" + before[-_AROUND:].partition(" ")[2]
    if len(after) > _AROUND:
        after = after[:_AROUND].rpartition(" ")[0] + "…"
    return Excerpt(before.lstrip(), text[start:end].strip(), after.rstrip())


_SENTENCE = r"[^.!?。！？\n]+(?:[.!?。！？]+(?!\s|$)[^.!?。！？\n]+)*[.!?。！？]*"
