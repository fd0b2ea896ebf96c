"""Anthropic's memory tool, kept in a project's memory: `pip install recollect[anthropic]`.

    import anthropic, recollect
    from recollect.adapters.anthropic_memory import MemoryTool

    with recollect.open() as mem:
        client.beta.messages.tool_runner(tools=[MemoryTool(mem)], …)

Secrets are taken out of what the model writes before it is kept, as everywhere.
"""

from __future__ import annotations

from collections.abc import Callable

from anthropic.lib.tools import ToolError
from anthropic.tools import BetaAbstractMemoryTool
from anthropic.types import beta

from ..app import Recollect
from .files import MemoryFiles


class MemoryTool(BetaAbstractMemoryTool):
    """The six commands of the tool `memory_20250818`."""

    def __init__(self, memory: Recollect) -> None:
        super().__init__()
        self._files = MemoryFiles(memory)

    def view(self, command: beta.BetaMemoryTool20250818ViewCommand) -> str:
        span = command.view_range
        lines = (span[0], span[1]) if span and len(span) == 2 else None
        return _told(lambda: self._files.view(command.path, lines))

    def create(self, command: beta.BetaMemoryTool20250818CreateCommand) -> str:
        return _told(lambda: self._files.create(command.path, command.file_text))

    def str_replace(self, command: beta.BetaMemoryTool20250818StrReplaceCommand) -> str:
        new = command.new_str or ""
        return _told(lambda: self._files.replace(command.path, command.old_str, new))

    def insert(self, command: beta.BetaMemoryTool20250818InsertCommand) -> str:
        line, text = command.insert_line, command.insert_text
        return _told(lambda: self._files.insert(command.path, line, text))

    def delete(self, command: beta.BetaMemoryTool20250818DeleteCommand) -> str:
        return _told(lambda: self._files.delete(command.path))

    def rename(self, command: beta.BetaMemoryTool20250818RenameCommand) -> str:
        return _told(lambda: self._files.rename(command.old_path, command.new_path))

    def clear_all_memory(self) -> str:
        return _told(self._files.clear)


def _told(work: Callable[[], str]) -> str:
    """What went wrong is told to the model, which can put it right."""
    try:
        return work()
    except ValueError as error:
        raise ToolError(str(error)) from error
