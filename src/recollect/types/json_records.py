"""Convert records from JSON and back without losing unknown fields.

A format lists the fields of a record whose JSON path or type is not that of the field itself.
Everything else in the input (unknown fields, an explicit default, a time in another notation) is
kept in `extra` and written back unchanged, unless the field that it belongs to has changed since.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from ..errors import InvalidInput
from .records import Json

Record = TypeVar("Record")
_ABSENT: Json = object()


class Value(NamedTuple):
    """The JSON form of a field: its reader, its writer, and its path (`context.goal`), by default
    the name of the field.

    `read` raises ValueError for an invalid value.
    """

    read: Callable[[Json], Any]
    write: Callable[[Any], Json]
    path: str = ""


class RecordFormat(Generic[Record]):
    """The JSON form of a kind of record. A field is a text, a list of texts, a whole number, a
    number or a truth value, as its default is.

    values: by field, the path or the value where it is another one; None for a field that is not
        in the JSON
    """

    def __init__(self, kind: Callable[..., Record], **values: str | Value | None) -> None:
        self._kind, self._name = kind, kind.__name__.lower()
        self._defaults: Mapping[str, Any] = kind._field_defaults  # type: ignore[attr-defined]
        self._values: dict[str, Value] = {}
        for field, default in self._defaults.items():
            value = None if field == "extra" else values.get(field, "")
            if isinstance(value, str):
                value = Value(*_BY_TYPE[type(default)], value)
            if value:
                self._values[field] = value._replace(path=value.path or field)

    def load(self, given: Json, where: str = "", leave_out: str = "") -> Record:
        """Parse a record from a JSON object; InvalidInput names the invalid field.

        leave_out: a field that is not read
        """
        where = where or self._name
        if not isinstance(given, Mapping):
            raise InvalidInput(f"expected a JSON object, found {_named(given)}", where=where)
        rest = _copied(given)
        found: dict[str, Any] = {}
        for field, (read, write, path) in self._values.items():
            original = None if field == leave_out else _find(given, path, where)
            if original is None or original is _ABSENT:
                continue
            try:
                value = read(original)
            except ValueError as error:
                raise InvalidInput(f"{path}: {error}", where=f"{where}.{path}") from None
            found[field] = value
            # Keep an explicit default in `extra`: nothing else would write it back.
            if value == self._defaults[field]:
                continue
            is_plain = value is original and write is _unchanged
            if is_plain or _same(write(value), original):
                _remove(rest, path)
        return self._kind(**found, extra=rest)

    def dump(self, record: Any) -> dict[str, Json]:
        """Return the record as JSON, in the notation it was read from."""
        body = _copied(record.extra)
        for field, (read, write, path) in self._values.items():
            value, default = getattr(record, field), self._defaults[field]
            original = _find(body, path)
            if original is not _ABSENT:
                if value == (default if original is None else read(original)):
                    continue
                _remove(body, path)
            if value != default:
                _put(body, path, write(value))
        return body


def _same(written: Json, original: Json) -> bool:
    """Compare as JSON: `1`, `1.0` and `true` are equal in Python only."""
    if type(written) is type(original) and type(written) in (str, int):
        return bool(written == original)
    return json.dumps(written, sort_keys=True) == json.dumps(original, sort_keys=True)


def _copied(given: Mapping[str, Json]) -> dict[str, Json]:
    """Copy two levels deep: paths have at most two parts."""
    return {
        key: dict(value) if isinstance(value, Mapping) else value for key, value in given.items()
    }


def _find(body: Mapping[str, Json], path: str, where: str = "") -> Json:
    if "." not in path:
        return body.get(path, _ABSENT)
    outer, _, inner = path.partition(".")
    value = body.get(outer, _ABSENT)
    if value is _ABSENT:
        return value
    if value is None:
        return _ABSENT
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{outer}: expected an object, found {_named(value)}", where=where)
    return value.get(inner, _ABSENT)


def _put(body: dict[str, Json], path: str, value: Json) -> None:
    outer, _, inner = path.partition(".")
    if inner:
        body[outer] = {**(body.get(outer) or {}), inner: value}
    else:
        body[outer] = value


def _remove(body: dict[str, Json], path: str) -> None:
    outer, _, inner = path.partition(".")
    if not inner:
        body.pop(outer, None)
    elif isinstance(body.get(outer), dict) and inner in body[outer]:
        del body[outer][inner]
        if not body[outer]:
            del body[outer]


def _named(value: Json) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false"}
    return names.get(type(value), "nothing" if value is None else "a number")


# ---------------------------------------------------------------- values


def _unchanged(value: Any) -> Json:
    return value


def _make_reader(wanted: str, *types: type) -> Callable[[Json], Any]:
    """Return a function that returns a value of these types; ValueError for anything else."""

    def read(value: Json) -> Json:
        if type(value) not in types:
            raise ValueError(f"expected {wanted}, found {_named(value)}")
        return value

    return read


read_text = _make_reader("a text", str)
_read_list = _make_reader("a list", list)
_read_number = _make_reader("a number", int, float)


def _read_texts(value: Json) -> tuple[str, ...]:
    return tuple(read_text(item) for item in _read_list(value))


def read_time(value: Json) -> int:
    """Return the microseconds since 1970 of an ISO time; without a zone it is UTC."""
    from datetime import UTC, datetime, timedelta

    try:
        when = datetime.fromisoformat(read_text(value))
    except ValueError:
        raise ValueError(f"{value!r} is not a time such as 2026-01-06T10:30:00Z") from None
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return (when - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def write_time(at: int) -> str:
    """Return an ISO time in UTC, without an empty fraction."""
    from datetime import UTC, datetime, timedelta

    when = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at)
    return when.isoformat().replace("+00:00", "Z")


_BY_TYPE: Mapping[type, tuple[Callable[[Json], Any], Callable[[Any], Json]]] = {
    str: (read_text, _unchanged),
    tuple: (_read_texts, list),
    bool: (_make_reader("true or false", bool), _unchanged),
    int: (_make_reader("a whole number", int), _unchanged),
    float: (_read_number, _unchanged),
}


def time_value(path: str = "") -> Value:
    """Return the value of a field whose microseconds are an ISO time."""
    return Value(read_time, write_time, path)


def number_value() -> Value:
    """Return the value of a field that is any number although its default is a whole one."""
    return Value(_read_number, _unchanged)


def choice_value(words: Sequence[str]) -> Value:
    """Return the value of a field that is one of these words."""

    def read(value: Json) -> str:
        if read_text(value) not in words:
            raise ValueError(f"{value!r} is not one of {', '.join(words)}")
        return str(value)

    return Value(read, _unchanged)


def records_value(form: RecordFormat[Any], path: str) -> Value:
    """Return the value of a field that is a list of records."""
    return Value(
        lambda value: tuple(form.load(item, path) for item in _read_list(value)),
        lambda records: [form.dump(record) for record in records],
        path,
    )
