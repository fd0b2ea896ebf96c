"""Slash commands of a chat: `/session trim`, `/memory list`, through the command line's parser."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from ..client import call_operation
from ..errors import InvalidInput
from ..text import display
from . import cli, commands
from .screens.results import show

if TYPE_CHECKING:
    from ..client import Recollect


def run_slash(memory: Recollect, text: str) -> str:
    """Do what a slash command says, with the opened memory; gives the answer as text."""
    words = _split_words(text.strip().removeprefix("/"))
    if told := cli.render_group_help(words):
        return told
    command, rest = cli.find_command(words)
    operation = commands.load_command(command)
    # Nobody quotes what they ask in a chat.
    given = commands.parse_arguments(operation, rest, join=True)
    if given.get("help"):
        return commands.render_help(operation)
    if given.get("project") or given.get("incognito"):
        raise InvalidInput("the memory of a chat is open already", where=f"/{command}")
    values = {item.name: given[item.name] for item in operation.parameters if item.name in given}
    result = call_operation(memory, operation.name, values)
    if given.get("json"):
        return display.format_json(result)
    return show(command, result)


def _split_words(text: str) -> list[str]:
    """The words of a command. Quotes hold together what they enclose, as in a shell; an apostrophe
    is a letter, a backslash too, and so is a quote that nothing closes."""
    lexer = shlex.shlex(re.sub(r"(?<=\w)'(?=\w)", "\0", text), posix=True)
    lexer.whitespace_split, lexer.commenters, lexer.escape = True, "", ""
    try:
        return [word.replace("\0", "'") for word in lexer]
    except ValueError:
        return text.split()
