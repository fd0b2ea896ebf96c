"""Check at once whether there may be anything to say about a shell command.

A hook asks before every command, and the answer is nearly always no: one value is read, and nothing
is parsed or imported for it. The value is written when a session starts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..fast_typing import TYPE_CHECKING
from ..storage import sql as storage_sql
from ..storage.database import Tx

if TYPE_CHECKING:
    from ..types.records import SafeText

KEY = "watched programs"
"""The value in state: for each program a line with its name and the ids of rules that name it."""

LONGEST_LINE = 20_000
_BREAKS = str.maketrans("/;&|()'\"`\n\t=", " " * 12)


def may_speak(tx: Tx, line: str) -> bool:
    """Check whether a shell line names a program that there is something to say about."""
    watched = storage_sql.get_value(tx, KEY)
    return bool(watched) and bool(_named(str(watched), line))


def rules_on(tx: Tx, line: str) -> list[str]:
    """Return the ids of the rules that name a program of a shell line."""
    watched = str(storage_sql.get_value(tx, KEY) or "")
    found: dict[str, None] = {}
    for word in _named(watched, line):
        row = watched.partition(f"\n{word} ")[2].partition("\n")[0]
        found.update(dict.fromkeys(row.split()))
    return list(found)


def _named(watched: str, line: str) -> list[str]:
    words = dict.fromkeys(line[:LONGEST_LINE].casefold().translate(_BREAKS).split())
    return [word for word in words if f"\n{word} " in watched]


def written(watched: Mapping[str, Sequence[str]]) -> str:
    """Return the value for programs and the ids of rules that name them."""
    return "".join(f"\n{name} {' '.join(ids)}" for name, ids in sorted(watched.items()))


def put(tx: Tx, watched: SafeText, now: int) -> None:
    """Keep the value, if it is another one than before."""
    if watched != (storage_sql.get_value(tx, KEY) or ""):
        storage_sql.set_value(tx, KEY, watched, now)
