"""Anthropic's memory tool on a project's memory: `pip install '.[anthropic]'`.

    import anthropic, recollect
    from recollect.frameworks.anthropic_memory import MemoryTool

    with recollect.open() as mem:
        client.beta.messages.tool_runner(tools=[MemoryTool(mem)], …)

The files below `/memories` are scratch documents; a folder exists while it contains a file. Paths
are names, not paths on disk. Errors are `ValueError`s in the wording of Anthropic's API. Secrets in
the files are redacted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..client import Recollect
from ..errors import InvalidInput, NotFound, missing_extra
from .storage import FrameworkStorage

try:
    from anthropic.lib.tools import ToolError
    from anthropic.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool
    from anthropic.types import beta
except ModuleNotFoundError as error:
    raise missing_extra("anthropic", __name__) from error

ROOT = "/memories"
MAX_LINES = 999_999
_PREFIX = "memories:"
_MOST_FILES = 100_000


class MemoryFiles:
    """The commands of the tool on a tree of text files; each returns a line of text."""

    def __init__(self, memory: Recollect) -> None:
        self._memory = memory

    def view(self, path: str, lines: tuple[int, int] | None = None) -> str:
        """Return a file with line numbers, or the list of files in a folder."""
        place = _check_path(path)
        text = self._text(place)
        if text is None:
            return self._listing(path, place)
        all_lines = text.split("\n")
        if len(all_lines) > MAX_LINES:
            raise ValueError(f"File {path} exceeds maximum line limit of {MAX_LINES:,} lines.")
        first, last = lines or (1, -1)
        first = max(first, 1)
        shown = all_lines[first - 1 : len(all_lines) if last == -1 else last]
        return f"Here's the content of {path} with line numbers:\n" + _number_lines(shown, first)

    def _listing(self, path: str, place: str) -> str:
        below = self._below(place)
        if not below and place:
            raise ValueError(f"The path {path} does not exist. Please provide a valid path.")
        sizes: dict[str, int] = {}
        for name, size in below.items():
            parts = name.split("/")
            if any(part.startswith(".") or part == "node_modules" for part in parts):
                continue
            for depth in range(1, min(len(parts), 2) + 1):
                shown = "/".join(parts[:depth]) + ("/" if depth < len(parts) else "")
                sizes[shown] = sizes.get(shown, 0) + size
        rows = [f"{_format_size(sum(below.values()))}\t{path}"]
        rows += [
            f"{_format_size(sizes[name])}\t{path.rstrip('/')}/{name}" for name in sorted(sizes)
        ]
        head = f"Here're the files and directories up to 2 levels deep in {path}, excluding hidden "
        return head + "items and node_modules:\n" + "\n".join(rows)

    def create(self, path: str, text: str) -> str:
        """Create a file; an existing one is not overwritten."""
        place = _check_path(path)
        if not place or self._text(place) is not None or self._below(place):
            raise ValueError(f"File {path} already exists")
        self._store(place, text)
        return f"File created successfully at: {path}"

    def replace(self, path: str, old: str, new: str = "") -> str:
        """Replace a text that occurs exactly once."""
        place, text = self._file(path)
        found = _find_occurrences(text, old)
        if not found:
            raise ValueError(
                f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}."
            )
        if len(found) > 1:
            numbers = ", ".join(str(text.count("\n", 0, at) + 1) for at in found)
            raise ValueError(
                f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: "
                f"{numbers}. Please ensure it is unique"
            )
        changed = text[: found[0]] + new + text[found[0] + len(old) :]
        self._store(place, changed)
        line = text.count("\n", 0, found[0])
        start = max(line - 2, 0)
        snippet = _number_lines(changed.split("\n")[start : line + 3], start + 1)
        return (
            "The memory file has been edited. Here is the snippet showing the change "
            f"(with line numbers):\n{snippet}"
        )

    def insert(self, path: str, line: int, text: str) -> str:
        """Insert text after a line; 0 is the beginning."""
        place, content = self._file(path)
        lines = content.removesuffix("\n").split("\n") if content else []
        if not 0 <= line <= len(lines):
            raise ValueError(
                f"Invalid `insert_line` parameter: {line}. It should be within the range of lines "
                f"of the file: [0, {len(lines)}]"
            )
        lines.insert(line, text.rstrip("\n"))
        self._store(place, "\n".join(lines) + "\n")
        return f"The file {path} has been edited."

    def delete(self, path: str) -> str:
        """Delete a file, or a folder with its contents."""
        place = _check_path(path)
        if not place:
            raise ValueError(f"Cannot delete the {ROOT} directory itself")
        for name in self._at_or_below(path, place):
            self._memory.scratch.delete(_encode_name(name))
        return f"Successfully deleted {path}"

    def rename(self, old_path: str, new_path: str) -> str:
        """Move a file or a folder."""
        old, new = _check_path(old_path), _check_path(new_path)
        if not old or not new:
            raise ValueError(f"Cannot rename the {ROOT} directory itself")
        names = self._at_or_below(old_path, old)
        if self._text(new) is not None or self._below(new):
            raise ValueError(f"The destination {new_path} already exists")
        if new.startswith(old + "/"):
            raise ValueError(f"Cannot move {old_path} into itself")
        for name in names:
            self._store(new + name[len(old) :], self._text(name) or "")
            self._memory.scratch.delete(_encode_name(name))
        return f"Successfully renamed {old_path} to {new_path}"

    def clear(self) -> str:
        """Delete all files."""
        for name in self._files():
            self._memory.scratch.delete(_encode_name(name))
        return "All memory cleared"

    # ------------------------------------------------------------ documents

    def _file(self, path: str) -> tuple[str, str]:
        place = _check_path(path)
        text = self._text(place)
        if text is None:
            is_folder = not place or self._below(place)
            problem = (
                "is not a file." if is_folder else "does not exist. Please provide a valid path."
            )
            raise ValueError(f"The path {path} {problem}")
        return place, text

    def _text(self, place: str) -> str | None:
        try:
            return self._memory.scratch.retrieve(_encode_name(place)).text if place else None
        except NotFound:
            return None

    def _store(self, place: str, text: str) -> None:
        parts = place.split("/")
        for depth in range(1, len(parts)):
            folder = "/".join(parts[:depth])
            if self._text(folder) is not None:
                raise ValueError(f"The path {ROOT}/{folder} is a file, not a directory")
        try:
            self._memory.scratch.store(_encode_name(place), text)
        except InvalidInput as error:
            raise ValueError(error.message) from error

    def _files(self) -> dict[str, int]:
        """Return the size of every file by its path below the root."""
        documents = self._memory.scratch.list(limit=_MOST_FILES)
        return {
            _decode_name(item.title): len(item.text.encode("utf-8", "replace"))
            for item in documents
            if item.title.startswith(_PREFIX)
        }

    def _below(self, place: str) -> Mapping[str, int]:
        lead = f"{place}/" if place else ""
        files = self._files()
        return {name[len(lead) :]: files[name] for name in files if name.startswith(lead)}

    def _at_or_below(self, path: str, place: str) -> list[str]:
        found = [place] if self._text(place) is not None else []
        found += [f"{place}/{name}" for name in self._below(place)]
        if not found:
            raise ValueError(f"The path {path} does not exist")
        return found


def _check_path(path: str) -> str:
    """Return the path below the root; raise ValueError if it leaves the root."""
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise ValueError(f"Path must start with {ROOT}, got: {path}")
    parts = [part for part in path[len(ROOT) :].split("/") if part not in ("", ".")]
    if ".." in parts or "\\" in path or "\0" in path or "%2e" in path.lower():
        raise ValueError(f"Path {path} would escape {ROOT} directory")
    return "/".join(parts)


def _encode_name(place: str) -> str:
    """Return the document name of a path; special characters are written as their code."""
    spelled = (c if _is_plain(c) else ":" if c == "/" else f"_{ord(c):x}_" for c in place)
    return _PREFIX + "".join(spelled)


def _is_plain(character: str) -> bool:
    return character in "-." or (character.isascii() and character.isalnum())


def _decode_name(name: str) -> str:
    """Return the path of a document name."""
    pieces = name[len(_PREFIX) :].replace(":", "/").split("_")
    return "".join(chr(int(piece, 16)) if at % 2 else piece for at, piece in enumerate(pieces))


def _find_occurrences(text: str, wanted: str) -> list[int]:
    found: list[int] = []
    at = text.find(wanted) if wanted else -1
    while at >= 0:
        found.append(at)
        at = text.find(wanted, at + 1)
    return found


def _number_lines(lines: list[str], first: int) -> str:
    return "\n".join(f"{number:>6}\t{line}" for number, line in enumerate(lines, start=first))


def _format_size(number: int) -> str:
    size = float(number)
    for unit in ("B", "K", "M"):
        if size < 1024:
            return f"{size:.1f}{unit}".replace(".0", "")
        size /= 1024
    return f"{size:.1f}G".replace(".0", "")


class MemoryTool(BetaAbstractMemoryTool):
    """The six commands of the tool `memory_20250818`."""

    def __init__(self, memory: Recollect) -> None:
        super().__init__()
        self._files = MemoryFiles(memory)

    def view(self, command: beta.BetaMemoryTool20250818ViewCommand) -> str:
        span = command.view_range
        lines = (span[0], span[1]) if span and len(span) == 2 else None
        return _raise_tool_error(lambda: self._files.view(command.path, lines))

    def create(self, command: beta.BetaMemoryTool20250818CreateCommand) -> str:
        return _raise_tool_error(lambda: self._files.create(command.path, command.file_text))

    def str_replace(self, command: beta.BetaMemoryTool20250818StrReplaceCommand) -> str:
        new = command.new_str or ""
        return _raise_tool_error(lambda: self._files.replace(command.path, command.old_str, new))

    def insert(self, command: beta.BetaMemoryTool20250818InsertCommand) -> str:
        line, text = command.insert_line, command.insert_text
        return _raise_tool_error(lambda: self._files.insert(command.path, line, text))

    def delete(self, command: beta.BetaMemoryTool20250818DeleteCommand) -> str:
        return _raise_tool_error(lambda: self._files.delete(command.path))

    def rename(self, command: beta.BetaMemoryTool20250818RenameCommand) -> str:
        return _raise_tool_error(lambda: self._files.rename(command.old_path, command.new_path))

    def clear_all_memory(self) -> str:
        return _raise_tool_error(self._files.clear)


class AsyncMemoryTool(BetaAsyncAbstractMemoryTool):
    """The same commands for an async client, run in threads."""

    def __init__(self, memory: Recollect) -> None:
        super().__init__()
        self._storage = FrameworkStorage(memory, "anthropic")
        self._tool = MemoryTool(memory)

    async def view(self, command: beta.BetaMemoryTool20250818ViewCommand) -> str:
        return await self._storage.run(self._tool.view, command)

    async def create(self, command: beta.BetaMemoryTool20250818CreateCommand) -> str:
        return await self._storage.run(self._tool.create, command)

    async def str_replace(self, command: beta.BetaMemoryTool20250818StrReplaceCommand) -> str:
        return await self._storage.run(self._tool.str_replace, command)

    async def insert(self, command: beta.BetaMemoryTool20250818InsertCommand) -> str:
        return await self._storage.run(self._tool.insert, command)

    async def delete(self, command: beta.BetaMemoryTool20250818DeleteCommand) -> str:
        return await self._storage.run(self._tool.delete, command)

    async def rename(self, command: beta.BetaMemoryTool20250818RenameCommand) -> str:
        return await self._storage.run(self._tool.rename, command)

    async def clear_all_memory(self) -> str:
        return await self._storage.run(self._tool.clear_all_memory)


def _raise_tool_error(work: Callable[[], str]) -> str:
    """Run a command; turn its ValueError into a ToolError, which the model can correct."""
    try:
        return work()
    except ValueError as error:
        raise ToolError(str(error)) from error
