"""REMEMBERS. All SQL; functions that take a transaction.

Modules are loaded when they are first used: a hook pays only for what it does.
"""

from __future__ import annotations

from ..nouns import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import adoption as adoption
    from . import claims as claims
    from . import cursors as cursors
    from . import documents as documents
    from . import episodes as episodes
    from . import events as events
    from . import injections as injections
    from . import jobs as jobs
    from . import links as links
    from . import memories as memories
    from . import procedures as procedures
    from . import rows as rows
    from . import search as search
    from . import sessions as sessions
    from . import state as state
    from . import undos as undos
    from . import vectors as vectors
    from . import windows as windows


def __getattr__(name: str) -> Any:
    try:
        __import__(f"{__name__}.{name}")  # `importlib` would cost a command half a millisecond
    except ModuleNotFoundError as error:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from error
    return globals()[name]
