"""A session of the OpenAI Agents SDK over a project's memory.

`pip install '.[openai-agents]'`.

    import recollect
    from agents import Agent, Runner
    from recollect.frameworks.openai_session import MemorySession

    with recollect.open() as mem:
        await Runner.run(agent, "Where were we?", session=MemorySession("support-17", mem))

`pop_item` and `clear_session` remove items for the SDK. The archive keeps the messages: `recall`
and `session search` still find them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..client import Recollect
from ..errors import missing_extra
from . import storage

try:
    from agents.memory import SessionSettings
    from agents.memory.session import SessionABC
    from agents.memory.session_settings import coerce_session_settings, resolve_session_limit
except ModuleNotFoundError as error:
    raise missing_extra("openai-agents", __name__) from error

if TYPE_CHECKING:
    from agents.items import TResponseInputItem

HOST = "openai-agents"


class MemorySession(SessionABC):
    """One conversation. Its items are returned as they were given, except for secrets."""

    def __init__(
        self,
        session_id: str,
        memory: Recollect,
        session_settings: SessionSettings | dict[str, Any] | None = None,
    ) -> None:
        self.session_id = session_id
        self.session_settings = coerce_session_settings(session_settings or {})
        self._storage = storage.FrameworkStorage(memory, HOST)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        most = resolve_session_limit(limit, self.session_settings)
        stored = self._storage
        return await stored.run(stored.read, storage.list_turns, self.session_id, most)

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        if items:
            given = [dict(item) for item in items]
            await self._storage.run(self._storage.add_turns, self.session_id, given)

    async def pop_item(self) -> TResponseInputItem | None:
        popped: TResponseInputItem | None = await self._storage.run(
            self._storage.write, storage.pop_turn, self.session_id
        )
        return popped

    async def clear_session(self) -> None:
        await self._storage.run(self._storage.write, storage.clear_turns, self.session_id)
