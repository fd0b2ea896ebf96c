"""How rows become nouns and nouns become parameters: JSON in TEXT columns, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def load(text: str) -> Any:
    """The value of a JSON column; lists become tuples."""
    if text == "[]":
        return ()
    if text == "{}":
        return {}
    if not text:
        return None
    from json import loads  # a search without filters reads none

    value = loads(text)
    return tuple(value) if isinstance(value, list) else value


def columns(names: Iterable[str]) -> str:
    """`a, b, c` for a SELECT or an INSERT."""
    return ", ".join(names)


def values(names: Iterable[str]) -> str:
    """`:a, :b, :c` for an INSERT."""
    return ", ".join(f":{name}" for name in names)
