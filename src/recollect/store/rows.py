"""How rows become nouns and nouns become parameters: JSON in TEXT columns, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..types import Json

_EMPTY: dict[str, Any] = {"[]": (), "{}": {}, "": None}


def load(text: str) -> Any:
    """The value of a JSON column; lists become tuples."""
    if text in _EMPTY:
        return _EMPTY[text]
    from json import loads  # a search without filters reads none

    value = loads(text)
    return tuple(value) if isinstance(value, list) else value


def columns(names: Iterable[str]) -> str:
    """`a, b, c` for a SELECT or an INSERT."""
    return ", ".join(names)


def values(names: Iterable[str]) -> str:
    """`:a, :b, :c` for an INSERT."""
    return ", ".join(f":{name}" for name in names)


def picked(params: Mapping[str, Json], names: Iterable[str]) -> dict[str, Json]:
    """The named parameters only."""
    return {name: params[name] for name in names}
