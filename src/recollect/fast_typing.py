"""A faster `NamedTuple`, and the names of `typing` that annotations need.

A hook starts a process for every prompt, and importing `typing` takes a tenth of its time. `typing`
compiles a constructor for every named tuple. A hook defines about forty and instantiates a dozen,
so this module compiles the constructor at the second instance. The result is the same: a tuple
with named fields, defaults and methods. Type checkers see the real `typing`.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
"""Type checkers know this name, wherever it is imported from."""

if TYPE_CHECKING:
    from typing import Any as Any
    from typing import Literal as Literal
    from typing import NamedTuple as NamedTuple
    from typing import Protocol as Protocol
    from typing import TypedDict as TypedDict
    from typing import Unpack as Unpack
    from typing import overload as overload
else:
    Any = Protocol = object
    Literal = Unpack = tuple  # only `__args__` is read

    def overload(declared):
        """Return the declaration, which the definition replaces."""
        return declared

    class TypedDict:
        """Keys with their types; only `__annotations__` is read."""

        def __init_subclass__(cls, total: bool = True) -> None:
            super().__init_subclass__()


if sys.version_info >= (3, 14):
    # From 3.14 on annotations are a function, and not part of the class body.
    from typing import NamedTuple as NamedTuple
elif not TYPE_CHECKING:
    from _collections import _tuplegetter

    def _make_first(cls, /, *values, **named):
        """Make the first instance without a compiled constructor: a hook makes only one instance of
        half of its record classes."""
        cls.__new__ = _compile_new
        rest = cls._fields[len(values) :]
        given = {**cls._field_defaults, **named}
        if len(values) > len(cls._fields) or {*rest} - given.keys() or named.keys() - {*rest}:
            return _compile_new(cls, *values, **named)  # raises the TypeError
        return tuple.__new__(cls, (*values, *map(given.__getitem__, rest)))

    def _compile_new(cls, /, *values, **named):
        """Compile the constructor at the second instance, and call it."""
        names = ", ".join(cls._fields)
        namespace = {"_new": tuple.__new__, "__builtins__": {}}
        # As `collections.namedtuple` does; the names come from a class body.
        made = eval(f"lambda _cls, {names}: _new(_cls, ({names},))", namespace)  # noqa: S307
        made.__defaults__ = tuple(cls._field_defaults.values()) or None
        made.__name__, made.__qualname__ = "__new__", f"{cls.__name__}.__new__"
        cls.__new__ = made
        return made(cls, *values, **named)

    def _make(cls, values):
        """Make an instance from an iterable."""
        made = tuple.__new__(cls, values)
        if len(made) != len(cls._fields):
            raise TypeError(f"Expected {len(cls._fields)} arguments, got {len(made)}")
        return made

    def _replace(self, /, **changes):
        """Return a copy with other values in some fields."""
        made, places = list(self), self._places
        for name, value in changes.items():
            if name not in places:
                raise ValueError(f"Got unexpected field names: {[*changes.keys() - {*places}]!r}")
            made[places[name]] = value
        return tuple.__new__(type(self), made)

    def _asdict(self):
        """Return the values by field name."""
        return dict(zip(self._fields, self, strict=True))

    def _repr(self):
        fields = ", ".join(f"{name}={value!r}" for name, value in self._asdict().items())
        return f"{type(self).__name__}({fields})"

    def _arguments(self):
        """Return the arguments for copying and pickling."""
        return tuple(self)

    class _RecordType(type):
        """Turn a class body into a tuple with named fields."""

        def __new__(cls, name, bases, body):
            if not bases:
                return super().__new__(cls, name, bases, body)
            fields = tuple(body.get("__annotations__", ()))
            defaults = {field: body.pop(field) for field in fields if field in body}
            if tuple(defaults) != fields[len(fields) - len(defaults) :]:
                raise TypeError(f"{name}: a field without a default follows one with a default")
            namespace = {
                "__slots__": (),
                "__new__": _make_first,
                "_make": classmethod(_make),
                "_replace": _replace,
                "_asdict": _asdict,
                "__repr__": _repr,
                "__getnewargs__": _arguments,
                "__match_args__": fields,
                "_fields": fields,
                "_places": {field: place for place, field in enumerate(fields)},
                "_field_defaults": defaults,
                **body,
            }
            for place, field in enumerate(fields):
                namespace[field] = _tuplegetter(place, f"Alias for field number {place}")
            return type(name, (tuple,), namespace)

    class NamedTuple(metaclass=_RecordType):
        """Base class of records."""
