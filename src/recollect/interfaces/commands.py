"""Commands: their parameters and help, read from functions, and the argument parser.

Parameters and help come from the signature and docstring of an operation, so command line, slash
commands, MCP tools and docs cannot differ from it. Commands that are not operations are functions
too: their first parameter is `Arguments` instead of the context.

`argparse` is not used: importing and filling it costs more than a recall. Parameters without a
default are positional (if all have one, the first text); all others are options, `--name value` or
`--name=value`. Lists are repeated. `--` ends the options.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from ..errors import InvalidInput
from ..fast_typing import NamedTuple
from ..operation_table import OPERATIONS, Operation, load_function
from ..types.records import Json
from ..validation import REQUIRED, keyword_fields, read_parameters
from .screens import style

OTHER_COMMANDS: Mapping[str, Operation] = {
    words: Operation(name, words, f"interfaces.{module}", function)
    for name, words, module, function in (
        ("memories.edit", "edit", "screens.terminal", "edit_memory"),
        ("config.edit", "config edit", "screens.terminal", "edit_settings"),
        ("demo", "demo", "demo", "run_demo"),
        ("config.completion", "completion", "completion", "print_script"),
        ("agents.hook", "hook", "hooks", "main"),
        ("agents.mcp", "mcp", "mcp", "main"),
        ("help", "help", "cli", "show_help"),
    )
}
"""Commands that are not operations."""

COMMANDS: Mapping[str, Operation] = {**OPERATIONS, **OTHER_COMMANDS}

FROM_STDIN = ("message", "content", "text")
"""Parameters for which `-` reads standard input."""

SHORT_FLAGS = {
    "-k": "kind",
    "-t": "tags",
    "-n": "limit",
    "-s": "scope",
    "-j": "json",
    "-C": "project",
    "-h": "help",
}
"""Short forms of options. In a command without such an option the word is text."""

_WORD_LISTS = {"import": "path", "init": "agent", "scope": "scope"}
"""Commands with a list of words that can be given without its name."""

_FREE_TEXT = (*FROM_STDIN, "query", "goal", "title", "fact", "pattern", "solution", "error")
"""Parameters that take all remaining words when they come last."""


class Parameter(NamedTuple):
    """One parameter: `type` is str, int, float, bool, list (of texts) or json."""

    name: str
    type: str
    default: object
    help: str

    @property
    def required(self) -> bool:
        return self.default is REQUIRED


class Command(NamedTuple):
    """A command: its words, dotted name, summary, parameters and examples."""

    words: str
    name: str
    summary: str
    parameters: tuple[Parameter, ...]
    examples: tuple[str, ...]


class Arguments(NamedTuple):
    """Parsed arguments: the values by parameter, and the options that all commands share."""

    values: dict[str, object]
    json: bool = False
    project: str = ""
    incognito: bool = False
    no_ltm: bool = False
    help: bool = False

    @property
    def variables(self) -> dict[str, str]:
        """Return the environment, with the mode of --no-ltm unless it is incognito already."""
        sets_mode = self.no_ltm and os.environ.get("RECOLLECT_MODE") != "incognito"
        return {**os.environ, **({"RECOLLECT_MODE": "no-ltm"} if sets_mode else {})}


COMMON_OPTIONS = (
    Parameter("json", "bool", None, "print JSON"),
    Parameter("project", "str", None, "a directory of the project, if not the current one"),
    Parameter("incognito", "bool", None, "read and write nothing on disk"),
    Parameter("no_ltm", "bool", None, "put no long-term memory in front of a model"),
    Parameter("help", "bool", None, "show this help"),
)


def load_command(words: str) -> Command:
    """Return the command with these words."""
    row = COMMANDS[words]
    function = load_function(row)
    summary, helps, examples = _parse_docstring(function.__doc__ or "")
    if fields := keyword_fields(function):
        helps |= _parse_docstring(fields.__doc__ or "")[1]
    parameters = (
        Parameter(name, _parameter_type(annotation), default, helps.get(name, ""))
        for name, (annotation, default) in read_parameters(function).items()
    )
    return Command(words, row.name, summary, tuple(parameters), examples)


def load_summary(words: str) -> str:
    """Return the first line of the docstring of a command's function."""
    return (load_function(COMMANDS[words]).__doc__ or "").strip().splitlines()[0]


def _parameter_type(annotation: str) -> str:
    if annotation.endswith(" | str"):
        return "str"  # in Python an object, on the command line the name of its file
    if annotation.startswith(("Sequence[", "tuple[", "list[")):
        return "list"
    for plain in ("bool", "int", "float"):
        if annotation == plain:
            return plain
    return "json" if annotation.startswith("Mapping") else "str"


def _parse_docstring(doc: str) -> tuple[str, dict[str, str], tuple[str, ...]]:
    """Return summary, help by parameter, and examples of a docstring."""
    lines = [line.strip() for line in doc.strip().splitlines()]
    helps: dict[str, str] = {}
    examples: list[str] = []
    last = ""
    for line in lines[1:]:
        name, colon, help = line.partition(": ")
        if line.startswith("Example: "):
            examples.append(line.removeprefix("Example: "))
            last = ""
        elif colon and name.isidentifier() and name.islower():
            last = name
            helps[last] = help
        elif line and last:
            helps[last] += " " + line
        else:
            last = ""
    return (lines[0] if lines else ""), helps, tuple(examples)


# ---------------------------------------------------------------- arguments


def parse_arguments(command: Command, words: Sequence[str], join: bool = False) -> Arguments:
    """Parse the words after a command.

    Extra words are joined to a free text that comes last; with `join`, to any sole positional
    parameter.
    """
    options = command_options(command)
    positional = positional_parameters(command)
    values: dict[str, Json] = {}
    loose: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            loose += rest
            break
        if not _is_flag(word) and _split_short(word, options)[0] not in options:
            loose.append(word)
            continue
        flag, given, value = word.partition("=") if _is_flag(word) else _split_short(word, options)
        parameter = options.get(flag)
        if parameter is None:
            raise _unknown_option(command, flag, list(options))
        if parameter.type == "bool":
            if given:
                raise _usage_error(command, f"{flag} takes no value")
            values[parameter.name] = True
            continue
        if not given:
            if not rest:
                raise _usage_error(command, f"{flag} needs a value")
            value = rest.pop(0)
        _store_value(values, command, parameter, value)
    _store_positional(values, command, positional, _join_words(positional, loose, join))
    common = {item.name: values.pop(item.name) for item in COMMON_OPTIONS if item.name in values}
    missing = [item.name for item in positional if item.required and item.name not in values]
    if missing and not common.get("help"):
        raise _usage_error(command, f"missing argument {missing[0].upper()}")
    return Arguments(values, **common)


def _join_words(positional: list[Parameter], words: list[str], join: bool) -> list[str]:
    """Join the extra words to the last positional parameter if it takes free text."""
    last = len(positional) - 1
    if last < 0 or len(words) <= last + 1:
        return words
    if positional[last].name in _FREE_TEXT or (join and last == 0):
        return [*words[:last], " ".join(words[last:])]
    return words


def _store_positional(
    values: dict[str, Json], command: Command, positional: list[Parameter], words: list[str]
) -> None:
    if positional and _takes_words(command, positional[-1]):
        positional = [*positional, *positional[-1:] * (len(words) - len(positional))]
    if len(words) > len(positional):
        raise _usage_error(command, f"unexpected argument {words[len(positional)]!r}")
    for parameter, value in zip(positional, words, strict=False):
        _store_value(values, command, parameter, value)


def positional_parameters(command: Command) -> list[Parameter]:
    """Return the parameters that are given without a name: the required ones, else the one that
    takes several words, else the first text."""
    required = [item for item in command.parameters if item.required]
    several = [item for item in command.parameters if _takes_words(command, item)]
    if required or several:
        return required + several
    return [item for item in command.parameters if item.type == "str"][:1]


def _takes_words(command: Command, parameter: Parameter) -> bool:
    """Check for a list that can be given without its name: `init claude-code codex`,
    `import a.jsonl b.jsonl` and `scope ID 'src/**'`."""
    return parameter.type == "list" and parameter.name == _WORD_LISTS.get(command.words)


def option_flags(parameter: Parameter) -> tuple[str, ...]:
    """Return the spellings of an option; a list also has the singular."""
    # A Python keyword (`import_`) has a trailing underscore only in Python.
    flag = "--" + parameter.name.rstrip("_").replace("_", "-")
    if parameter.type == "list" and flag.endswith("s") and not flag.endswith("ss"):
        return (flag, flag[:-1]) if flag != "--status" else (flag,)
    return (flag,)


def command_options(command: Command) -> dict[str, Parameter]:
    """Return the options of a command by their spellings, long and short."""
    every = (*command.parameters, *COMMON_OPTIONS)
    options = {flag: item for item in every for flag in option_flags(item)}
    for short, name in SHORT_FLAGS.items():
        if item := next((one for one in every if one.name == name and not one.required), None):
            options[short] = item
    return options


def _is_flag(word: str) -> bool:
    """Check for `--name`; `-5` is a value, and short options are looked up."""
    return word.startswith("--") and len(word) > 2 and word[2].isalpha()


def _split_short(word: str, options: Mapping[str, Parameter]) -> tuple[str, str, str]:
    """Split `-n5` into `-n` and `5`; other words are one piece."""
    if word[2:].isdecimal() and word[:2] in options:
        return word[:2], "=", word[2:]
    return word, "", ""


def _store_value(
    values: dict[str, Json], command: Command, parameter: Parameter, value: str
) -> None:
    name, type = parameter.name, parameter.type
    try:
        if type == "list":
            values.setdefault(name, []).append(value)
        elif type == "int":
            values[name] = int(value)
        elif type == "float":
            values[name] = float(value)
        elif type == "json":
            from json import loads

            values[name] = loads(value)
            if not isinstance(values[name], dict):
                raise ValueError(value)
        else:
            values[name] = value
    except (ValueError, RecursionError) as error:
        wanted = {"int": "a whole number", "float": "a number"}.get(type, "a JSON object")
        shown = value if len(value) <= 60 else value[:60] + "…"
        flag = option_flags(parameter)[0]
        raise _usage_error(command, f"{flag} must be {wanted}, not {shown!r}") from error


def _usage_error(command: Command, message: str) -> InvalidInput:
    words = f"recollect {command.words}"
    return InvalidInput(message, where=words, hint=f"see: {words} --help")


def _unknown_option(command: Command, flag: str, known: list[str]) -> InvalidInput:
    from difflib import get_close_matches

    # Without the dashes, which all options share.
    near = get_close_matches(flag[2:], [one[2:] for one in known if _is_flag(one)], 1)
    meant = f"; did you mean --{near[0]}?" if near else ""
    error = _usage_error(command, f"unknown option {flag}{meant}")
    if [item.name for item in positional_parameters(command)][:1] == ["query"]:
        error.hint += f"; to search for it: recollect {command.words} -- {flag}"
    return error


# ---------------------------------------------------------------- help


def render_usage(command: Command) -> str:
    """Return a command with its positional parameters, such as `scope ID [SCOPE…]`."""
    places = []
    for item in positional_parameters(command):
        more = "…" if _takes_words(command, item) else ""
        places.append(item.name.upper() if item.required else f"[{item.name.upper()}{more}]")
    return " ".join([command.words, *places])


def render_option(parameter: Parameter) -> str:
    """Return an option as it is typed, such as `-k, --kind KIND`."""
    flag = option_flags(parameter)[-1]
    place = "DIR" if parameter.name == "project" else flag[2:].upper().replace("-", "_")
    short = next((f"{one}, " for one, name in SHORT_FLAGS.items() if name == parameter.name), "")
    return f"{short}{flag}" if parameter.type == "bool" else f"{short}{flag} {place}"


def render_help(command: Command) -> str:
    """Return the text of `recollect COMMAND --help`."""
    required = [item for item in command.parameters if item.required]
    optional = [item for item in command.parameters if not item.required]
    usage = f"usage: recollect {render_usage(command)} [options]"
    lines = [usage, "", *style.fill(command.summary), ""]
    for item in required:
        piped = item.name in FROM_STDIN and "stdin" not in item.help
        about = item.help + ("; - reads stdin" if piped else "")
        lines += style.render_entry(item.name.upper(), about)
    lines += [*([""] if required else []), style.paint("title", "options:")]
    for item in (*optional, *COMMON_OPTIONS):
        lines += style.render_entry(render_option(item), item.help)
    if command.examples:
        lines += ["", style.paint("title", "examples:")]
        lines += [f"  {style.paint('id', example)}" for example in command.examples]
    return "\n".join(lines)
