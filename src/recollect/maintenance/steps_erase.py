"""Decide which memories go with erased records: those that were derived only from them.

A statement that was captured from a message names its session as evidence, and quotes the message:
the quote tells which message it came from.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence

from ..fast_typing import NamedTuple
from ..storage.database import Row, Tx
from ..text import addresses
from . import sql

LESSON = "a lesson that may quote it; made again from the rest"


class Erased(NamedTuple):
    """The erased records: texts of messages by session and number, sessions and episodes that go
    whole, memories. `by_id` says that one memory was named: statements that were captured from the
    same message are not derived from it."""

    texts: Mapping[str, Mapping[int, str]]
    whole: Collection[str]
    memories: Collection[str]
    by_id: bool


class _Derived(NamedTuple):
    """The sources of a memory, the words that it was captured from by session, and whether it is a
    lesson of our own rules."""

    sources: Sequence[str]
    quotes: Mapping[str, Sequence[str]]
    is_lesson: bool


def find_reason(tx: Tx, row: Row, erased: Erased, touched: Collection[str]) -> str:
    """Return why a memory, a row of `sql.find_derived`, goes with the erased records; empty if it
    stays. `touched` are sessions and episodes with erased messages."""
    memory = _read_derived(row)
    found = [_find_erased(tx, source, memory, erased) for source in memory.sources]
    if memory.is_lesson and (any(found) or not set(touched).isdisjoint(memory.sources)):
        return LESSON
    only = ", ".join(dict.fromkeys(found))
    return f"derived only from {only}" if found and all(found) else ""


def _read_derived(row: Row) -> _Derived:
    id, sources, evidence, origin, detail = row
    named = [str(one) for one in (*json.loads(sources), *json.loads(evidence))]
    named = [one.removeprefix(addresses.SCHEME) for one in named]
    # A confirmed memory names its own earlier revisions.
    others = [one for one in named if one.partition("@")[0] != id]
    held = json.loads(detail)
    quotes = {f"session/{one['session']}": [one["text"]] for one in held.get("quotes", ())}
    if "quote" in held:
        quotes = {one: [*quotes.get(one, ()), held["quote"]] for one in others}
    return _Derived(others, quotes, origin == "system")


def _find_erased(tx: Tx, source: str, memory: _Derived, erased: Erased) -> str:
    """Return the erased record that a source of a memory is or lies in; empty without one."""
    if source in erased.whole or source.partition("@")[0] in erased.memories:
        return source
    if erased.by_id and not memory.is_lesson:
        return ""
    place = addresses.parse_address(addresses.SCHEME + source)
    if f"session/{place.name}" in erased.whole:
        return f"session/{place.name}"
    texts = erased.texts.get(place.name, {})
    found: list[int] = []
    if place.kind == "messages" and texts.keys() >= {*range(place.first, place.last + 1)}:
        found = [place.first]
    for quote in memory.quotes.get(source, ()) if place.kind == "session" else ():
        found += [seq for seq, text in texts.items() if quote in text]
        stored = json.dumps(quote, ensure_ascii=False)[1:-1]
        said = sql.find_messages(tx, stored) if found else ()
        if any(name == place.name and seq not in texts for name, seq in said):
            return ""  # said in another message, too
    return f"session/{place.name}/messages/{found[0]}" if found else ""


def is_named_after(name: str, body: str) -> bool:
    """Check whether the name of a session was made of a message with this body."""
    words = "".join(re.findall(r"\w", name))[:40]
    return bool(words) and words in "".join(re.findall(r"\w", re.sub(r"\\[nrt]", " ", body)))


def find_in_other_case(tx: Tx, text: str) -> list[str]:
    """Return the memories and messages that contain a text, whatever its case."""
    rows = sql.find_messages(tx, text.lower(), "lower(body)")
    said = [f"session/{session}/messages/{seq}" for session, seq in rows]
    return sql.find_memories(tx, text.lower(), ("lower(text)",)) + said
