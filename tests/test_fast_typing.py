"""Our named tuples behave as those of `typing` do, and are made only when they are needed."""

from __future__ import annotations

import copy
import pickle
import typing
from collections.abc import Callable
from typing import Any

import pytest

from recollect import fast_typing

Fields: dict[str, Any] = {"a": int, "b": str, "c": "list[int]"}


def made_by(base: Any, name: str = "Noun") -> Any:
    def told(self: Any) -> str:
        return f"{self.a} {self.b}"

    body = {
        "__module__": __name__,
        "__qualname__": name,
        "__doc__": "A noun.",
        "__annotations__": dict(Fields),
        "b": "x",
        "c": (1, 2),
        "told": property(told),
    }
    making: Any = type(base)
    return making(name, (base,), body) if base is fast_typing.NamedTuple else _typed(name, body)


def _typed(name: str, body: dict[str, Any]) -> Any:
    return typing.NamedTupleMeta(name, (typing._NamedTuple,), body)  # type: ignore[attr-defined]


Noun = made_by(fast_typing.NamedTuple)
Other = made_by(typing.NamedTuple, "Noun")

ACTS: dict[str, Callable[[Any], Any]] = {
    "by place": lambda kind: tuple(kind(1, "y", ())),
    "by name": lambda kind: tuple(kind(a=1, c=3)),
    "too few": lambda kind: kind(),
    "too many": lambda kind: kind(1, 2, 3, 4),
    "unknown name": lambda kind: kind(1, d=2),
    "twice": lambda kind: kind(1, a=2),
    "fields": lambda kind: (kind._fields, kind._field_defaults, kind.__match_args__, kind.__doc__),
    "make": lambda kind: tuple(kind._make([1, 2, 3])),
    "make too few": lambda kind: kind._make([1]),
    "replace": lambda kind: tuple(kind(1)._replace(b="z")),
    "replace unknown": lambda kind: kind(1)._replace(d=1),
    "as dict": lambda kind: kind(1)._asdict(),
    "shown": lambda kind: repr(kind(1, "q")),
    "property": lambda kind: kind(1).told,
    "equal to a tuple": lambda kind: (kind(1) == (1, "x", (1, 2)), hash(kind(1)), kind(1) < (2,)),
    "unpacked": lambda kind: [*kind(1)],
    "fixed": lambda kind: setattr(kind(1), "a", 2),
    "no new field": lambda kind: setattr(kind(1), "z", 2),
    "copied": lambda kind: tuple(copy.deepcopy(kind(1, [2]))),
}


def outcome(act: Callable[[Any], Any], kind: Any) -> Any:
    try:
        return act(kind)
    except (TypeError, ValueError, AttributeError) as error:
        return type(error)


@pytest.mark.parametrize("act", ACTS)
def test_a_noun_does_what_a_named_tuple_does(act: str) -> None:
    fresh = made_by(fast_typing.NamedTuple)
    assert outcome(ACTS[act], fresh) == outcome(ACTS[act], Other)
    assert outcome(ACTS[act], fresh) == outcome(ACTS[act], Other), "and with its own constructor"


def test_a_noun_is_matched_and_pickled() -> None:
    match Noun(1, "y"):
        case Noun(a, b, c=last):
            assert (a, b, last) == (1, "y", (1, 2))
        case _:
            pytest.fail("it was not matched")
    assert pickle.loads(pickle.dumps(Noun(5))) == Noun(5)  # noqa: S301


def test_a_default_in_the_middle_is_refused() -> None:
    with pytest.raises(TypeError, match="without a default"):

        class Wrong(fast_typing.NamedTuple):
            a: int = 1
            b: str  # type: ignore[misc]
