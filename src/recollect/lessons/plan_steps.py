"""The steps of a consolidation, as values: what each would change, and why.

A plan is data: it can be shown, checked (`lessons.plan_rules`), applied in one transaction and
undone. Nothing here decides anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ..types.records import Json


class Learn(NamedTuple):
    """A new memory derived from episodes: a pattern or a pitfall. `sources` are episode ids."""

    kind: str
    text: str
    subject: str
    detail: Mapping[str, Json]
    examples: tuple[str, ...]
    confidence: float
    label: str
    sources: tuple[str, ...]
    reason: str


class Reinforce(NamedTuple):
    """More evidence for a memory that is there; its label stays. `sources` are episode ids.
    If it `revives`, some of it is new and as trusted as the memory: that keeps a memory alive, and
    brings a hidden one back."""

    memory: str
    sources: tuple[str, ...]
    confidence: float
    label: str
    reason: str
    revives: bool = False


class Promote(NamedTuple):
    """A note that recurs, moved up to a layer; the others that say the same give way to it."""

    memory: str
    layer: str
    others: tuple[str, ...]
    sources: tuple[str, ...]
    label: str
    reason: str


class Merge(NamedTuple):
    """Memories that say the same: one is kept, with the sources and counts of all."""

    keep: str
    others: tuple[str, ...]
    confidence: float
    sources: tuple[str, ...]
    evidence: tuple[str, ...]
    examples: tuple[str, ...]
    reinforcement: int
    successes: int
    failures: int
    label: str
    reason: str


class Archive(NamedTuple):
    """A memory that has faded."""

    memory: str
    reason: str


class Connect(NamedTuple):
    """A link between two memories."""

    source: str
    relation: str
    target: str
    label: str
    reason: str


class NotPlanned(NamedTuple):
    """What was looked at and not planned, and why. `sources` are ids of episodes or memories."""

    sources: tuple[str, ...]
    reason: str


Step = Learn | Reinforce | Promote | Merge | Archive | Connect


class LessonPlan(NamedTuple):
    """The steps in the order in which they are applied."""

    steps: tuple[Step, ...] = ()
    left_out: tuple[NotPlanned, ...] = ()


def ref(address: str) -> str:
    """The id of a record, whether it is referred to by its id or its address."""
    return address.removeprefix("memory://")
