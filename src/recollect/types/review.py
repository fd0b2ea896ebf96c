"""Records of the review queue: what waits for a person, and what became of it."""

from __future__ import annotations

from ..fast_typing import NamedTuple


class ReviewEvidence(NamedTuple):
    """A passage that a memory came from: the quoted sentence with the text around it.

    `role` is who said it; empty for an episode."""

    address: str
    role: str = ""
    at: int = 0
    before: str = ""
    quote: str = ""
    after: str = ""


class OpposedMemory(NamedTuple):
    """A memory that says the opposite of one in the queue."""

    id: str
    kind: str
    text: str
    trust: str
    at: int


class ReviewItem(NamedTuple):
    """A memory or procedure that waits for a person.

    `reasons` are of proposed, quarantined, contradicting and stale; `why` says each in a sentence.
    `answers` are those that this item takes.
    """

    id: str
    address: str
    kind: str
    text: str
    reasons: tuple[str, ...]
    why: tuple[str, ...]
    status: str
    trust: str
    layer: str
    scope: tuple[str, ...]
    at: int
    evidence: tuple[ReviewEvidence, ...] = ()
    against: tuple[OpposedMemory, ...] = ()
    answers: tuple[str, ...] = ()


class ReviewAnswer(NamedTuple):
    """What an answer did: the item's id, its text and its status now; `hidden` are the memories
    that said the opposite of one that was kept."""

    id: str
    answer: str
    text: str
    status: str
    hidden: tuple[str, ...] = ()
    error: str = ""
