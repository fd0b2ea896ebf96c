"""Check the arguments of an operation against the function's own signature.

Every operation is called through `bind_operation`, so that none checks types itself; operations
check only the meaning of values. A single text becomes a list where a list is expected. This module
reads `__code__` and `__annotations__`, because importing `inspect` would cost a hook more than all
its other work.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, wraps

from .errors import InvalidInput
from .fast_typing import Any

REQUIRED = object()
"""The default of a parameter that has none."""

_VARIABLE_KEYWORDS = 0x08
_LARGEST = 2**63 - 1
_TYPE_NAMES = {
    "str": "a text",
    "int": "a whole number, 0 or more",
    "float": "a number",
    "bool": "true or false",
    "Sequence[str]": "a list of texts",
    "Mapping": "an object with named values",
}


def bind_operation(function: Any, context: Any) -> Any:
    """Return an operation bound to a context; calling it checks the arguments."""

    @wraps(function)
    def bound(*values: Any, **named: Any) -> Any:
        return function(context, **_checked(function, values, named))

    return bound


def _checked(function: Any, values: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments by name; raise InvalidInput for an invalid one."""
    operation = function.__name__
    positional, required, known = _signature(function)
    if len(values) > len(positional):
        raise InvalidInput(
            f"{operation} takes at most {len(positional)} positional arguments, not {len(values)}",
            where=operation,
            hint=f"pass the others by name: {', '.join(known)}",
        )
    for name in named:
        if name not in known:
            raise _unknown(operation, name, known)
    given = dict(zip(positional, values, strict=False))
    for name in required:
        if name not in given and name not in named:
            raise InvalidInput(f"{name} is missing", where=name)
    twice = given.keys() & named.keys()
    if twice:
        raise InvalidInput(f"{min(twice)} was given twice", where=operation)
    given.update(named)
    for name, value in given.items():
        if isinstance(value, str) and known[name] == ("Sequence[str]",):
            given[name] = (value,)
        elif not any(_has_type(value, type_name) for type_name in known[name]):
            expected = " or ".join(map(_describe_type, known[name]))
            raise InvalidInput(f"{name} must be {expected}, not {_describe(value)}", where=name)
    return given


def _unknown(operation: str, name: str, known: Mapping[str, Any]) -> InvalidInput:
    from difflib import get_close_matches

    near = get_close_matches(name, known, 1)
    return InvalidInput(
        f"{operation} has no field {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""),
        where=operation,
        hint=f"known: {', '.join(known)}",
    )


@cache
def _signature(
    function: Any,
) -> tuple[tuple[str, ...], tuple[str, ...], Mapping[str, tuple[str, ...]]]:
    """Return the positional names, the required names, and the accepted types of each."""
    known = read_parameters(function)
    required = tuple(name for name, (_, default) in known.items() if default is REQUIRED)
    positional = function.__code__.co_varnames[1 : function.__code__.co_argcount]
    # `str | Sequence[str]` has two types.
    types = {name: tuple(annotation.split(" | ")) for name, (annotation, _) in known.items()}
    return positional, required, types


def read_parameters(function: Any) -> dict[str, tuple[str, object]]:
    """Return the annotation and the default of each parameter of an operation, without the
    context; those of keyword fields are None."""
    code = function.__code__
    places = code.co_varnames[1 : code.co_argcount]
    names = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
    given = zip(reversed(places), reversed(function.__defaults__ or ()), strict=False)
    defaults = {**dict(given), **(function.__kwdefaults__ or {})}
    found: dict[str, tuple[str, object]] = {
        name: (_annotation_text(function.__annotations__[name]), defaults.get(name, REQUIRED))
        for name in names
    }
    fields = keyword_fields(function)
    for name, kind in fields.__annotations__.items() if fields else ():
        found[name] = (_annotation_text(kind), None)
    return found


def keyword_fields(function: Any) -> Any:
    """Return the TypedDict of an operation's `**fields: Unpack[…]`; None without one."""
    code = function.__code__
    if not code.co_flags & _VARIABLE_KEYWORDS:
        return None
    name = code.co_varnames[code.co_argcount + code.co_kwonlyargcount]
    fields = function.__annotations__[name].removeprefix("Unpack[").removesuffix("]")
    return function.__globals__[fields]


def _annotation_text(kind: Any) -> str:
    """Return the source text of an annotation, evaluated or not."""
    if isinstance(kind, type) and not hasattr(kind, "__origin__"):
        return kind.__name__
    return str(getattr(kind, "__forward_arg__", kind)).replace("collections.abc.", "")


def _has_type(value: Any, type_name: str) -> bool:
    """Check a value against one type of an annotation; integers must be 0 or more."""
    if type_name == "str":
        return isinstance(value, str)
    if type_name == "bool":
        return isinstance(value, bool)
    if type_name == "int":
        return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LARGEST
    if type_name == "float":
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return is_number and -_LARGEST <= value <= _LARGEST
    if type_name.startswith("Mapping"):
        return isinstance(value, Mapping)
    if type_name.startswith("Sequence["):
        item_type = str if type_name == "Sequence[str]" else Mapping
        is_list = isinstance(value, Sequence) and not isinstance(value, (str, bytes))
        return is_list and all(isinstance(item, item_type) for item in value)
    if type_name == "None":
        return value is None
    name = type_name.rpartition(".")[2]
    return not name.isidentifier() or any(base.__name__ == name for base in type(value).__mro__)


def _describe_type(type_name: str) -> str:
    return _TYPE_NAMES.get("Mapping" if type_name.startswith("Mapping") else type_name, type_name)


def _describe(value: Any) -> str:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return repr(value) if -_LARGEST < value < _LARGEST else "a number beyond 64 bits"
    return f"a {type(value).__name__}" if value is not None else "nothing"
