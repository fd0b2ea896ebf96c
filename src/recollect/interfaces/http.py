"""MCP over HTTP: on the loopback address only, with a bearer token.

The SDK checks Host and Origin. Every request also needs the token from a file in the user's
directory, because any process on the machine can reach a port.
"""

from __future__ import annotations

import os
import sys
from asyncio import TimerHandle, Transport
from collections.abc import Awaitable, Callable, Mapping
from hmac import compare_digest
from socket import create_server, socket
from typing import TypeVar, get_args

from ..client import Recollect
from ..errors import InvalidInput, Unavailable, missing_extra
from ..project import make_folder, user_directory, write_once
from ..types.records import Json
from . import mcp_requests, mcp_tools
from .mcp_requests import RequestError, RequestHandlers

try:
    import anyio.to_thread
    import mcp_types as types
    import uvicorn
    from mcp import MCPError
    from mcp.server.caching import CacheableMethod, CacheHint
    from mcp.server.lowlevel import Server
    from mcp.server.transport_security import TransportSecuritySettings
    from starlette.types import ASGIApp, Receive, Scope, Send
    from uvicorn.protocols.http.h11_impl import H11Protocol
except ModuleNotFoundError as error:
    raise missing_extra("http", "recollect mcp --http") from error

Result = TypeVar("Result", bound=types.Result)
Handler = Callable[[object, types.RequestParams | None], Awaitable[Result]]

PATH = "/mcp"
REQUEST_TIMEOUT = 30.0
"""Seconds in which a request must arrive completely, counted from the connection or from the last
answer. All clients are on this machine."""
_HERE = "127.0.0.1"
_REFUSAL_HEADERS = [(b"www-authenticate", b"Bearer"), (b"content-type", b"text/plain")]
_CHECKED_HEADERS = {b"host": 421, b"origin": 403}


def make_server(handlers: RequestHandlers) -> Server[dict[str, Json]]:
    """Return the SDK's server with our answers. Operations are synchronous and run in threads."""

    def answer(method: str, kind: type[Result]) -> Handler[Result]:
        async def inner(context: object, params: types.RequestParams | None) -> Result:
            given = params.model_dump(by_alias=True, exclude_unset=True) if params else {}
            try:
                done = await anyio.to_thread.run_sync(handlers.answer, method, given)
            except RequestError as error:
                not_found = error.code == mcp_requests.RESOURCE_NOT_FOUND
                code = mcp_requests.INVALID_PARAMS if not_found else error.code
                raise MCPError(code, error.message, error.data) from error
            return kind.model_validate(done)

        return inner

    methods: tuple[CacheableMethod, ...] = get_args(CacheableMethod)
    about, ttl = mcp_requests.SERVER_INFO, mcp_requests.CACHE_TTL
    hints = {name: CacheHint(ttl_ms=ttl[name], scope="private") for name in methods}
    return Server(
        about["name"],
        version=about["version"],
        title=about["title"],
        instructions=mcp_tools.INSTRUCTIONS,
        cache_hints=hints,
        on_list_tools=answer("tools/list", types.ListToolsResult),
        on_call_tool=answer("tools/call", types.CallToolResult),
        on_list_resources=answer("resources/list", types.ListResourcesResult),
        on_list_resource_templates=answer(
            "resources/templates/list", types.ListResourceTemplatesResult
        ),
        on_read_resource=answer("resources/read", types.ReadResourceResult),
        on_list_prompts=answer("prompts/list", types.ListPromptsResult),
        on_get_prompt=answer("prompts/get", types.GetPromptResult),
    )


def make_application(server: Server[dict[str, Json]], token: str) -> ASGIApp:
    """Return the server as an ASGI application that refuses requests without the token."""
    names = (_HERE, "localhost", "[::1]")
    allowed = TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=[f"{name}:*" for name in names],
        allowed_origins=[f"http://{name}:*" for name in names],
    )
    inner = server.streamable_http_app(streamable_http_path=PATH, transport_security=allowed)

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        status, why = _find_refusal(scope, token) if scope["type"] == "http" else (0, b"")
        if status:
            start = {"type": "http.response.start", "status": status, "headers": _REFUSAL_HEADERS}
            await send(start)
            await send({"type": "http.response.body", "body": why})
            return
        await inner(scope, receive, send)

    return guarded


def _find_refusal(scope: Scope, token: str) -> tuple[int, bytes]:
    """Return status and reason to refuse a request; 0 if it is allowed."""
    if not _is_allowed(scope, token):
        return 401, b"missing or wrong bearer token\n"
    for name, value in scope["headers"]:
        # The SDK compares prefixes: `localhost:1.evil.example` is not this machine.
        if name in _CHECKED_HEADERS and not value.rpartition(b":")[2].isdigit():
            return _CHECKED_HEADERS[name], b"not this machine\n"
    return 0, b""


def _is_allowed(scope: Scope, token: str) -> bool:
    given = [value for name, value in scope["headers"] if name == b"authorization"]
    if len(given) != 1:
        return False
    scheme, _, sent = given[0].partition(b" ")
    return scheme.lower() == b"bearer" and compare_digest(sent, token.encode())


class TimedProtocol(H11Protocol):
    """Closes connections that do not send a complete request in time, which uvicorn keeps open.

    Answers have no time limit.
    """

    _deadline: TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start_timer()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._stop_timer_for_whole_request()

    def on_response_complete(self) -> None:
        self._start_timer()
        super().on_response_complete()  # begins with the next request if it is there already
        self._stop_timer_for_whole_request()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def _start_timer(self) -> None:
        self._stop_timer()
        self._deadline = self.loop.call_later(REQUEST_TIMEOUT, self.transport.abort)

    def _stop_timer_for_whole_request(self) -> None:
        current = self.cycle
        if current is not None and not (current.more_body or current.response_complete):
            self._stop_timer()

    def _stop_timer(self) -> None:
        if self._deadline:
            self._deadline.cancel()


def configure(application: ASGIApp) -> uvicorn.Config:
    """Return the settings of the web server."""
    return uvicorn.Config(application, http=TimedProtocol, ws="none", log_level="warning")


def serve_http(handlers: RequestHandlers, memory: Recollect, port: int) -> int:
    """Serve on the loopback address until interrupted."""
    token, path = load_token(memory.context.environment)
    listening = _open_port(port)
    print(f"http://{_HERE}:{port}{PATH} (bearer token in {path})", file=sys.stderr)
    application = make_application(make_server(handlers), token)
    uvicorn.Server(configure(application)).run([listening])
    return 0


def _open_port(port: int) -> socket:
    """Bind the port before its address is printed."""
    if not 0 < port <= 65535:
        raise InvalidInput("must be a number from 1 to 65535", where="--port")
    try:
        return create_server((_HERE, port))
    except OSError as error:
        raise Unavailable(
            f"cannot listen on the port: {os.strerror(error.errno or 0)}",
            where=f"{_HERE}:{port}",
            hint="choose another port with --port",
        ) from error


def load_token(environment: Mapping[str, str]) -> tuple[str, str]:
    """Return the bearer token and its file, which is created on first use."""
    folder = user_directory(environment)
    path = os.path.join(folder, "http-token")
    if not os.path.exists(path):
        make_folder(folder)
        write_once(path, os.urandom(24).hex() + "\n")
    with open(path, encoding="utf-8") as file:
        return file.read().strip(), path
