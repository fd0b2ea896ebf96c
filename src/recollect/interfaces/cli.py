"""The command line: find the command, run its operation, print the result, return a status.

Modules are imported where they are needed: every command starts a process.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Sequence
from io import TextIOWrapper

from ..errors import EXIT_STATUS, InvalidInput, RecollectError, Refused
from ..fast_typing import TYPE_CHECKING
from ..operation_table import load_function
from ..text import display
from ..types.records import Learned
from . import commands, manual
from .screens import style, terminal

if TYPE_CHECKING:
    from ..context import Context
    from .origin import Caller


def main(words: Sequence[str] | None = None) -> int:
    """Run one command and return the exit status."""
    words = list(sys.argv[1:] if words is None else words)
    as_json = "--json" in words or "-j" in words
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # Unencodable output is escaped; undecodable input becomes `�`.
            stream.reconfigure(errors="replace" if stream is sys.stdin else "backslashreplace")
    style.use_page(style.measure_page(sys.stdout))
    try:
        try:
            status = _run([_decode_argument(word) for word in words])
        except RecollectError as error:
            _print_error(error, as_json)
            status = EXIT_STATUS[error.code]
        if sys.stdout:
            sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        _print_interrupted(words)
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


def _print_interrupted(words: Sequence[str]) -> None:
    """Print a message after Ctrl-C: what was saved, and how to continue."""
    if not sys.stderr:
        return
    from .screens.terminal import KEPT

    kept = KEPT.get(" ".join(words[:2])) or KEPT.get(words[0] if words else "", "")
    start = "\r\033[K" if style.can_redraw(sys.stderr) else "\n"
    print(f"{start}stopped. {kept}".rstrip(), file=sys.stderr)


def _run(words: list[str]) -> int:
    words = words or ["status"]
    first = words[0]
    if first in ("-h", "--help", "help"):
        return show_help(words[1:])
    if first in ("--version", "-V", "version"):
        from ..version import __version__

        as_json = f'{{"version": "{__version__}"}}'
        print(as_json if "--json" in words else f"recollect {__version__}")
        return 0
    if first == "hook":
        from .hooks import main as run_hook

        return run_hook(words[1:])
    if first == "__complete":
        from .completion import print_candidates

        return print_candidates(words[1:])
    asks_help = not {"-h", "--help", "help", "--version", "-V"}.isdisjoint(words)
    if asks_help and (text := manual.render_group_help(words)):
        style.print_page(style.finish(text))
        return 0
    name, rest = manual.find_command(words)
    command = commands.load_command(name)
    given = commands.parse_arguments(command, rest, join=words[0] == "memory")
    if given.help:
        style.print_page(style.finish(commands.render_help(command)))
        return 0
    if name in commands.OTHER_COMMANDS:
        status: int = load_function(commands.COMMANDS[name])(given, **given.values)
        return status
    if not given.json and _run_dialogue(name, given):
        return 0
    result = _run_with_questions(command, given) if not given.json else run_command(command, given)
    if given.json:
        print(display.format_json(result))
    else:
        from .screens.results import show

        changed = name in _CHANGES and getattr(result, "applied", True)
        style.print_page(show(name, result), paged=not changed)
    return 0 if getattr(result, "ok", True) else 1


_CHANGES = frozenset(
    {
        *("init", "import", "plugin", "learn-many", "prune", "clear", "consolidate", "undo"),
        *("episode build", "episode load", "procedure load", "pattern load", "session import"),
        *("forget", "retract", "scrub", "recover", "rebuild", "adopt", "export", "load", "migrate"),
    }
)
"""Commands that print a summary of their changes, which needs no pager."""


def show_help(words: list[str]) -> int:
    """Show the everyday commands; --all shows all, --man the manual page."""
    if words[:1] == ["--man"]:
        from ..version import __version__

        print(manual.render_manual(__version__), end="")
        return 0
    if not words or words[0].startswith("-"):
        is_all = words[:1] in (["--all"], ["-a"])
        style.print_page(style.finish(manual.render_all() if is_all else manual.render_overview()))
        return 0
    return _run([*words, "--help"])


# ---------------------------------------------------------------- running a command


def _run_dialogue(name: str, given: commands.Arguments) -> bool:
    """Run a command that is a dialogue at a terminal; return False if the caller is no person."""
    if name not in ("review", "seen"):
        return False
    from .origin import identify_caller
    from .screens import terminal

    caller = identify_caller(os.environ)
    if caller.sign and sys.stderr:
        note = f"you cannot answer here: {caller.explain()}"
        print(style.wrap_long(note), file=sys.stderr)
    if caller.origin != "user" or not terminal.is_attended():
        return False
    from typing import cast

    from .origin import open_as_caller
    from .screens import overview, review

    with open_as_caller(given)[0] as memory:
        if name == "seen":
            return overview.converse_seen(memory, str(given.values.get("session", "")))
        review.converse(memory, cast("review.ReviewFilters", given.values))
    return True


def _run_with_questions(command: commands.Command, given: commands.Arguments) -> object:
    """Run a command; `init`, `import`, `undo` and `retract` ask a person first."""
    if command.words not in ("init", "import", "undo", "retract"):
        return run_command(command, given)
    from .screens import agents, imports, results

    ask: dict[str, Callable[..., object]] = {
        "init": agents.run_init,
        "import": imports.run_import,
        "undo": results.run_undo,
        "retract": results.run_retract,
    }
    return ask[command.words](
        given.values,
        lambda more: run_command(command, given._replace(values={**given.values, **more})),
    )


def run_command(command: commands.Command, given: commands.Arguments) -> object:
    """Open the memory and run a command with the origin of its caller."""
    from ..client import call_operation
    from .origin import open_as_caller

    values = {name: _read_value(name, value) for name, value in given.values.items()}
    if command.words == "learn" and given.values.get("text") == "-":
        _refuse_json_lines(str(values["text"]))
    opened, caller = open_as_caller(given)
    context = opened.context
    detected = _detect_kind(command.words, values) if caller.origin == "user" else ""
    if command.words in ("import", "init", "learn-many") and not given.incognito:
        from .hooks import start_catching_up

        context.start_background = lambda root: start_catching_up(root, given.variables)
    with opened as memory:
        line = None
        if style.can_redraw(sys.stderr):
            from .screens.terminal import ProgressLine

            line = ProgressLine()
            context.progress = line.show
        try:
            result: object = call_operation(memory, command.name, values)
        except Refused as error:
            if caller.sign:
                error.hint = "\n".join(filter(None, (error.hint, caller.explain())))
            raise
        finally:
            if line:
                line.clear()
        if isinstance(result, Learned):
            result = result._replace(notes=(*result.notes, *_make_notes(result, detected, caller)))
        _prepare_page(context, command.words, values, result)
        if context.settings.mode == "incognito" and sys.stderr:
            print("incognito: nothing was read from disk, and nothing is kept", file=sys.stderr)
        return result


def _refuse_json_lines(text: str) -> None:
    """Refuse statements as JSON lines: they would be saved as one text."""
    from json import loads

    try:
        first = loads(text.strip().partition("\n")[0])
    except (ValueError, RecursionError):
        return
    if isinstance(first, dict) and "text" in first:
        raise InvalidInput(
            "the input is JSON lines, not a text; nothing was saved",
            where="text",
            hint="save one memory for each line: recollect learn-many -",
        )


def _detect_kind(command: str, values: dict[str, object]) -> str:
    """Set the kind of a typed statement by its words, as capture does; return it, or ""."""
    if command != "learn" or "kind" in values:
        return ""
    from ..capture import sentences

    kinds = [one.kind for one in sentences.capture(str(values["text"]))]
    kind = next((one for one in ("policy", "preference", "decision") if one in kinds), "")
    if kind:
        values["kind"] = kind
    return kind


def _make_notes(learned: Learned, detected: str, caller: Caller) -> list[str]:
    """Return notes on how the kind was chosen, and why a typed statement is only proposed."""
    if detected and learned.action != "skipped":
        other = "Another kind: recollect undo, then learn … -k KIND"
        return [f"saved as a {detected}, by its words. {other}"]
    return [caller.explain()] if caller.sign and learned.memory.status == "proposed" else []


_ID = r"\bm-[0-9a-hjkmnp-tv-z]{12}\b"
_MOST_SHORTENED = 400


def _prepare_page(context: Context, name: str, values: dict[str, object], result: object) -> None:
    """Set the data that screens need beside the result: the arguments, short ids."""
    page = style.page()._replace(
        query=str(values.get("query", "")), whole="limit" in values, given=values
    )
    if page.is_terminal and not name.startswith(("scratch", "session", "notes", "export")):
        from ..maintenance.operations_overview import shorten_ids

        ids = list(dict.fromkeys(re.findall(_ID, repr(result))))[:_MOST_SHORTENED]
        page = page._replace(short=shorten_ids(context, ids) if ids else {})
    style.use_page(page)


def _read_value(name: str, value: object) -> object:
    """Return a value, read from standard input for `-`, decoded if it is a JSON message."""
    if value == "-" and name in commands.FROM_STDIN:
        value = terminal.read_stdin(name)
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
        return
    lines = display.escape_invisible(str(error)).splitlines()
    text = "\n".join([f"recollect: {lines[0]}", *lines[1:]])
    if sys.stderr and sys.stderr.isatty():
        text = style.wrap_long(text)
    print(text, file=sys.stderr)
