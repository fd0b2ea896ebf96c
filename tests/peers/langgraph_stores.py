"""Our store with the constructors of LangGraph's SQLite store, for that store's own tests."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from langgraph.store.base import Op, Result
from langgraph.store.base.batch import AsyncBatchedBaseStore

import recollect
from recollect.frameworks.langgraph_store import MemoryStore
from tests.conftest import Clock
from tests.peers.opening import open_memory

CLOCK = Clock()
"""The stores' clock; `Waiting` moves it."""


class Waiting:
    """Stands for the modules `time` and `asyncio` in tests that wait for something to be over."""

    def __init__(self, module: Any) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)

    def sleep(self, seconds: float) -> Any:
        CLOCK.advance(seconds=seconds)
        return asyncio.sleep(0) if self._module is asyncio else None


@contextmanager
def _opened(place: str) -> Iterator[recollect.Recollect]:
    with tempfile.TemporaryDirectory(dir=os.environ["HOME"]) as folder:
        hidden = place == ":memory:"
        with open_memory(None if hidden else folder, origin="agent", clock=CLOCK) as memory:
            yield memory


def _fields(index: Any) -> Any:
    """Their SQLite store calls the fields `text_fields`."""
    return {**index, "fields": index.get("text_fields")} if index else None


class SqliteStore(MemoryStore):
    """The sync store."""

    @classmethod
    @contextmanager
    def from_conn_string(
        cls, place: str, *, index: Any = None, ttl: Any = None
    ) -> Iterator[SqliteStore]:
        with _opened(place) as memory:
            yield cls(memory, index=_fields(index), ttl=ttl)

    def setup(self) -> None:
        """There is nothing to set up."""


class AsyncSqliteStore(AsyncBatchedBaseStore):
    """The async store, with LangGraph's own batching in front of ours."""

    supports_ttl = True

    def __init__(self, inner: MemoryStore) -> None:
        super().__init__()
        self.inner = inner
        self.ttl_config = inner.ttl_config
        self.index_config = inner.index_config
        self.embeddings = inner.embeddings

    @classmethod
    @asynccontextmanager
    async def from_conn_string(
        cls, place: str, *, index: Any = None, ttl: Any = None
    ) -> AsyncIterator[AsyncSqliteStore]:
        with _opened(place) as memory:
            yield cls(MemoryStore(memory, index=_fields(index), ttl=ttl))

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        return self.inner.batch(ops)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return await self.inner.abatch(ops)

    async def setup(self) -> None:
        """There is nothing to set up."""

    async def sweep_ttl(self) -> int:
        return self.inner.sweep_ttl()


class InMemoryStore(MemoryStore):
    """The store that takes nothing but an index."""

    def __init__(self, *, index: Any = None) -> None:
        super().__init__(open_memory(origin="agent", clock=CLOCK), index=index)
