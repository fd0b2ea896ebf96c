"""The client: a project's memory together with the user's, as one object.

The everyday verbs are on the object (`mem.learn(…)`), everything else is in groups
(`mem.sessions.export(…)`). Both come from the table of operations; `client.pyi` is for editors and
type checkers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import TracebackType

from . import operation_table, validation
from .config import Settings
from .context import Context
from .fast_typing import Any
from .project import Project

_ALIASES = {"search": "recall"}
_SHOW_LESSONS = frozenset(
    (
        *("briefing", "lessons.list", "lessons.consolidate", "episodes.list", "episodes.learnings"),
        "tasks.before",
    )
)
"""Operations that show what was learned from conversations: they wait for an import's lessons."""


class Recollect:
    """A project's memory, returned by `recollect.open()`."""

    def __init__(self, context: Context) -> None:
        self.context = context

    def __getattr__(self, name: str) -> Any:
        if operation := operation_table.BY_NAME.get(_ALIASES.get(name, name)):
            return _bind(operation, self.context)
        if any(known.startswith(f"{name}.") for known in operation_table.BY_NAME):
            return Group(self.context, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __dir__(self) -> list[str]:
        names = {name.partition(".")[0] for name in operation_table.BY_NAME}
        return sorted({*super().__dir__(), *names, *_ALIASES})

    @property
    def project(self) -> Project:
        """Return the project of this memory."""
        return self.context.project

    @property
    def settings(self) -> Settings:
        """Return the effective settings."""
        return self.context.settings

    @property
    def counter(self) -> Callable[[str], int] | None:
        """Return the exact tokenizer for prompts; None for the estimate."""
        return self.context.counter

    @counter.setter
    def counter(self, counter: Callable[[str], int] | None) -> None:
        self.context.counter = counter

    @property
    def progress(self) -> Callable[[Any], object] | None:
        """Return the function that is called with the progress of long work."""
        return self.context.progress

    @progress.setter
    def progress(self, report: Callable[[Any], object] | None) -> None:
        self.context.progress = report

    def close(self) -> None:
        """Release this thread's connections; the next operation opens them again."""
        if self.context.recalls:  # most hooks recall nothing: skip the import
            from .memory.operations import write_recalls

            write_recalls(self.context)
        if self.context.lacks_vectors:
            from .recall.operations import embed_saved

            embed_saved(self.context)
        self.context.project_space.close()
        self.context.user_space.close()
        if self.context.replica:
            self.context.replica.close()

    def __enter__(self) -> Recollect:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class Group:
    """The operations of one group, such as `mem.sessions`."""

    def __init__(self, context: Context, name: str) -> None:
        self._context = context
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if operation := operation_table.BY_NAME.get(f"{self._name}.{name}"):
            return _bind(operation, self._context)
        raise AttributeError(f"{self._name!r} has no operation {name!r}")

    def __dir__(self) -> list[str]:
        start = f"{self._name}."
        names = [name[len(start) :] for name in operation_table.BY_NAME if name.startswith(start)]
        return sorted({*super().__dir__(), *names})


def call_operation(memory: Recollect, name: str, values: dict[str, Any]) -> Any:
    """Call an operation by its dotted name."""
    return _bind(operation_table.BY_NAME[name], memory.context)(**values)


def _bind(operation: operation_table.Operation, context: Context) -> Any:
    """Return an operation bound to a context."""
    bound = validation.bind_operation(operation_table.load_function(operation), context)
    if operation.name not in _SHOW_LESSONS:
        return bound

    @wraps(bound)
    def bound_after_learning(*values: Any, **named: Any) -> Any:
        from .agents import steps_hooks

        if steps_hooks.is_unlearned(steps_hooks.requests_folder(context)):
            from .agents.operations import finish_learning

            finish_learning(context)
        return bound(*values, **named)

    return bound_after_learning
