"""Recognise our own part of a conversation: questions to memory, its answers and pages.

A call of our tools or command, its result, a slash command of ours and its output, a read of a
generated page: all of these quote memories. They stay in the archive but are not indexed, so that a
search finds the memory itself and not an earlier search for it.

Decides from one message and those before it in the session. The caller looks up messages of
earlier batches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..fast_typing import NamedTuple
from ..text.messages import parse_arguments, plain_text, searchable_parts
from ..types.records import Json, Message, ToolCall

MCP_SERVER = "recollect"
_TOOLS = "learn recall episode procedure stats consolidate operations"
OWN_TOOLS = frozenset(f"memory_{name}" for name in _TOOLS.split())
"""Our tools by their bare names: some hosts omit the server's name."""

PAGES_FOLDER = ".recollect"
"""The folder of the generated pages."""

ECHO_DISTANCE = 8
"""The output of a slash command follows within this many messages."""

_FILTERS = {
    **dict.fromkeys(["head", "tail", "cat", "less", "wc", "sort", "uniq", "true"], 0),
    **dict.fromkeys(["grep", "jq", "sed", "awk", "cut"], 1),
    "tr": 2,
}
"""Filters that only shorten an answer, and their number of words; more would name a file."""

_RUNNERS = frozenset({"uv", "uvx", "pipx", "poetry", "pdm", "hatch", "rye", "run"})


class MessageTrace(NamedTuple):
    """The relation of a message to us."""

    role: str
    calls: tuple[tuple[str, bool], ...] = ()
    """The id of each call, and whether it is a call of ours."""
    answers: str = ""
    """The call that it is the result of."""
    command: bool = False
    """Whether the user typed a command of ours."""


def trace_message(message: Message) -> MessageTrace:
    """Return the relation of one message to us."""
    calls = tuple([(call.id, is_own_call(call)) for call in message.calls])
    typed = message.role == "user" and _is_command(plain_text(message))
    return MessageTrace(message.role, calls, message.call_id, typed)


def strip_own_calls(message: Message) -> Message:
    """Remove the calls of our own tools from a message."""
    if not message.calls or not any(map(is_own_call, message.calls)):
        return message
    return message._replace(calls=tuple([c for c in message.calls if not is_own_call(c)]))


def find_indexed_texts(message: Message) -> tuple[str, ...] | None:
    """Return the texts that a message is found by; None if it only calls our own tools."""
    left = strip_own_calls(message)
    texts = searchable_parts(left)
    return tuple(texts) if texts or left is message else None


class EchoDetector:
    """Goes through the messages of a session in order and recognises echoes.

    `asks_us` checks a call in an earlier batch, `was_asked` whether the user typed a command of
    ours just before; both are called only when needed.
    """

    def __init__(self, asks_us: Callable[[str], bool], was_asked: Callable[[], bool]) -> None:
        self._asks_us, self._was_asked = asks_us, was_asked
        self._calls: dict[str, bool] = {}
        self._asked: bool | None = None

    def is_echo(self, part: MessageTrace) -> bool:
        """Check whether the next message is an echo, not to be indexed."""
        self._asked = _awaits_after(part, self._asked)
        if part.role == "user":
            return part.command
        self._calls.update(part.calls)
        if part.answers:
            if part.answers not in self._calls:
                self._calls[part.answers] = self._asks_us(part.answers)
            return self._calls[part.answers]
        if self._asked is None:
            self._asked = self._was_asked()
        return self._asked


def awaits_own_answer(parts: Sequence[MessageTrace]) -> bool:
    """Check whether the next message answers a command of ours."""
    asked: bool | None = False
    for part in parts:
        asked = _awaits_after(part, asked)
    return bool(asked)


def _awaits_after(part: MessageTrace, asked: bool | None) -> bool | None:
    """Return whether an answer to a command of ours is due after a message; None if unknown."""
    if part.role == "user":
        return part.command
    return asked if all(own for _, own in part.calls) else False  # other work follows


# ---------------------------------------------------------------- calls


def is_own_tool(name: str) -> bool:
    """Check whether a tool is ours, in any host's spelling of an MCP tool name."""
    head = name.lower().removeprefix("mcp").lstrip("_-").removeprefix("plugin_")
    if head in OWN_TOOLS:
        return True
    rest = head.removeprefix(MCP_SERVER)
    return rest != head and (not rest or rest[0] in "_.-/:")


def is_own_call(call: ToolCall) -> bool:
    """Check whether a call is ours: a tool, resource or skill, our command alone in a shell, or a
    read of a generated page."""
    if is_own_tool(call.name):
        return True
    if MCP_SERVER not in call.arguments and "memory://" not in call.arguments:
        return False
    try:
        given = parse_arguments(call.arguments)
    except RecursionError:
        return False
    if not given:
        return False
    return _names_us(given) or _runs_us(given) or _reads_pages(call)


def _names_us(given: Mapping[str, Json]) -> bool:
    server = next((given[key] for key in _SERVER_KEYS if key in given), "")
    skill = given.get("skill", "")
    uri = given.get("uri", "")
    return (
        server == MCP_SERVER
        or (isinstance(uri, str) and uri.startswith("memory://"))
        or (isinstance(skill, str) and skill.startswith(MCP_SERVER))
    )


_SERVER_KEYS = ("server", "server_name", "serverName", "mcp_server")


def _runs_us(given: Mapping[str, Json]) -> bool:
    line = given.get("command", given.get("cmd"))
    if isinstance(line, list) and line and all(isinstance(word, str) for word in line):
        if _is_program(line):
            return True
        line = line[-1]  # of a shell
    return isinstance(line, str) and MCP_SERVER in line and is_own_command(line)


def is_own_command(line: str) -> bool:
    """Check whether a shell runs our command and nothing else: also after a `cd`, several times, or
    with its output shortened. Anything more on the line is worth indexing."""
    from .shell import command_words

    ours = False
    for words in command_words(line):
        if _is_program(words):
            ours = True
        elif words[0] != "echo" and not _only_cuts(words):
            return False
    return ours


def _is_program(words: Sequence[str]) -> bool:
    """Match `recollect`, `…/recollect`, `python -m recollect`, `uv run recollect`."""
    at = 0
    while at < len(words) and words[at] in _RUNNERS:
        at += 1
    left = [_file_name(word) for word in words[at : at + 3]]
    if left[:1] == [MCP_SERVER]:
        return True
    return len(left) == 3 and left[0].startswith("python") and left[1:] == ["-m", MCP_SERVER]


def _file_name(word: str) -> str:
    return word.replace("\\", "/").rpartition("/")[2].removesuffix(".exe")


def _only_cuts(words: Sequence[str]) -> bool:
    name = _file_name(words[0])
    plain = [word for word in words[1:] if not word.startswith("-") and not word.isdigit()]
    return name == "cd" or (name in _FILTERS and len(plain) <= _FILTERS[name])


def _reads_pages(call: ToolCall) -> bool:
    if PAGES_FOLDER not in call.arguments:
        return False
    from .tool_calls import read_effects

    found = read_effects(call)
    ours = [PAGES_FOLDER in path.replace("\\", "/").split("/")[:-1] for path in found.reads]
    return bool(ours) and all(ours) and not found.writes and not found.git


# ---------------------------------------------------------------- commands


def _is_command(text: str) -> bool:
    """Match `/memory list`, `/recollect:recall …`, `! recollect stats`.

    A bare `/memory` is the agent's own command: ours has a verb.
    """
    start = text[:2000].lstrip()
    if start.startswith("/"):
        import re

        return re.match(_SLASH, start) is not None
    return start.startswith("!") and MCP_SERVER in start and is_own_command(start[1:].strip())


_SLASH = rf"/(?:(?:memory|session)[ \t]+\w|(?:mcp__)?{MCP_SERVER}(?:[.:_-]\S*)?(?=\s|$))"
