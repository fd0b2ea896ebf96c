"""A pattern as JSON that other programs write too: when it holds, the right way and the wrong way.

All that is given comes back. In the store a pattern is a memory; what a memory has no field for is
kept in its detail. It does not know the store.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ..errors import InvalidInput
from ..lessons.plan_steps import ref
from ..types.json_records import (
    Field,
    dump,
    iso,
    items,
    load,
    moment,
    number,
    one_of,
    plain,
    text,
    texts,
    whole,
)
from ..types.records import RELATIONS, Json, Memory


class PatternLink(NamedTuple):
    """A link to another record, by the id that its writer gave it."""

    to: str = ""
    relation: str = ""
    extra: Mapping[str, Json] = {}


class Pattern(NamedTuple):
    """What was found to hold: under which conditions, what to do and what not."""

    id: str = ""
    pattern: str = ""
    category: str = ""
    conditions: tuple[str, ...] = ()
    correct_approach: str = ""
    incorrect_approach: str = ""
    confidence: float = 0.8
    source_episodes: tuple[str, ...] = ()
    usage_count: int = 0
    last_used: int = 0
    links: tuple[PatternLink, ...] = ()
    extra: Mapping[str, Json] = {}


_LINK = (
    Field("to", "to", text, plain),
    Field("relation", "relation", one_of(*RELATIONS), plain),
)


def _links(value: Json) -> tuple[PatternLink, ...]:
    return tuple(load(PatternLink, _LINK, item, "links") for item in items(value))


_PATTERN = (
    Field("id", "id", text, plain),
    Field("pattern", "pattern", text, plain),
    Field("category", "category", text, plain),
    Field("conditions", "conditions", texts, list),
    Field("correct_approach", "correct_approach", text, plain),
    Field("incorrect_approach", "incorrect_approach", text, plain),
    Field("confidence", "confidence", number, plain),
    Field("source_episodes", "source_episodes", texts, list),
    Field("usage_count", "usage_count", whole, plain),
    Field("last_used", "last_used", moment, iso),
    Field("links", "links", _links, lambda all_: [dump(one, _LINK) for one in all_]),
)


def from_json(given: Json) -> Pattern:
    """The pattern in a JSON object; InvalidInput names the field that cannot be understood."""
    pattern = load(Pattern, _PATTERN, given, "pattern")
    if not pattern.pattern.strip():
        raise InvalidInput("a pattern says what holds", where="pattern.pattern")
    return pattern


def to_json(pattern: Pattern) -> dict[str, Json]:
    """The pattern as JSON; all that was given comes back."""
    return dump(pattern, _PATTERN)


def from_memory(memory: Memory, linked: Iterable[PatternLink] = ()) -> Pattern:
    """A memory as a pattern: as it was given, with what has changed since."""
    if isinstance(memory.detail.get("pattern"), str):
        given = load(Pattern, _PATTERN, memory.detail, "pattern")
        return given._replace(pattern=memory.text, confidence=memory.confidence)
    told = memory.detail
    return Pattern(
        memory.id,
        memory.text,
        conditions=_texts(told.get("conditions")),
        correct_approach=str(told.get("correct_approach", "")),
        incorrect_approach=str(told.get("incorrect_approach", "")),
        confidence=memory.confidence,
        source_episodes=tuple(dict.fromkeys(map(ref, (*memory.sources, *memory.evidence)))),
        usage_count=memory.recalls,
        last_used=memory.last_recalled,
        links=tuple(linked),
    )


def _texts(value: Json) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list | tuple) else ()
