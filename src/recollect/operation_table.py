"""The table of operations: each one's name, command and function.

A row is the name in Python (`sessions.export` is `mem.sessions.export(…)`), the words of the
command (`recollect session export`, `/session export`) and the function behind both. Commands,
help, MCP tools, the client and the docs are derived from the rows in `operation_rows` and the
functions' signatures; there is no second list.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping

from .fast_typing import Any
from .operation_rows import GROUPS as GROUPS
from .operation_rows import Operation as Operation

EVERYDAY = (
    *("status", "init", "import", "learn", "recall"),
    *("review", "briefing", "show", "edit", "undo"),
)
"""The commands of the short help."""

OPERATIONS: Mapping[str, Operation] = {
    operation.words: operation for _, rows in GROUPS for operation in rows
}
"""The operations by command."""

BY_NAME: Mapping[str, Operation] = {operation.name: operation for operation in OPERATIONS.values()}

SHORT_COMMANDS: Mapping[str, str] = {
    "search": "recall",
    "find": "recall",
    "add": "learn",
    "remember": "learn",
    "ls": "list",
    "rm": "hide",
    "store": "scratch store",
    "retrieve": "scratch retrieve",
    "delete": "scratch delete",
}
"""Aliases of commands, and commands that work without their group."""


def load_function(operation: Operation) -> Callable[..., Any]:
    """Import the module of an operation and return the function."""
    module = f"{__package__}.{operation.module}"
    __import__(module)  # `importlib` costs half a millisecond
    function: Callable[..., Any] = getattr(sys.modules[module], operation.function)
    return function
