"""`recollect mcp`: the Model Context Protocol over standard input and output, or over HTTP.

Standard input and output carry JSON-RPC 2.0, one message a line. Both kinds of protocol revisions
are served: up to 2025-11-25 a connection begins with `initialize`; from 2026-07-28 on every request
names its revision in `_meta`, and there is no state.

A thread reads and the main thread answers, in the order of arrival. `ping` and cancellations are
handled by the reader, so they work while a request is being answered. The official SDK is not used
here: a start with it costs 55 bare interpreters, without it 4 (docs/decisions/0010-mcp.md).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from json import dumps
from queue import Queue
from threading import Lock, Thread

from .. import open as open_memory
from ..errors import Unavailable
from ..fast_typing import TYPE_CHECKING
from ..types.records import Json
from . import mcp_requests, mcp_tools
from .commands import Arguments
from .mcp_requests import Batch, Call, Id, MalformedMessage, Received, RequestError, RequestHandlers

if TYPE_CHECKING:
    from typing import BinaryIO

    from ..context import Progress

HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Revisions that begin with `initialize`, oldest first."""
STATELESS_VERSIONS = ("2026-07-28",)
"""Revisions in which every request names its revision."""
_BATCH_VERSION = "2025-03-26"
"""The only revision with batches of messages."""

_META = "io.modelcontextprotocol/"
LOG_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")

_CAPABILITIES = {
    "tools": {"listChanged": False},
    "resources": {"listChanged": False, "subscribe": False},
    "prompts": {"listChanged": False},
}

_LONGEST_QUEUE = 100
"""Messages that are read ahead; the reader waits when there are more."""


def main(given: Arguments, http: bool = False, port: int = 8765, full: bool = False) -> int:
    """Serve the memory over the Model Context Protocol.

    http: serve over HTTP on this machine instead of stdio
    port: the port for HTTP (default 8765)
    full: add the tool memory_operations: every operation

    Example: recollect mcp
    Example: recollect mcp --http --port 8765
    """
    place = _project_path(given.project, os.environ)
    memory = open_memory(
        place, environment=given.variables, incognito=given.incognito, origin="agent"
    )
    handlers = RequestHandlers(memory, full)
    if http:
        from .http import serve_http

        return serve_http(handlers, memory, port)
    if sys.stdin is None or sys.stdout is None:
        raise Unavailable("standard input or output is closed", where="recollect mcp")
    if sys.stdin.isatty():
        print("waiting for an MCP client on standard input", file=sys.stderr)
    StdioServer(handlers, *_claim_streams()).serve()
    return 0


def _project_path(option: str, environment: Mapping[str, str]) -> str | None:
    """Return --project, unless it is an unexpanded `${VAR}`; else CLAUDE_PROJECT_DIR."""
    given = "" if option.startswith("${") else option
    return given or environment.get("CLAUDE_PROJECT_DIR") or None


def _claim_streams() -> tuple[BinaryIO, BinaryIO]:
    """Return standard input and output for the protocol alone.

    From now on printed text goes to standard error, and child processes have no input.
    """
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(2 if sys.stderr else nothing, 1)
    os.close(nothing)
    return source, sink


class _Cancelled(Exception):
    """Ends the work on a request that the client cancelled."""


class StdioServer:
    """One connection: reads messages from `source`, writes answers to `sink`."""

    def __init__(self, handlers: RequestHandlers, source: BinaryIO, sink: BinaryIO) -> None:
        self._handlers = handlers
        self._source, self._sink = source, sink
        self._queue: Queue[Received | Batch | OSError | None] = Queue(_LONGEST_QUEUE)
        self._output_lock, self._request_lock = Lock(), Lock()
        self._open_requests: set[Id] = set()
        """Ids of requests that are not answered yet."""
        self._cancelled: set[Id] = set()
        self._version = ""
        """The revision agreed on by `initialize`; "" before it."""
        self._log_level = len(LOG_LEVELS)
        """The lowest log level to send: none until the client sets one."""

    def serve(self) -> None:
        """Answer until the input ends; requests read before the end are answered."""
        Thread(target=self._read, daemon=True).start()
        while (received := self._queue.get()) is not None:
            if isinstance(received, OSError):
                raise received
            if isinstance(received, list):
                self._answer_batch(received)
            elif answer := self._answer(received):
                self._send(answer)

    # ---------------------------------------------------------------- the reading thread

    def _read(self) -> None:
        try:
            for line in mcp_requests.split_lines(self._source):
                self._receive(line)
        except OSError as error:
            self._queue.put(error)  # the client closed its end: `serve` raises it
        finally:
            self._queue.put(None)

    def _receive(self, line: bytes | None) -> None:
        received = mcp_requests.parse_line(line)
        if received is None:
            return
        if isinstance(received, Call) and received.method == "notifications/cancelled":
            self._cancel(received.params.get("requestId"))
        elif isinstance(received, Call) and received.method == "ping" and not received.meta:
            if received.id is not None:
                self._send({"id": received.id, "result": {}})
        else:
            parts = received if isinstance(received, list) else [received]
            with self._request_lock:
                self._open_requests |= {part.id for part in parts if part.id is not None}
            self._queue.put(received)

    def _cancel(self, id: object) -> None:
        with self._request_lock:
            if isinstance(id, (str, int)) and id in self._open_requests:
                self._cancelled.add(id)

    # ---------------------------------------------------------------- the main thread

    def _send(self, message: Mapping[str, Json] | list[dict[str, Json]]) -> None:
        if isinstance(message, list):
            whole: object = [{"jsonrpc": "2.0", **one} for one in message]
        else:
            whole = {"jsonrpc": "2.0", **message}
        text = dumps(whole, ensure_ascii=False, separators=(",", ":"))
        # A lone surrogate cannot be encoded; as an escape it is the same text in JSON.
        data = text.encode("utf-8", "backslashreplace") + b"\n"
        with self._output_lock:
            self._sink.write(data)
            self._sink.flush()

    def _log(self, level: str, text: str) -> None:
        """Send a log message if the client asked for this level."""
        if LOG_LEVELS.index(level) >= self._log_level:
            params = {"level": level, "logger": "recollect", "data": text}
            self._send({"method": "notifications/message", "params": params})

    def _answer_batch(self, batch: Batch) -> None:
        if self._version != _BATCH_VERSION or not batch:
            wrong = "batches are not part of this protocol revision" if batch else "empty batch"
            self._send(mcp_requests.make_error(None, mcp_requests.INVALID_REQUEST, wrong))
        elif answers := [answer for one in batch if (answer := self._answer(one))]:
            self._send(answers)

    def _answer(self, received: Received) -> dict[str, Json] | None:
        """Return the answer to one message; None for notifications and cancelled requests."""
        answer: dict[str, Json] | None = None
        if isinstance(received, MalformedMessage):
            self._log("warning", f"malformed message: {received.message}")
            answer = mcp_requests.make_error(*received)
        elif received.id is not None and received.id not in self._cancelled:
            answer = self._answer_request(received)
        with self._request_lock:
            cancelled = received.id in self._cancelled
            self._open_requests.discard(received.id)
            self._cancelled.discard(received.id)
        return None if cancelled else answer

    def _answer_request(self, call: Call) -> dict[str, Json] | None:
        stateless = _is_stateless(call)
        try:
            result = self._answer_stateless(call) if stateless else self._answer_in_session(call)
            return {"id": call.id, "result": result}
        except RequestError as error:
            replaced = stateless and error.code == mcp_requests.RESOURCE_NOT_FOUND
            code = mcp_requests.INVALID_PARAMS if replaced else error.code
            return mcp_requests.make_error(call.id, code, error.message, error.data)
        except _Cancelled:
            return None
        except Exception as error:  # noqa: BLE001 - a fault in one request must not end the session
            sys.excepthook(type(error), error, error.__traceback__)
            message = f"internal error: {type(error).__name__}: {error}"
            self._log("error", f"{call.method}: {message}")
            return mcp_requests.make_error(call.id, mcp_requests.INTERNAL_ERROR, message)

    def _answer_in_session(self, call: Call) -> dict[str, Json]:
        """Answer a request of a revision that begins with `initialize`."""
        if call.method == "initialize":
            return self._initialize(call.params)
        if call.method == "ping":
            return {}
        if not self._version and call.method in (*self._handlers.methods, "logging/setLevel"):
            raise RequestError("send initialize first", code=mcp_requests.INVALID_REQUEST)
        if call.method == "logging/setLevel":
            return self._set_log_level(call.params)
        return self._handlers.answer(call.method, call.params, self._progress_sender(call))

    def _initialize(self, params: Mapping[str, Json]) -> dict[str, Json]:
        wanted = params.get("protocolVersion")
        if not isinstance(wanted, str):
            raise RequestError("protocolVersion must be a text")
        self._version = wanted if wanted in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1]
        return {
            "protocolVersion": self._version,
            "capabilities": {**_CAPABILITIES, "logging": {}},
            "serverInfo": mcp_requests.SERVER_INFO,
            "instructions": mcp_tools.INSTRUCTIONS,
        }

    def _set_log_level(self, params: Mapping[str, Json]) -> dict[str, Json]:
        level = params.get("level")
        if level not in LOG_LEVELS:
            raise RequestError(f"level must be one of: {', '.join(LOG_LEVELS)}")
        self._log_level = LOG_LEVELS.index(level)
        return {}

    def _answer_stateless(self, call: Call) -> dict[str, Json]:
        """Answer a request that names its revision itself."""
        for name in ("protocolVersion", "clientCapabilities"):
            if f"{_META}{name}" not in call.meta:
                raise RequestError(f"_meta lacks {_META}{name}")
        wanted = call.meta[f"{_META}protocolVersion"]
        if not isinstance(wanted, str):
            raise RequestError(f"{_META}protocolVersion must be a text")
        if wanted not in STATELESS_VERSIONS:
            versions = {"supported": list(STATELESS_VERSIONS), "requested": wanted}
            raise RequestError(
                "unsupported protocol version", versions, mcp_requests.UNSUPPORTED_VERSION
            )
        result: dict[str, Json]
        if call.method == "server/discover":
            result = {
                "supportedVersions": list(STATELESS_VERSIONS),
                "capabilities": _CAPABILITIES,
                "instructions": mcp_tools.INSTRUCTIONS,
            }
        else:
            sender = self._progress_sender(call)
            result = self._handlers.answer(call.method, call.params, sender)
        if call.method in mcp_requests.CACHE_TTL:
            result |= {"ttlMs": mcp_requests.CACHE_TTL[call.method], "cacheScope": "private"}
        return {
            **result,
            "resultType": "complete",
            "_meta": {f"{_META}serverInfo": mcp_requests.SERVER_INFO},
        }

    def _progress_sender(self, call: Call) -> Callable[[Progress], None]:
        """Return a function that sends progress if the client gave a token for it, and that ends
        the work if the client cancelled the request."""
        token, last = call.meta.get("progressToken"), 0

        def send(progress: Progress) -> None:
            nonlocal last
            if call.id in self._cancelled:
                raise _Cancelled
            if token is not None and progress.done > last:
                last = progress.done
                params = {"progressToken": token, "progress": last, "total": progress.total}
                params["message"] = progress.path
                self._send({"method": "notifications/progress", "params": params})

        return send


def _is_stateless(call: Call) -> bool:
    """Check whether a request belongs to a revision without a handshake."""
    if call.method == "initialize" and "protocolVersion" in call.params:
        return False
    return call.method == "server/discover" or f"{_META}protocolVersion" in call.meta
