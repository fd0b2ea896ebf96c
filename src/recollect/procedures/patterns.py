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
    Field,
    dump_record,
    load_record,
    read_choice,
    read_integer,
    read_list,
    read_number,
    read_text,
    read_texts,
    read_time,
    write_plain,
    write_time,
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


_LINK = (
    Field("to", "to", read_text, write_plain),
    Field("relation", "relation", read_choice(*RELATIONS), write_plain),
)


def _links(value: Json) -> tuple[PatternLink, ...]:
    return tuple(load_record(PatternLink, _LINK, item, "links") for item in read_list(value))


_PATTERN = (
    Field("id", "id", read_text, write_plain),
    Field("pattern", "pattern", read_text, write_plain),
    Field("category", "category", read_text, write_plain),
    Field("conditions", "conditions", read_texts, list),
    Field("correct_approach", "correct_approach", read_text, write_plain),
    Field("incorrect_approach", "incorrect_approach", read_text, write_plain),
    Field("confidence", "confidence", read_number, write_plain),
    Field("source_episodes", "source_episodes", read_texts, list),
    Field("usage_count", "usage_count", read_integer, write_plain),
    Field("last_used", "last_used", read_time, write_time),
    Field("links", "links", _links, lambda all_: [dump_record(one, _LINK) for one in all_]),
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
