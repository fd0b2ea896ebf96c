"""The words after a command: parsed by its operation's parameters, for the shell and for slash
commands alike.

`argparse` would do, but importing and filling it costs a hook more than the search it asks for.
Parameters without a default are taken in order (where all have one, the first text); all others
are options, `--name value` or `--name=value`. Lists are repeated. `--` ends the options.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import InvalidInput
from ..fast_typing import Any
from .schema import Operation, Parameter
from .screens.terminal import columns

EVERYWHERE = (
    Parameter("json", "bool", None, "print JSON"),
    Parameter("project", "str", None, "a directory of the project; the current one by default"),
    Parameter("incognito", "bool", None, "nothing is read from or written to disk"),
    Parameter("help", "bool", None, "show this"),
)


FROM_STDIN = ("message", "content", "text")
"""Parameters for which `-` stands for what comes in on standard input."""


def parse(operation: Operation, words: Sequence[str], join: bool = False) -> dict[str, Any]:
    """The values that were given, by parameter; `EVERYWHERE` among them. With `join`, words that
    are too many belong to the only one that is taken by its place."""
    options = {flag: item for item in (*operation.parameters, *EVERYWHERE) for flag in flags(item)}
    named = by_place(operation)
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
            raise _unknown(operation, flag, list(options))
        if parameter.type == "bool":
            if given:
                raise _wrong(operation, f"{flag} takes no value")
            values[parameter.name] = True
            continue
        if not given:
            if not rest:
                raise _wrong(operation, f"{flag} needs a value")
            value = rest.pop(0)
        _put(values, operation, parameter, value)
    if join and len(named) == 1 and loose:
        loose = [" ".join(loose)]
    if len(loose) > len(named):
        extra = loose[len(named)]
        raise _wrong(operation, f"{extra!r} is one word too many: quote what belongs together")
    for parameter, value in zip(named, loose, strict=False):
        _put(values, operation, parameter, value)
    missing = [item.name for item in named if item.required and item.name not in values]
    if missing and not values.get("help"):
        raise _wrong(operation, f"{missing[0]} is missing")
    return values


def by_place(operation: Operation) -> list[Parameter]:
    """The parameters whose names need not be said: the required ones, or else the first text."""
    required = [item for item in operation.parameters if item.required]
    return required or [item for item in operation.parameters if item.type == "str"][:1]


def flags(parameter: Parameter) -> tuple[str, ...]:
    """How an option may be written; a list also in the singular."""
    # A word of the language (`import_`) has an underscore behind it in Python only.
    flag = "--" + parameter.name.rstrip("_").replace("_", "-")
    if parameter.type == "list" and flag.endswith("s") and not flag.endswith("ss"):
        return (flag, flag[:-1]) if flag != "--status" else (flag,)
    return (flag,)


def _is_flag(word: str) -> bool:
    """`-5` and `-x y` are values; `-h` and `--name` are not."""
    return word == "-h" or (word.startswith("--") and len(word) > 2 and word[2].isalpha())


def _put(values: dict[str, Any], operation: Operation, parameter: Parameter, value: str) -> None:
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
        flag = flags(parameter)[0]
        raise _wrong(operation, f"{flag} must be {wanted}, not {said!r}") from error


def _wrong(operation: Operation, message: str) -> InvalidInput:
    command = f"recollect {operation.words}"
    return InvalidInput(message, where=command, hint=f"see: {command} --help")


def _unknown(operation: Operation, flag: str, known: list[str]) -> InvalidInput:
    from difflib import get_close_matches

    near = get_close_matches(flag, known, 1)
    meant = f"; did you mean {near[0]}?" if near else ""
    return _wrong(operation, f"there is no option {flag}{meant}")


def help_text(operation: Operation) -> str:
    """What `recollect COMMAND --help` prints."""
    required = [item for item in operation.parameters if item.required]
    optional = [item for item in operation.parameters if not item.required]
    places = [item.name.upper() for item in by_place(operation)]
    places = places if required else [f"[{name}]" for name in places]
    usage = " ".join(["recollect", operation.words, *places])
    lines = [f"usage: {usage} [options]", "", operation.summary, ""]
    for item in required:
        piped = item.name in FROM_STDIN and "stdin" not in item.help
        lines += described(item.name.upper(), item.help + ("; - reads stdin" if piped else ""))
    lines += ["", "options:"] if required else ["options:"]
    for item in (*optional, *EVERYWHERE):
        flag = flags(item)[-1]
        shown = flag if item.type == "bool" else f"{flag} {flag[2:].upper().replace('-', '_')}"
        lines += described(shown, item.help)
    if operation.examples:
        lines += ["", "examples:", *(f"  {example}" for example in operation.examples)]
    return "\n".join(lines)


def described(name: str, text: str, start: int = 24) -> list[str]:
    """A name and what is said of it, side by side, within the terminal."""
    from textwrap import wrap

    head = f"  {name:<{start}} "
    lines = wrap(text, max(min(columns(), 100) - len(head), 30)) or [""]
    return [head + lines[0], *(" " * len(head) + line for line in lines[1:])]
