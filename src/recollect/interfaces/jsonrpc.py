"""JSON-RPC 2.0, one message a line: split, parse and check what a client sends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from json import JSONDecoder

from ..fast_typing import TYPE_CHECKING, NamedTuple
from ..types.records import Json

if TYPE_CHECKING:
    from typing import BinaryIO

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
RESOURCE_NOT_FOUND = -32002
"""Revisions up to 2025-11-25; later ones use INVALID_PARAMS."""
UNSUPPORTED_VERSION = -32022

LONGEST_LINE = 16 * 1024 * 1024
"""Bytes. A longer message is discarded and answered with an error."""

Id = str | int | None


class RequestError(Exception):
    """An error of the protocol: the request cannot be answered. Errors that a model can correct
    are results of the tool instead."""

    def __init__(self, code: int, message: str, data: Json = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class Call(NamedTuple):
    """A request, or a notification (`id` is None)."""

    id: Id
    method: str
    params: Mapping[str, Json]

    @property
    def meta(self) -> Mapping[str, Json]:
        found = self.params.get("_meta")
        return found if isinstance(found, dict) else {}


class MalformedMessage(NamedTuple):
    """A message that cannot be understood, as the error that answers it."""

    id: Id
    code: int
    message: str


Received = Call | MalformedMessage
Batch = list[Received]


def make_error(id: Id, code: int, message: str, data: Json = None) -> dict[str, Json]:
    """Return the error response to a request."""
    error = {"code": code, "message": message}
    return {"id": id, "error": error if data is None else {**error, "data": data}}


def split_lines(source: BinaryIO) -> Iterator[bytes | None]:
    """Yield the lines that hold a message; None for one that is too long."""
    while line := source.readline(LONGEST_LINE + 1):
        if len(line) > LONGEST_LINE and not line.endswith(b"\n"):
            while (rest := source.readline(1 << 20)) and not rest.endswith(b"\n"):
                pass
            yield None
        elif line.strip():
            yield line


def _refuse_constant(name: str) -> Json:
    raise ValueError(f"{name} is not JSON")


_DECODER = JSONDecoder(parse_constant=_refuse_constant)


def parse_line(line: bytes | None) -> Received | Batch | None:
    """Return the message or batch on a line; None if there is nothing to answer."""
    if line is None:
        return MalformedMessage(
            None, INVALID_REQUEST, f"the message is longer than {LONGEST_LINE >> 20} MB"
        )
    try:
        value: object = _DECODER.decode(line.decode())
    except (ValueError, RecursionError) as error:
        return MalformedMessage(None, PARSE_ERROR, f"the line is not JSON in UTF-8: {error}")
    if isinstance(value, list):
        return [found for item in value if (found := _parse_message(item))]
    return _parse_message(value)


def _parse_message(value: object) -> Received | None:
    """Return a request, a notification or an error; None for a response: we ask nothing."""
    if not isinstance(value, dict):
        return MalformedMessage(None, INVALID_REQUEST, "a message must be an object")
    given, method, params = value.get("id"), value.get("method"), value.get("params")
    id = given if isinstance(given, (str, int)) and not isinstance(given, bool) else None
    if value.get("jsonrpc") != "2.0":
        return MalformedMessage(id, INVALID_REQUEST, 'jsonrpc must be "2.0"')
    if method is None and ("result" in value or "error" in value):
        return None
    if not isinstance(method, str):
        return MalformedMessage(id, INVALID_REQUEST, "method must be a text")
    if "id" in value and id is None:
        return MalformedMessage(None, INVALID_REQUEST, "id must be a text or a whole number")
    if params is not None and not isinstance(params, dict):
        wrong = MalformedMessage(id, INVALID_PARAMS, "params must be an object")
        return wrong if id is not None else None
    return Call(id, method, params or {})
