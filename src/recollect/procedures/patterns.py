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
    """The pattern in a JSON object; InvalidInput names the field that cannot be understood."""
    pattern = load_record(Pattern, _PATTERN, given, "pattern")
    if not pattern.pattern.strip():
        raise InvalidInput("a pattern says what holds", where="pattern.pattern")
    return pattern


def to_json(pattern: Pattern) -> dict[str, Json]:
    """The pattern as JSON; all that was given comes back."""
    return dump_record(pattern, _PATTERN)


def from_memory(memory: Memory, linked: Iterable[PatternLink] = ()) -> Pattern:
    """A memory as a pattern: as it was given, with what has changed since."""
    if isinstance(memory.detail.get("pattern"), str):
        given = load_record(Pattern, _PATTERN, memory.detail, "pattern")
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
