"""The operations as data: their parameters, defaults and words, read from the methods themselves.

A method's signature is the API. This module projects it, so that commands, tools and routes
cannot drift from it.
"""

from __future__ import annotations

from ..fast_typing import Any, NamedTuple
from ..operation_table import OPERATIONS, load_function
from ..validation import annotation_text, fields_of

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


class Operation(NamedTuple):
    """An operation as every surface shows it."""

    words: str
    name: str
    summary: str
    parameters: tuple[Parameter, ...]
    examples: tuple[str, ...]


def operation(words: str) -> Operation:
    """The operation behind a command's words."""
    row = OPERATIONS[words]
    function = load_function(row)
    summary, helps, examples = _documented(function.__doc__ or "")
    parameters = _named(function, helps)
    fields = fields_of(function)
    if fields is not None:
        _, helps, _ = _documented(fields.__doc__ or "")
        parameters += [
            Parameter(field, _type(annotation_text(kind)), None, helps.get(field, ""))
            for field, kind in fields.__annotations__.items()
        ]
    return Operation(words, row.name, summary, tuple(parameters), examples)


def summary(words: str) -> str:
    """What an operation does, in one line."""
    return (load_function(OPERATIONS[words]).__doc__ or "").strip().splitlines()[0]


def _named(function: Any, helps: dict[str, str]) -> list[Parameter]:
    code = function.__code__
    names = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
    defaults = dict(zip(reversed(names), reversed(function.__defaults__ or ()), strict=False))
    defaults.update(function.__kwdefaults__ or {})
    return [
        Parameter(
            name,
            _type(annotation_text(function.__annotations__[name])),
            defaults.get(name, REQUIRED),
            helps.get(name, ""),
        )
        for name in names
    ]


def _type(annotation: str) -> str:
    if annotation.startswith(("Sequence[", "tuple[", "list[")):
        return "list"
    for plain in ("bool", "int", "float"):
        if annotation == plain:
            return plain
    return "json" if annotation.startswith("Mapping") else "str"


def _documented(doc: str) -> tuple[str, dict[str, str], tuple[str, ...]]:
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
