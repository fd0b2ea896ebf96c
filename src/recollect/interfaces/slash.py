"""Slash commands of a chat, such as `/session trim`, parsed like the command line."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from ..client import call_operation
from ..errors import InvalidInput
from ..operation_table import OPERATIONS
from ..text import display
from . import commands, manual
from .screens.results import show

if TYPE_CHECKING:
    from ..client import Recollect


def run_slash(memory: Recollect, text: str) -> str:
    """Run a slash command on an open memory and return the answer as text."""
    words = _split_words(text.strip().removeprefix("/"))
    if text := manual.render_group_help(words):
        return text
    name, rest = manual.find_command(words)
    if name not in OPERATIONS:
        raise manual.unknown_command(words)
    command = commands.load_command(name)
    # Chat users do not quote.
    given = commands.parse_arguments(command, rest, join=True)
    if given.help:
        return commands.render_help(command)
    if given.project or given.incognito:
        raise InvalidInput("--project and --incognito have no effect in a chat", where=f"/{name}")
    result: object = call_operation(memory, command.name, given.values)
    return display.format_json(result) if given.json else show(name, result)


def _split_words(text: str) -> list[str]:
    """Split a command at spaces outside of quotes.

    Unlike in a shell, an apostrophe in a word, a backslash and an unclosed quote are plain text.
    """
    lexer = shlex.shlex(re.sub(r"(?<=\w)'(?=\w)", "\0", text), posix=True)
    lexer.whitespace_split, lexer.commenters, lexer.escape = True, "", ""
    try:
        return [word.replace("\0", "'") for word in lexer]
    except ValueError:
        return text.split()
