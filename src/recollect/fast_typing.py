"""`NamedTuple`, made in a tenth of the time, and the names of `typing` that annotations need.

A hook starts a process for every prompt. Importing `typing` takes it a tenth of its time, to say
nothing that it would read. It makes some forty classes of named tuples, of which it uses a dozen:
`typing` writes and compiles a constructor for each; here that is done when the first one is made.
What is made is the same: a tuple with named fields, defaults and methods. Type checkers see what
`typing` has. It does not know what any noun means.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
"""Type checkers know it by its name, wherever it comes from."""

if TYPE_CHECKING:
    from typing import Any as Any
    from typing import NamedTuple as NamedTuple
    from typing import Protocol as Protocol
    from typing import TypedDict as TypedDict
    from typing import Unpack as Unpack
else:
    Any = Protocol = object
    Unpack = tuple  # its argument can be asked for, and that is all it is asked

    class TypedDict:
        """Keys with their types, to be read from `__annotations__`."""

        def __init_subclass__(cls, total: bool = True) -> None:
            super().__init_subclass__()


if sys.version_info >= (3, 14):
    # From 3.14 on annotations are a function, and no part of a class's body.
    from typing import NamedTuple as NamedTuple
elif not TYPE_CHECKING:
    from _collections import _tuplegetter

    def _constructed(cls, /, *values, **named):
        """Makes the first one, and the constructor of all others."""
        names = ", ".join(cls._fields)
        space = {"_new": tuple.__new__, "__builtins__": {}}
        # As `collections.namedtuple` does; the names come from a class's body.
        made = eval(f"lambda _cls, {names}: _new(_cls, ({names},))", space)  # noqa: S307
        made.__defaults__ = tuple(cls._field_defaults.values()) or None
        made.__name__, made.__qualname__ = "__new__", f"{cls.__name__}.__new__"
        cls.__new__ = made
        return made(cls, *values, **named)

    def _make(cls, values):
        """A new one from a sequence or an iterator."""
        made = tuple.__new__(cls, values)
        if len(made) != len(cls._fields):
            raise TypeError(f"Expected {len(cls._fields)} arguments, got {len(made)}")
        return made

    def _replace(self, /, **changes):
        """A new one with other values in some fields."""
        made = tuple.__new__(type(self), map(changes.pop, self._fields, self))
        if changes:
            raise ValueError(f"Got unexpected field names: {list(changes)!r}")
        return made

    def _asdict(self):
        """The values by the names of their fields."""
        return dict(zip(self._fields, self, strict=True))

    def _repr(self):
        told = ", ".join(f"{name}={value!r}" for name, value in self._asdict().items())
        return f"{type(self).__name__}({told})"

    def _arguments(self):
        """For copying and pickling."""
        return tuple(self)

    class _Naming(type):
        """Turns the body of a class into a tuple with names."""

        def __new__(cls, name, bases, body):
            if not bases:
                return super().__new__(cls, name, bases, body)
            fields = tuple(body.get("__annotations__", ()))
            defaults = {field: body.pop(field) for field in fields if field in body}
            if tuple(defaults) != fields[len(fields) - len(defaults) :]:
                raise TypeError(f"{name}: a field without a default follows one with a default")
            space = {
                "__slots__": (),
                "__new__": _constructed,
                "_make": classmethod(_make),
                "_replace": _replace,
                "_asdict": _asdict,
                "__repr__": _repr,
                "__getnewargs__": _arguments,
                "__match_args__": fields,
                "_fields": fields,
                "_field_defaults": defaults,
                **body,
            }
            for place, field in enumerate(fields):
                space[field] = _tuplegetter(place, f"Alias for field number {place}")
            return type(name, (tuple,), space)

    class NamedTuple(metaclass=_Naming):
        """The base of all nouns."""
