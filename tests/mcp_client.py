"""The official MCP client, connected to our own server in this process."""

from __future__ import annotations

import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import mcp_types as types
from mcp import Client
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage

import recollect
from recollect.interfaces.mcp import StdioServer
from recollect.interfaces.mcp_requests import RequestHandlers

Talk = Callable[[Client], Awaitable[Any]]


@asynccontextmanager
async def connected(memory: recollect.Recollect, full: bool) -> AsyncIterator[TransportStreams]:
    """The streams of a client whose server answers in another thread."""
    near, far = socket.socketpair()
    with near, far, far.makefile("rb") as source, far.makefile("wb") as sink:

        def serve() -> None:
            StdioServer(RequestHandlers(memory, full), source, sink).serve()
            far.shutdown(socket.SHUT_RDWR)

        thread = threading.Thread(target=serve)
        thread.start()
        to_client, incoming = anyio.create_memory_object_stream[SessionMessage | Exception]()
        outgoing, from_client = anyio.create_memory_object_stream[SessionMessage]()

        async def read() -> None:
            with near.makefile("rb") as answers:
                async with to_client:
                    async for line in anyio.wrap_file(answers):
                        message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
                        await to_client.send(SessionMessage(message))

        async def write() -> None:
            async with from_client:
                async for sent in from_client:
                    text = sent.message.model_dump_json(by_alias=True, exclude_unset=True)
                    near.sendall(text.encode() + b"\n")
            near.shutdown(socket.SHUT_WR)

        async with anyio.create_task_group() as group:
            group.start_soon(read)
            group.start_soon(write)
            async with incoming, outgoing:
                yield incoming, outgoing
        thread.join()


def talk(memory: recollect.Recollect, work: Talk, mode: str = "auto", full: bool = False) -> Any:
    """Return the result of a conversation with a server for this memory."""

    async def session() -> Any:
        async with Client(connected(memory, full), mode=mode) as client:
            return await work(client)

    return anyio.run(session)
