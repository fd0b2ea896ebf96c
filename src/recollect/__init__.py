"""Recollect: the memory that coding agents share.

    import recollect

    with recollect.open() as mem:
        mem.learn("Integration tests need Redis on port 6380", kind="reference")
        for hit in mem.recall("how do I run the integration tests"):
            print(hit.address, hit.text)

`open()` is the only place that picks an engine and reads the settings.
"""

from __future__ import annotations

import os as _os
from collections.abc import Callable as _Callable

from . import lazy  # noqa: F401 - it makes all others load when they are used
from .errors import (
    ConfigError,
    Conflict,
    InvalidInput,
    NotFound,
    Overflow,
    RecollectError,
    Refused,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreForeign,
    StoreFull,
    StoreNewer,
    StoreReadOnly,
    Unavailable,
)
from .fast_typing import TYPE_CHECKING, Any
from .types.records import (
    Document,
    Hit,
    Learned,
    Memory,
    Message,
    Recalled,
    Recorded,
    Session,
    Stored,
    ToolCall,
)
from .version import __version__

if TYPE_CHECKING:
    from .client import Recollect

__all__ = [
    "ConfigError",
    "Conflict",
    "Document",
    "Hit",
    "InvalidInput",
    "Learned",
    "Memory",
    "Message",
    "NotFound",
    "Overflow",
    "Recalled",
    "Recollect",
    "RecollectError",
    "Recorded",
    "Refused",
    "Session",
    "StoreBusy",
    "StoreCorrupt",
    "StoreError",
    "StoreForeign",
    "StoreFull",
    "StoreNewer",
    "StoreReadOnly",
    "Stored",
    "ToolCall",
    "Unavailable",
    "__version__",
    "open",
]


def open(
    path: str | _os.PathLike[str] | None = None,
    *,
    incognito: bool = False,
    origin: str = "agent",
    clock: _Callable[[], int] | None = None,
    environment: dict[str, str] | None = None,
) -> Recollect:
    """Open the memory of the project that `path` belongs to, together with the user's.

    path: a directory of the project; else RECOLLECT_PROJECT, else the current directory
    incognito: keep everything in memory; nothing is read from or written to disk
    origin: who speaks through this object: agent, or user when a person types the calls
    clock: microseconds since 1970; the real time by default
    environment: variables to use in place of the process's own
    """
    from .opening import open_memory

    variables = dict(_os.environ) if environment is None else environment
    place = None if path is None else _os.fspath(path)
    return open_memory(place, variables, incognito, origin, clock)


def __getattr__(name: str) -> Any:
    """`recollect.Recollect`, loaded when it is asked for: importing the nouns stays cheap."""
    if name == "Recollect":
        from .client import Recollect

        return Recollect
    raise AttributeError(f"module 'recollect' has no attribute {name!r}")
