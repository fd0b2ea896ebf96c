"""The operations as data: their parameters, defaults and words, read from the methods themselves.

A method's signature is the API. This module projects it, so that commands, tools and routes
cannot drift from it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import InvalidInput
from ..fast_typing import Any, NamedTuple
from ..operation_table import OPERATIONS, load_function
from ..validation import annotation_text, keyword_fields
from .screens.results import terminal_width

REQUIRED = object()


class Parameter(NamedTuple):
    """One parameter: `type` is str, int, float, bool, list (of texts) or json."""

    name: str
    type: str
    default: Any
    help: str

    @property
    def required(self) -> bool:
        return self.default is REQUIRED


class Command(NamedTuple):
    """An operation as every surface shows it."""

    words: str
    name: str
    summary: str
    parameters: tuple[Parameter, ...]
    examples: tuple[str, ...]


def load_command(words: str) -> Command:
    """The operation behind a command's words."""
    row = OPERATIONS[words]
    function = load_function(row)
    summary, helps, examples = _parse_docstring(function.__doc__ or "")
    parameters = _read_parameters(function, helps)
    fields = keyword_fields(function)
    if fields is not None:
        _, helps, _ = _parse_docstring(fields.__doc__ or "")
        parameters += [
            Parameter(field, _parameter_type(annotation_text(kind)), None, helps.get(field, ""))
            for field, kind in fields.__annotations__.items()
        ]
    return Command(words, row.name, summary, tuple(parameters), examples)


def load_summary(words: str) -> str:
    """What an operation does, in one line."""
    return (load_function(OPERATIONS[words]).__doc__ or "").strip().splitlines()[0]


def _read_parameters(function: Any, helps: dict[str, str]) -> list[Parameter]:
    code = function.__code__
    names = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
    defaults = dict(zip(reversed(names), reversed(function.__defaults__ or ()), strict=False))
    defaults.update(function.__kwdefaults__ or {})
    return [
        Parameter(
            name,
            _parameter_type(annotation_text(function.__annotations__[name])),
            defaults.get(name, REQUIRED),
            helps.get(name, ""),
        )
        for name in names
    ]


def _parameter_type(annotation: str) -> str:
    if annotation.startswith(("Sequence[", "tuple[", "list[")):
        return "list"
    for plain in ("bool", "int", "float"):
        if annotation == plain:
            return plain
    return "json" if annotation.startswith("Mapping") else "str"


def _parse_docstring(doc: str) -> tuple[str, dict[str, str], tuple[str, ...]]:
    """Summary, help by parameter, and examples of a docstring."""
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


COMMON_OPTIONS = (
    Parameter("json", "bool", None, "print JSON"),
    Parameter("project", "str", None, "a directory of the project; the current one by default"),
    Parameter("incognito", "bool", None, "nothing is read from or written to disk"),
    Parameter("help", "bool", None, "show this"),
)


FROM_STDIN = ("message", "content", "text")

"""Parameters for which `-` stands for what comes in on standard input."""


def parse_arguments(operation: Command, words: Sequence[str], join: bool = False) -> dict[str, Any]:
    """The values that were given, by parameter; `EVERYWHERE` among them. With `join`, words that
    are too many belong to the only one that is taken by its place."""
    options = {
        flag: item
        for item in (*operation.parameters, *COMMON_OPTIONS)
        for flag in option_flags(item)
    }
    named = positional_parameters(operation)
    values: dict[str, Any] = {}
    loose: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            loose += rest
            break
        if not word.startswith("-") or word == "-" or not _is_flag(word):
            loose.append(word)
            continue
        flag, given, value = word.partition("=")
        parameter = options.get("--help" if flag == "-h" else flag)
        if parameter is None:
            raise _unknown_option(operation, flag, list(options))
        if parameter.type == "bool":
            if given:
                raise _usage_error(operation, f"{flag} takes no value")
            values[parameter.name] = True
            continue
        if not given:
            if not rest:
                raise _usage_error(operation, f"{flag} needs a value")
            value = rest.pop(0)
        _store_value(values, operation, parameter, value)
    if join and len(named) == 1 and loose:
        loose = [" ".join(loose)]
    if len(loose) > len(named):
        extra = loose[len(named)]
        raise _usage_error(
            operation, f"{extra!r} is one word too many: quote what belongs together"
        )
    for parameter, value in zip(named, loose, strict=False):
        _store_value(values, operation, parameter, value)
    missing = [item.name for item in named if item.required and item.name not in values]
    if missing and not values.get("help"):
        raise _usage_error(operation, f"{missing[0]} is missing")
    return values


def positional_parameters(operation: Command) -> list[Parameter]:
    """The parameters whose names need not be said: the required ones, or else the first text."""
    required = [item for item in operation.parameters if item.required]
    return required or [item for item in operation.parameters if item.type == "str"][:1]


def option_flags(parameter: Parameter) -> tuple[str, ...]:
    """How an option may be written; a list also in the singular."""
    # A word of the language (`import_`) has an underscore behind it in Python only.
    flag = "--" + parameter.name.rstrip("_").replace("_", "-")
    if parameter.type == "list" and flag.endswith("s") and not flag.endswith("ss"):
        return (flag, flag[:-1]) if flag != "--status" else (flag,)
    return (flag,)


def _is_flag(word: str) -> bool:
    """`-5` and `-x y` are values; `-h` and `--name` are not."""
    return word == "-h" or (word.startswith("--") and len(word) > 2 and word[2].isalpha())


def _store_value(
    values: dict[str, Any], operation: Command, parameter: Parameter, value: str
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
        said = value if len(value) <= 60 else value[:60] + "…"
        flag = option_flags(parameter)[0]
        raise _usage_error(operation, f"{flag} must be {wanted}, not {said!r}") from error


def _usage_error(operation: Command, message: str) -> InvalidInput:
    command = f"recollect {operation.words}"
    return InvalidInput(message, where=command, hint=f"see: {command} --help")


def _unknown_option(operation: Command, flag: str, known: list[str]) -> InvalidInput:
    from difflib import get_close_matches

    near = get_close_matches(flag, known, 1)
    meant = f"; did you mean {near[0]}?" if near else ""
    return _usage_error(operation, f"there is no option {flag}{meant}")


def render_help(operation: Command) -> str:
    """What `recollect COMMAND --help` prints."""
    required = [item for item in operation.parameters if item.required]
    optional = [item for item in operation.parameters if not item.required]
    places = [item.name.upper() for item in positional_parameters(operation)]
    places = places if required else [f"[{name}]" for name in places]
    usage = " ".join(["recollect", operation.words, *places])
    lines = [f"usage: {usage} [options]", "", operation.summary, ""]
    for item in required:
        piped = item.name in FROM_STDIN and "stdin" not in item.help
        lines += render_entry(item.name.upper(), item.help + ("; - reads stdin" if piped else ""))
    lines += ["", "options:"] if required else ["options:"]
    for item in (*optional, *COMMON_OPTIONS):
        flag = option_flags(item)[-1]
        shown = flag if item.type == "bool" else f"{flag} {flag[2:].upper().replace('-', '_')}"
        lines += render_entry(shown, item.help)
    if operation.examples:
        lines += ["", "examples:", *(f"  {example}" for example in operation.examples)]
    return "\n".join(lines)


def render_entry(name: str, text: str, start: int = 24) -> list[str]:
    """A name and what is said of it, side by side, within the terminal."""
    from textwrap import wrap

    head = f"  {name:<{start}} "
    lines = wrap(text, max(min(terminal_width(), 100) - len(head), 30)) or [""]
    return [head + lines[0], *(" " * len(head) + line for line in lines[1:])]
