"""Survey a store: what it holds, how large it is, and whether a write comes back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..db.database import Row, Tx
from ..store import documents, memories, sessions, state
from ..types import SafeText

_TRIAL = "doctor"


class Counted(NamedTuple):
    """What one space holds."""

    memories: Sequence[Row]
    documents: Sequence[Row]
    sessions: int
    messages: int


class Stats(NamedTuple):
    """What is kept, by kind, layer and status; tokens are those of all memories' texts."""

    memories: int
    tokens: int
    by_kind: dict[str, int]
    by_layer: dict[str, int]
    by_status: dict[str, int]
    sessions: int
    messages: int
    documents: dict[str, int]
    project_bytes: int
    user_bytes: int


def count(tx: Tx) -> Counted:
    """Count everything in one space."""
    held, said = sessions.counts(tx)
    return Counted(memories.counts(tx), documents.counts(tx), held, said)


def combined(
    parts: Sequence[Counted], sizes: tuple[int, ...], price: Callable[[int], int]
) -> Stats:
    """The counts of all spaces together."""
    by_kind: dict[str, int] = {}
    by_layer: dict[str, int] = {}
    by_status: dict[str, int] = {}
    by_type: dict[str, int] = {}
    characters = 0
    for part in parts:
        for kind, layer, status, number, length in part.memories:
            number = int(number)
            by_kind[kind] = by_kind.get(kind, 0) + number
            by_layer[layer] = by_layer.get(layer, 0) + number
            by_status[status] = by_status.get(status, 0) + number
            characters += int(length)
        for type, number in part.documents:
            by_type[type] = by_type.get(type, 0) + number
    return Stats(
        memories=sum(by_kind.values()),
        tokens=price(characters),
        by_kind=by_kind,
        by_layer=by_layer,
        by_status=by_status,
        sessions=sum(part.sessions for part in parts),
        messages=sum(part.messages for part in parts),
        documents=by_type,
        project_bytes=sizes[0],
        user_bytes=sizes[1],
    )


def leave(tx: Tx, token: SafeText, now: int) -> None:
    """The first half of a round trip: write a token."""
    state.put(tx, _TRIAL, token, now)


def take(tx: Tx) -> str | None:
    """The second half: read it and take it away."""
    found = state.get(tx, _TRIAL)
    state.remove(tx, _TRIAL)
    return found
