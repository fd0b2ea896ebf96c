"""DOES. One use case a module: load, decide, save.

Modules are loaded when they are first used: a hook pays only for what it does.
"""

from __future__ import annotations

from ..nouns import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import adopt as adopt
    from . import apply_plan as apply_plan
    from . import audit as audit
    from . import brief as brief
    from . import capture as capture
    from . import clear as clear
    from . import compact as compact
    from . import consolidate as consolidate
    from . import contexts as contexts
    from . import episodes as episodes
    from . import evaluate as evaluate
    from . import export as export
    from . import follow as follow
    from . import freshness as freshness
    from . import handover as handover
    from . import hits as hits
    from . import hooks as hooks
    from . import import_list as import_list
    from . import imports as imports
    from . import index as index
    from . import layers as layers
    from . import learn as learn
    from . import look as look
    from . import meaning as meaning
    from . import patterns as patterns
    from . import procedures as procedures
    from . import recall as recall
    from . import record as record
    from . import relate as relate
    from . import revise as revise
    from . import root as root
    from . import scoped as scoped
    from . import scratch as scratch
    from . import sessions as sessions
    from . import sessions_search as sessions_search
    from . import settle as settle
    from . import setup as setup
    from . import shelf as shelf
    from . import survey as survey
    from . import tasks as tasks
    from . import tend as tend
    from . import things as things
    from . import verify as verify
    from . import window as window
    from . import work as work


def __getattr__(name: str) -> Any:
    try:
        __import__(f"{__name__}.{name}")  # `importlib` would cost a command half a millisecond
    except ModuleNotFoundError as error:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from error
    return globals()[name]
