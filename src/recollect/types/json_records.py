"""Convert records from JSON and back without losing unknown fields.

A record lists the JSON path of each of its fields. Everything else in the input (unknown fields, an
explicit default, a time in another notation) is kept in `extra` and written back unchanged, unless
the field that it belongs to has changed since.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from ..errors import InvalidInput
from .records import Json

Record = TypeVar("Record")
_ABSENT: Json = object()


class Field(NamedTuple):
    """Map a field to its JSON path (`context.goal`), with its reader and writer.

    `read` raises ValueError for an invalid value.
    """

    name: str
    path: str
    read: Callable[[Json], Any]
    write: Callable[[Any], Json]


def load_record(
    kind: Callable[..., Record], fields: Sequence[Field], given: Json, where: str = ""
) -> Record:
    """Parse a record from a JSON object; InvalidInput names the invalid field."""
    if not isinstance(given, Mapping):
        raise InvalidInput(f"expected a JSON object, found {_named(given)}", where=where)
    rest = _copied(given)
    defaults: Mapping[str, Any] = getattr(kind, "_field_defaults", {})
    values: dict[str, Any] = {}
    for field in fields:
        original = _find(given, field.path, where)
        if original is None or original is _ABSENT:
            continue
        try:
            value = field.read(original)
        except ValueError as error:
            place = f"{where}.{field.path}" if where else field.path
            raise InvalidInput(f"{field.path}: {error}", where=place) from None
        values[field.name] = value
        # Keep an explicit default in `extra`: nothing else would write it back.
        if value == defaults.get(field.name):
            continue
        is_plain = value is original and field.write is _unchanged
        if is_plain or _same(field.write(value), original):
            _remove(rest, field.path)
    return kind(**values, extra=rest)


def dump_record(record: Any, fields: Sequence[Field]) -> dict[str, Json]:
    """Return the record as JSON, in the notation it was read from."""
    body = _copied(record.extra)
    for field in fields:
        value = getattr(record, field.name)
        default = record._field_defaults.get(field.name)
        original = _find(body, field.path)
        if original is not _ABSENT:
            if value == (default if original is None else field.read(original)):
                continue
            _remove(body, field.path)
        if value != default:
            _put(body, field.path, field.write(value))
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


# ---------------------------------------------------------------- fields
# Each takes the name of the field, and its JSON path if that is another one.


def _make_field(
    read: Callable[[Json], Any], write: Callable[[Any], Json] | None = None
) -> Callable[..., Field]:
    def make(name: str, path: str = "") -> Field:
        return Field(name, path or name, read, write or _unchanged)

    return make


text_field = _make_field(read_text)
texts_field = _make_field(_read_texts, list)
number_field = _make_field(_make_reader("a number", int, float))
integer_field = _make_field(_make_reader("a whole number", int))
boolean_field = _make_field(_make_reader("true or false", bool))
time_field = _make_field(read_time, write_time)
json_field = _make_field(_unchanged)


def choice_field(name: str, words: Sequence[str]) -> Field:
    """Make a field whose value is one of these words."""

    def read(value: Json) -> str:
        if read_text(value) not in words:
            raise ValueError(f"{value!r} is not one of {', '.join(words)}")
        return str(value)

    return Field(name, name, read, _unchanged)


def records_field(
    name: str, kind: Callable[..., Any], fields: Sequence[Field], path: str = ""
) -> Field:
    """Make a field whose value is a list of records of another kind."""
    place = path or name
    return Field(
        name,
        place,
        lambda value: tuple(load_record(kind, fields, item, place) for item in _read_list(value)),
        lambda records: [dump_record(record, fields) for record in records],
    )
