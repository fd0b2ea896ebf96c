"""Anthropic's memory tool, kept in a project's memory: `pip install '.[anthropic]'`.

    import anthropic, recollect
    from recollect.frameworks.anthropic_memory import MemoryTool

    with recollect.open() as mem:
        client.beta.messages.tool_runner(tools=[MemoryTool(mem)], …)

Secrets are taken out of what the model writes before it is kept, as everywhere.
"""

from __future__ import annotations

from collections.abc import Callable

from anthropic.lib.tools import ToolError
from anthropic.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool
from anthropic.types import beta

from ..client import Recollect
from .files import MemoryFiles
from .operations import Shelves


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


class AsyncMemoryTool(BetaAsyncAbstractMemoryTool):
    """The same for an async client: each command runs in a thread."""

    def __init__(self, memory: Recollect) -> None:
        super().__init__()
        self._shelves = Shelves(memory)
        self._tool = MemoryTool(memory)

    async def view(self, command: beta.BetaMemoryTool20250818ViewCommand) -> str:
        return await self._shelves.beside(lambda: self._tool.view(command))

    async def create(self, command: beta.BetaMemoryTool20250818CreateCommand) -> str:
        return await self._shelves.beside(lambda: self._tool.create(command))

    async def str_replace(self, command: beta.BetaMemoryTool20250818StrReplaceCommand) -> str:
        return await self._shelves.beside(lambda: self._tool.str_replace(command))

    async def insert(self, command: beta.BetaMemoryTool20250818InsertCommand) -> str:
        return await self._shelves.beside(lambda: self._tool.insert(command))

    async def delete(self, command: beta.BetaMemoryTool20250818DeleteCommand) -> str:
        return await self._shelves.beside(lambda: self._tool.delete(command))

    async def rename(self, command: beta.BetaMemoryTool20250818RenameCommand) -> str:
        return await self._shelves.beside(lambda: self._tool.rename(command))

    async def clear_all_memory(self) -> str:
        return await self._shelves.beside(self._tool.clear_all_memory)


def _told(work: Callable[[], str]) -> str:
    """What went wrong is told to the model, which can put it right."""
    try:
        return work()
    except ValueError as error:
        raise ToolError(str(error)) from error
