"""Convert patterns from and to JSON, a format that other programs write too.

Reading and writing again loses nothing. In the store a pattern is a memory; JSON fields that a
memory lacks are kept in its detail.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ..errors import InvalidInput
from ..text.addresses import SCHEME
from ..types.json_records import (
    choice_field,
    dump_record,
    integer_field,
    load_record,
    number_field,
    records_field,
    text_field,
    texts_field,
    time_field,
)
from ..types.records import RELATIONS, Json, Memory


class PatternLink(NamedTuple):
    """A link to another record, by the id in its source file."""

    to: str = ""
    relation: str = ""
    extra: Mapping[str, Json] = {}


class Pattern(NamedTuple):
    """A rule that was found to hold: its conditions, the right and the wrong approach."""

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


_LINK = (text_field("to"), choice_field("relation", RELATIONS))


_PATTERN = (
    text_field("id"),
    text_field("pattern"),
    text_field("category"),
    texts_field("conditions"),
    text_field("correct_approach"),
    text_field("incorrect_approach"),
    number_field("confidence"),
    texts_field("source_episodes"),
    integer_field("usage_count"),
    time_field("last_used"),
    records_field("links", PatternLink, _LINK),
)


def from_json(given: Json) -> Pattern:
    """Parse a pattern from a JSON object; InvalidInput names the wrong field."""
    pattern = load_record(Pattern, _PATTERN, given, "pattern")
    if not pattern.pattern.strip():
        raise InvalidInput("the pattern is empty", where="pattern.pattern")
    return pattern


def to_json(pattern: Pattern) -> dict[str, Json]:
    """Convert a pattern to JSON, lossless."""
    return dump_record(pattern, _PATTERN)


def from_memory(memory: Memory, linked: Iterable[PatternLink] = ()) -> Pattern:
    """Convert a memory to a pattern: as loaded, with later changes."""
    if isinstance(memory.detail.get("pattern"), str):
        given = load_record(Pattern, _PATTERN, memory.detail, "pattern")
        return given._replace(
            pattern=memory.text,
            confidence=memory.confidence,
            usage_count=given.usage_count + memory.recalls,
            last_used=max(given.last_used, memory.last_recalled),
        )
    detail = memory.detail
    return Pattern(
        id=memory.id,
        pattern=memory.text,
        conditions=_texts(detail.get("conditions")),
        correct_approach=str(detail.get("correct_approach", "")),
        incorrect_approach=str(detail.get("incorrect_approach", "")),
        confidence=memory.confidence,
        source_episodes=tuple(
            dict.fromkeys(one.removeprefix(SCHEME) for one in (*memory.sources, *memory.evidence))
        ),
        usage_count=memory.recalls,
        last_used=memory.last_recalled,
        links=tuple(linked),
    )


def _texts(value: Json) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list | tuple) else ()
