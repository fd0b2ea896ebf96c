"""The protocol over HTTP: this machine only, with a token, and for no foreign page.

The SDK checks Host and Origin; here every request must also bear the token that lies in the user's
own directory, because any process on the machine can reach a port.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from hmac import compare_digest
from socket import create_server, socket
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings

from ..client import Recollect
from ..errors import InvalidInput, Unavailable
from ..project import make_folder, user_directory, write_once

Scope = MutableMapping[str, Any]

App = Callable[[Scope, Any, Any], Awaitable[None]]

PATH = "/mcp"

_HERE = "127.0.0.1"


def make_application(server: Server[Any], token: str) -> App:
    """The server as an ASGI application that lets nobody in without the token."""
    names = (_HERE, "localhost", "[::1]")
    allowed = TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=[f"{name}:*" for name in names],
        allowed_origins=[f"http://{name}:*" for name in names],
    )
    inner = server.streamable_http_app(streamable_http_path=PATH, transport_security=allowed)

    async def guarded(scope: Scope, receive: Any, send: Any) -> None:
        status, why = _find_refusal(scope, token) if scope["type"] == "http" else (0, b"")
        if status:
            await send({"type": "http.response.start", "status": status, "headers": _REFUSAL})
            await send({"type": "http.response.body", "body": why})
            return
        await inner(scope, receive, send)

    return guarded


_REFUSAL = [(b"www-authenticate", b"Bearer"), (b"content-type", b"text/plain")]


_NAMES = {b"host": 421, b"origin": 403}


def _find_refusal(scope: Scope, token: str) -> tuple[int, bytes]:
    """The status and the reason for which somebody is turned away; 0 if they are not."""
    if not _is_allowed(scope, token):
        return 401, b"a bearer token is needed\n"
    for name, value in scope["headers"]:
        # The SDK compares how a name begins: `localhost:1.evil.example` is not this machine.
        if name in _NAMES and not value.rpartition(b":")[2].isdigit():
            return _NAMES[name], b"not this machine\n"
    return 0, b""


def _is_allowed(scope: Scope, token: str) -> bool:
    given = [value for name, value in scope["headers"] if name == b"authorization"]
    if len(given) != 1:
        return False
    scheme, _, borne = given[0].partition(b" ")
    return scheme.lower() == b"bearer" and compare_digest(borne, token.encode())


def serve_http(server: Server[Any], memory: Recollect, port: int) -> int:
    """Serve on the loopback address until interrupted."""
    import uvicorn

    token, path = load_token(memory.context.environment)
    listening = _open_port(port)
    print(f"http://{_HERE}:{port}{PATH} (bearer token in {path})", file=sys.stderr)
    config = uvicorn.Config(make_application(server, token), log_level="warning")
    uvicorn.Server(config).run([listening])
    return 0


def _open_port(port: int) -> socket:
    """The port, ours before anybody is told of it."""
    if not 0 < port <= 65535:
        raise InvalidInput("a port is a number from 1 to 65535", where="--port")
    try:
        return create_server((_HERE, port))
    except OSError as error:
        raise Unavailable(
            f"the port cannot be listened on: {os.strerror(error.errno or 0)}",
            where=f"{_HERE}:{port}",
            hint="name another one with --port",
        ) from error


def load_token(environment: Mapping[str, str]) -> tuple[str, str]:
    """The token that a client over HTTP must bear, and the file it lies in; made once."""
    folder = user_directory(environment)
    path = os.path.join(folder, "http-token")
    if not os.path.exists(path):
        make_folder(folder)
        write_once(path, os.urandom(24).hex() + "\n")
    with open(path, encoding="utf-8") as file:
        return file.read().strip(), path
