"""The command line: find the command, run its operation, print the result, return a status.

Modules are imported where they are needed: every command starts a process.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper

from ..errors import EXIT_STATUS, InvalidInput, RecollectError, Refused
from ..fast_typing import TYPE_CHECKING
from ..operation_table import GROUPS, OPERATIONS, SHORT_COMMANDS
from ..text import display
from . import commands
from .screens.results import can_redraw, terminal_width

if TYPE_CHECKING:
    from ..archive.steps_files import FileProgress
    from ..context import Progress

_OTHER_COMMANDS = {
    "demo": "Replay two recorded agent sessions and show what memory adds.",
    "hook": "Answer an event of an agent; `init` registers this command.",
    "mcp": "Serve the memory over the Model Context Protocol.",
}
"""Commands that are not operations."""

_OTHER_COMMAND_GROUPS = {"Start": ("demo",), "Agents": ("hook", "mcp")}


def main(words: Sequence[str] | None = None) -> int:
    """Run one command and return the exit status."""
    words = list(sys.argv[1:] if words is None else words)
    as_json = "--json" in words
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # Unencodable output is escaped; undecodable input becomes `�`.
            stream.reconfigure(errors="replace" if stream is sys.stdin else "backslashreplace")
    try:
        try:
            status = _run([_decode_argument(word) for word in words], as_json)
        except RecollectError as error:
            _print_error(error, as_json)
            status = EXIT_STATUS[error.code]
        if sys.stdout:
            sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        if sys.stderr and sys.stderr.isatty():
            print(file=sys.stderr)  # end the progress line
        return 130
    except BrokenPipeError:
        # The reader closed the pipe (`| head`): no error.
        _discard_output()
        return 0
    except (OSError, UnicodeError) as error:
        # A problem of the system: no current directory, a full disk, a path that is not text.
        # Standard output itself may be broken.
        _discard_output()
        _print_error(_convert_system_error(error), as_json=False)
        return EXIT_STATUS["error"]


def _decode_argument(word: str) -> str:
    """Return an argument as text; Python passes undecodable bytes as surrogates."""
    try:
        word.encode()
        return word
    except UnicodeEncodeError:
        try:
            return os.fsencode(word).decode()
        except UnicodeError:
            raise InvalidInput(
                f"the argument {word!a} is not UTF-8",
                where="recollect",
                hint="use UTF-8, or pass the text on standard input with -",
            ) from None


def _convert_system_error(error: OSError | UnicodeError) -> RecollectError:
    if isinstance(error, UnicodeError):
        return RecollectError("a name or path is not UTF-8", where=ascii(os.getcwd()))
    if isinstance(error, FileNotFoundError) and not error.filename:
        return RecollectError("the current directory does not exist any more")
    where = os.fsdecode(error.filename) if error.filename else "standard output"
    return RecollectError(error.strerror or str(error), where=where)


def _discard_output() -> None:
    """Redirect standard output to /dev/null, so that flushing at exit cannot fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _run(words: list[str], as_json: bool) -> int:
    if words[:1] == ["help"]:
        words = [*words[1:], "--help"]
    if not words or words[0] in ("-h", "--help"):
        print(render_overview(first=not words))
        return 0
    if words[0] in ("--version", "-V", "version"):
        from ..version import __version__

        print(f"recollect {__version__}")
        return 0
    if words[0] == "demo":
        from .demo import run_demo

        return run_demo(words[1:])
    if words[0] == "mcp":
        from .mcp import main as serve

        return serve(words[1:])
    if words[0] == "hook":
        from .hooks import main as answer

        return answer(words[1:])
    if help := render_group_help(words):
        print(help)
        return 0
    name, rest = find_command(words)
    command = commands.load_command(name)
    given = commands.parse_arguments(command, rest, join=words[0] == "memory")
    if given.help:
        print(commands.render_help(command))
        return 0
    result: object
    if name == "review" and not as_json and _review(given):
        return 0
    if name in ("init", "import") and not as_json:
        from .screens.agents import run_import, run_init

        ask = run_init if name == "init" else run_import
        result = ask(
            given.values,
            lambda more: run_command(command, given._replace(values={**given.values, **more})),
        )
    else:
        result = run_command(command, given)
    if as_json:
        print(display.format_json(result))
    else:
        from .screens.results import show

        print(show(name, result))
    return 0 if getattr(result, "ok", True) else 1


def _review(given: commands.Arguments) -> bool:
    """Run the review at a terminal; return False when no person is there to answer."""
    from typing import cast

    from .origin import identify_caller
    from .screens import review_terminal

    by = identify_caller(os.environ)
    if by.origin != "user" or not review_terminal.is_attended():
        return False
    from ..client import Recollect
    from ..opening import open_context

    context = open_context(given.project, dict(os.environ), given.incognito, by.origin)
    names = review_terminal.ReviewFilters.__annotations__
    chosen = {name: given.values[name] for name in names if name in given.values}
    with Recollect(context) as memory:
        review_terminal.converse(memory, cast("review_terminal.ReviewFilters", chosen))
    return True


def find_command(words: list[str]) -> tuple[str, list[str]]:
    """Return the command at the start of the words, and the words after it.

    Options that all commands share may come before it.
    """
    rest: list[str] = []
    while words and words[0].startswith("--"):
        taken = 2 if words[0] == "--project" else 1
        rest += words[:taken]
        words = words[taken:]
    if words[:1] == ["memory"] and " ".join(words[:2]) not in OPERATIONS:
        words = _expand_chat_alias(words[1:])
    for length in (2, 1):
        command = " ".join(words[:length])
        command = SHORT_COMMANDS.get(command, command)
        if len(words) >= length and command in OPERATIONS:
            if command == "review" and _gives_answer(words[1:3]):
                command = "review answer"  # `review ID keep`
            return command, rest + words[length:]
    raise _unknown_command(words)


def _gives_answer(words: list[str]) -> bool:
    return len(words) == 2 and not any(word.startswith("-") for word in words)


_CHAT_ALIASES = {
    "search": "recall",
}
"""Names of commands in chats: `/memory search`."""
_CHAT_COMMANDS = (
    "list",
    *_CHAT_ALIASES,
    "show",
    "stats",
    "prune",
    "confirm",
    "capture list",
)


def _expand_chat_alias(words: list[str]) -> list[str]:
    """Return the words of a `/memory …` command without `memory`, chat names replaced."""
    name = words[0] if words else ""
    if not name:
        raise InvalidInput(
            "memory needs a subcommand",
            where="memory",
            hint=f"such as: {', '.join(_CHAT_COMMANDS)}",
        )
    return [_CHAT_ALIASES.get(name, name), *words[1:]]


def render_group_help(words: list[str]) -> str:
    """Return the help of a group (`session --help`, `memory help`); "" for other words."""
    if len(words) != 2 or words[1] not in ("--help", "-h", "help"):
        return ""
    name = words[0]
    aliases = {
        f"{name} {alias}": _CHAT_ALIASES.get(alias, alias)
        for alias in _CHAT_COMMANDS
        if name == "memory"
    }
    known = {one: one for one in OPERATIONS if one.startswith(name + " ")} | aliases
    if name in OPERATIONS or not known:
        return ""
    lines = [f"usage: recollect {name} SUBCOMMAND …", ""]
    for shown, command in known.items():
        lines += commands.render_entry(shown, commands.load_summary(command), start=20)
    lines += ["", "All other commands work here too."] if aliases else []
    return "\n".join([*lines, "", f"Help for one: recollect help {next(iter(known.values()))}"])


_SUGGESTIONS = {
    "forget": "hide",
    "remove": "hide",
    "add": "learn",
    "find": "recall",
    "undo": "capture undo",
    "status": "doctor",
    "export": "session export",
}
"""Commands to suggest for words that are not similar to them."""


def _unknown_command(words: list[str]) -> InvalidInput:
    group = [name for name in OPERATIONS if words and name.startswith(words[0] + " ")]
    given = " ".join(words[:2]) if group else " ".join(words[:1])
    if group and len(words) == 1:
        return InvalidInput(
            f"{given} needs a subcommand", where="recollect", hint=f"one of: {', '.join(group)}"
        )
    from difflib import get_close_matches

    known = group or [*OPERATIONS, *SHORT_COMMANDS, *_OTHER_COMMANDS, "help"]
    near = (
        [_SUGGESTIONS[given]]
        if given in _SUGGESTIONS
        else get_close_matches(" ".join(words[:2]), known, 1, 0.8)
    )
    near = near or get_close_matches(given, known, 1)
    meant = f"; did you mean {near[0]!r}?" if near else ""
    return InvalidInput(
        f"unknown command {given!r}{meant}" if given else "missing command",
        where="recollect",
        hint=f"one of: {', '.join(group)}" if group else "see: recollect --help",
    )


def run_command(command: commands.Command, given: commands.Arguments) -> object:
    """Open the memory and run a command with the origin of its caller."""
    from ..client import Recollect, call_operation
    from ..opening import open_context
    from .origin import identify_caller

    by = identify_caller(os.environ)
    values = {name: _read_value(name, value) for name, value in given.values.items()}
    context = open_context(given.project or None, dict(os.environ), given.incognito, by.origin)
    with Recollect(context) as memory:
        if can_redraw(sys.stderr):
            context.progress = show_progress
        try:
            result: object = call_operation(memory, command.name, values)
            return result
        except Refused as error:
            if by.sign:
                reason = f"this command counts as an agent's: {by.sign}"
                error.hint = "\n".join(filter(None, (error.hint, reason)))
            raise


def show_progress(progress: Progress | FileProgress) -> None:
    """Print progress on one line, overwriting the last one."""
    part = 100 * progress.done // max(progress.total, 1)
    number, of = getattr(progress, "number", 1), getattr(progress, "of", 1)
    several = f"{number} of {of}  " if of > 1 else ""
    new = f"{progress.messages} new  " if progress.messages else ""
    start = f"{several}{part:>3} %  {new}"
    room = max(terminal_width() - len(start) - 1, 10)
    path = display.format_line(progress.path)
    # The end of a path is the informative part.
    shown = path if len(path) <= room else "…" + path[1 - room :]
    last = part >= 100
    print(f"\r\033[K{start}{shown}", end="\r\033[K" if last else "", file=sys.stderr, flush=True)


def _read_value(name: str, value: object) -> object:
    """Return a value, read from standard input for `-`, decoded if it is a JSON message."""
    if value == "-" and name in commands.FROM_STDIN:
        if not sys.stdin:
            raise InvalidInput("standard input is closed", where=name)
        value = sys.stdin.read()
    if name == "message" and isinstance(value, str) and value.lstrip().startswith("{"):
        from json import loads

        try:
            message: object = loads(value)
            return message
        except (ValueError, RecursionError) as error:
            raise InvalidInput(
                f"the message begins with {{ but is not valid JSON: {error}",
                where="message",
                hint="To record a text that begins with {, wrap it in a message: "
                '{"role": "user", "content": "{…"}',
            ) from error
    return value


def _print_error(error: RecollectError, as_json: bool) -> None:
    if as_json:
        print(display.format_json({"error": error.as_json()}))
    else:
        print(f"recollect: {display.escape_invisible(str(error))}", file=sys.stderr)


def render_overview(first: bool = False) -> str:
    """Return the text of `recollect --help`; with `first`, only the first groups."""
    lines = ["recollect: the memory that coding agents share"]
    for title, rows in GROUPS[:2] if first else GROUPS:
        lines += ["", title]
        for name in (*_OTHER_COMMAND_GROUPS.get(title, ()), *(row.words for row in rows)):
            about = _OTHER_COMMANDS.get(name) or commands.load_summary(name)
            lines += commands.render_entry(name, about, start=20)
    lines += ["", "All commands have --help with examples, --json, --project PATH, --incognito."]
    if first:
        lines.append("recollect --help lists all commands.")
    return "\n".join(lines)
