"""The command line: words to an operation, its result to text or JSON, an error to a status.

Whatever a command does not need is not imported.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper

from ..errors import EXIT_STATUS, InvalidInput, RecollectError, Refused
from ..fast_typing import Any
from ..operation_table import GROUPS, OPERATIONS, SHORT_COMMANDS
from ..text import display
from . import commands
from .screens.results import can_redraw, terminal_width

_OTHER_COMMANDS = {
    "demo": "See what it does, in a minute.",
    "hook": "What agents run when something happens; `init` tells them to.",
    "mcp": "Serve the memory to an agent over the Model Context Protocol.",
}
"""Commands that are not operations."""

_OTHER_COMMAND_GROUPS = {"Start": ("demo",), "Agents": ("hook", "mcp")}


def main(words: Sequence[str] | None = None) -> int:
    """Run one command; gives the exit status."""
    words = list(sys.argv[1:] if words is None else words)
    as_json = "--json" in words
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # What an encoding cannot say is shown as an escape; bytes that are no text as `�`.
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
            print(file=sys.stderr)  # what was on its way ends its line
        return 130
    except BrokenPipeError:
        # The reader went away (`| head`): nothing is wrong, and nobody is left to tell.
        _discard_output()
        return 0
    except (OSError, UnicodeError) as error:
        # Of the machine, not of the memory: no current directory, a full disk, a path that is no
        # text. Standard output may be what is broken.
        _discard_output()
        _print_error(_convert_system_error(error), as_json=False)
        return EXIT_STATUS["error"]


def _decode_argument(word: str) -> str:
    """Return an argument as text; bytes that the locale could not decode come in as surrogates."""
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
                hint="give it in UTF-8, or pass the text on standard input with -",
            ) from None


def _convert_system_error(error: OSError | UnicodeError) -> RecollectError:
    if isinstance(error, UnicodeError):
        return RecollectError("a name or path is not UTF-8", where=ascii(os.getcwd()))
    if isinstance(error, FileNotFoundError) and not error.filename:
        return RecollectError("the current directory does not exist any more")
    where = os.fsdecode(error.filename) if error.filename else "standard output"
    return RecollectError(error.strerror or str(error), where=where)


def _discard_output() -> None:
    """Nothing can be written any more, so that ending must not try to."""
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
    if told := render_group_help(words):
        print(told)
        return 0
    command, rest = find_command(words)
    operation = commands.load_command(command)
    given = commands.parse_arguments(operation, rest, join=words[0] == "memory")
    if given.get("help"):
        print(commands.render_help(operation))
        return 0
    if command == "init" and not as_json:
        from .screens.agents import run_init

        result = run_init(given, lambda more: run_command(operation, {**given, **more}))
    else:
        result = run_command(operation, given)
    if as_json:
        print(display.format_json(result))
    else:
        from .screens.results import show

        print(show(command, result))
    return 0 if getattr(result, "ok", True) else 1


def find_command(words: list[str]) -> tuple[str, list[str]]:
    """The command that the words begin with, and the rest of them.

    Options that hold for every command may stand before it."""
    rest: list[str] = []
    while words and words[0].startswith("--"):
        taken = 2 if words[0] == "--project" else 1
        rest += words[:taken]
        words = words[taken:]
    if words[:1] == ["memory"]:
        words = _expand_chat_alias(words[1:])
    for length in (2, 1):
        command = " ".join(words[:length])
        command = SHORT_COMMANDS.get(command, command)
        if len(words) >= length and command in OPERATIONS:
            return command, rest + words[length:]
    raise _unknown_command(words)


_CHAT_ALIASES = {
    "search": "recall",
    "view": "briefing",
    "enqueue": "consolidate",
    "rebuild": "consolidate",
    "reset": "clear",
}
"""What chats call some commands: `/memory search`."""
_CHAT_COMMANDS = (
    "list",
    *_CHAT_ALIASES,
    "clear",
    "show",
    "stats",
    "prune",
    "confirm",
    "capture list",
)


def _expand_chat_alias(words: list[str]) -> list[str]:
    """What `/memory …` means: a command without its first word, mostly."""
    said = words[0] if words else ""
    if not said:
        raise InvalidInput(
            "memory needs one more word",
            where="memory",
            hint=f"such as: {', '.join(_CHAT_COMMANDS)}",
        )
    return [_CHAT_ALIASES.get(said, said), *words[1:]]


def render_group_help(words: list[str]) -> str:
    """What `session --help`, `session help` and `memory --help` show; "" if it is not asked for."""
    if len(words) != 2 or words[1] not in ("--help", "-h", "help"):
        return ""
    name = words[0]
    meant = {
        f"{name} {said}": _CHAT_ALIASES.get(said, said)
        for said in _CHAT_COMMANDS
        if name == "memory"
    }
    known = meant or {one: one for one in OPERATIONS if one.startswith(name + " ")}
    if name in OPERATIONS or not known:
        return ""
    lines = [f"usage: recollect {name} WORD …", ""]
    for said, command in known.items():
        lines += commands.render_entry(said, commands.load_summary(command), start=20)
    lines += ["", "any other command means itself"] if meant else []
    return "\n".join([*lines, "", f"recollect help {next(iter(known.values()))} tells of one"])


_SUGGESTIONS = {
    "forget": "hide",
    "remove": "hide",
    "add": "learn",
    "find": "recall",
    "undo": "capture undo",
    "status": "doctor",
    "export": "session export",
}
"""Words that people try first, and that look like another command or like none."""


def _unknown_command(words: list[str]) -> InvalidInput:
    group = [name for name in OPERATIONS if words and name.startswith(words[0] + " ")]
    said = " ".join(words[:2]) if group else " ".join(words[:1])
    if group and len(words) == 1:
        return InvalidInput(
            f"{said} needs one more word", where="recollect", hint=f"one of: {', '.join(group)}"
        )
    from difflib import get_close_matches

    known = group or [*OPERATIONS, *SHORT_COMMANDS, *_OTHER_COMMANDS, "help"]
    near = (
        [_SUGGESTIONS[said]]
        if said in _SUGGESTIONS
        else get_close_matches(" ".join(words[:2]), known, 1, 0.8)
    )
    near = near or get_close_matches(said, known, 1)
    meant = f"; did you mean {near[0]!r}?" if near else ""
    return InvalidInput(
        f"there is no command {said!r}{meant}" if said else "no command was given",
        where="recollect",
        hint=f"one of: {', '.join(group)}" if group else "see: recollect --help",
    )


def run_command(operation: commands.Command, given: dict[str, Any]) -> Any:
    """Open the memory and do it, in the name of whoever gave the command."""
    from ..client import Recollect, call_operation
    from ..opening import open_context
    from .origin import identify_caller

    by = identify_caller(os.environ)
    names = [parameter.name for parameter in operation.parameters]
    values = {name: _read_value(name, given[name]) for name in names if name in given}
    place = given.get("project")
    context = open_context(place, dict(os.environ), given.get("incognito", False), by.origin)
    with Recollect(context) as memory:
        if can_redraw(sys.stderr):
            context.progress = show_progress
        try:
            return call_operation(memory, operation.name, values)
        except Refused as error:
            if by.sign:
                counted = f"this counts as an agent's command: {by.sign}"
                error.hint = "\n".join(filter(None, (error.hint, counted)))
            raise


def show_progress(progress: Any) -> None:
    """One line that is written over and over while a long work goes on."""
    part = 100 * progress.done // max(progress.total, 1)
    several = f"{progress.number} of {progress.of}  " if getattr(progress, "of", 1) > 1 else ""
    new = f"{progress.messages} new  " if progress.messages else ""
    start = f"{several}{part:>3} %  {new}"
    room = max(terminal_width() - len(start) - 1, 10)
    path = display.format_line(progress.path)
    # The end of a path says more than its beginning.
    shown = path if len(path) <= room else "…" + path[1 - room :]
    last = part >= 100
    print(f"\r\033[K{start}{shown}", end="\r\033[K" if last else "", file=sys.stderr, flush=True)


def _read_value(name: str, value: Any) -> Any:
    if value == "-" and name in commands.FROM_STDIN:
        if not sys.stdin:
            raise InvalidInput("there is no standard input to read from", where=name)
        value = sys.stdin.read()
    if name == "message" and value.lstrip().startswith("{"):
        from json import loads

        try:
            return loads(value)
        except (ValueError, RecursionError) as error:
            raise InvalidInput(
                f"the message begins like JSON but is not valid JSON: {error}",
                where="message",
                hint="To record a text that begins with {, put it into a message: "
                '{"role": "user", "content": "{…"}',
            ) from error
    return value


def _print_error(error: RecollectError, as_json: bool) -> None:
    if as_json:
        print(display.format_json({"error": error.as_json()}))
    else:
        print(f"recollect: {display.escape_invisible(str(error))}", file=sys.stderr)


def render_overview(first: bool = False) -> str:
    """What `recollect --help` prints; of that, what comes `first` to who says no more."""
    lines = ["recollect: the memory that coding agents share"]
    for title, rows in GROUPS[:2] if first else GROUPS:
        lines += ["", title]
        for name in (*_OTHER_COMMAND_GROUPS.get(title, ()), *(row.words for row in rows)):
            about = _OTHER_COMMANDS.get(name) or commands.load_summary(name)
            lines += commands.render_entry(name, about, start=20)
    lines += ["", "Each command has --help with examples, --json, --project PATH and --incognito."]
    if first:
        lines.append("recollect --help lists all of them.")
    return "\n".join(lines)
