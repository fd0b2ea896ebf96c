"""A `SessionStore` of the Claude Agent SDK over a project's memory:
`pip install '.[claude-agent-sdk]'`.

    import recollect
    from claude_agent_sdk import ClaudeAgentOptions, query
    from recollect.frameworks.claude_sessions import MemorySessionStore

    with recollect.open(origin="agent") as mem:
        options = ClaudeAgentOptions(session_store=MemorySessionStore(mem))

The SDK's entries are returned as they were given, except for secrets. Their messages go into the
archive, in the same session as the transcript's file: importing the file too changes nothing.
`delete` removes a session for the SDK; the archive keeps it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..client import Recollect
from ..errors import missing_extra
from . import steps_folders, storage

try:
    from claude_agent_sdk import fold_session_summary
except ModuleNotFoundError as error:
    raise missing_extra("claude-agent-sdk", __name__) from error

if TYPE_CHECKING:
    from claude_agent_sdk.types import (
        SessionKey,
        SessionListSubkeysKey,
        SessionStoreEntry,
        SessionStoreListEntry,
        SessionSummaryEntry,
    )

HOST = "claude-agent-sdk"


class MemorySessionStore:
    """All methods of the protocol, including the optional ones. Appends keep their order."""

    def __init__(self, memory: Recollect) -> None:
        self._storage = storage.FrameworkStorage(memory, HOST)
        self._append_lock = asyncio.Lock()

    async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        if not entries:
            return
        given = [dict(entry) for entry in entries]
        fold = None if key.get("subpath") else _make_fold(key)
        async with self._append_lock:
            await self._storage.run(self._storage.mirror_records, _folder(key), given, fold)

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        folder = _folder(key)
        found = await self._storage.run(self._storage.read, steps_folders.list_below, folder)
        own = sorted((item for item in found if item.folder == folder), key=lambda item: item.turn)
        return [item.value for item in own] or None

    async def list_sessions(self, project_key: str) -> list[SessionStoreListEntry]:
        found = await self._storage.run(self._storage.list_folders, (project_key,))
        return [
            {"session_id": folder[1], "mtime": at // 1000}
            for folder, at in found
            if len(folder) == 2
        ]

    async def list_session_summaries(self, project_key: str) -> list[SessionSummaryEntry]:
        found = await self._storage.run(self._storage.read, storage.list_summaries, project_key)
        return [
            {"session_id": item.key, "mtime": item.updated // 1000, "data": item.value["data"]}
            for item in found
        ]

    async def delete(self, key: SessionKey) -> None:
        await self._storage.run(self._storage.write, storage.remove_mirror, _folder(key))

    async def list_subkeys(self, key: SessionListSubkeysKey) -> list[str]:
        whole = (key["project_key"], key["session_id"])
        found = await self._storage.run(self._storage.list_folders, whole)
        return ["/".join(folder[2:]) for folder, _ in found if len(folder) > 2]


def _folder(key: SessionKey) -> tuple[str, ...]:
    subpath = key.get("subpath") or ""
    below = tuple(subpath.split("/")) if subpath else ()
    return (key["project_key"], key["session_id"], *below)


def _make_fold(key: SessionKey) -> Callable[[Any, Sequence[Any]], Any]:
    """Return the SDK's function that updates a summary with new entries."""
    return lambda known, new: dict(fold_session_summary(known, key, list(new)))
