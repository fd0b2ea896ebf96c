"""The tests of how long LangGraph's SQLite store keeps things, against ours and a clock of ours."""

from __future__ import annotations

import asyncio
import time

import pytest

from tests.peers.langgraph_stores import Waiting
from tests.peers.loading import loaded

SWEEPER = "starts a thread that sweeps; nothing of ours that is over is seen before it is swept"

pytestmark = pytest.mark.anyio

globals().update(
    loaded(
        "langgraph_sqlite_ttl.py",
        {
            "from langgraph.store.sqlite import SqliteStore": "from tests.peers.langgraph_stores import SqliteStore",
            "from langgraph.store.sqlite.aio import AsyncSqliteStore": "from tests.peers.langgraph_stores import AsyncSqliteStore",
            "@pytest.mark.flaky(retries=3)\n": "",
            "@pytest.mark.asyncio\n": "",
        },
        {
            "test_ttl_sweeper": SWEEPER,
            "test_async_ttl_sweeper": SWEEPER,
            "test_ttl_override_default": "takes reading not to refresh; LangGraph's documentation of "
            "refresh_on_read says that it does by default",
        },
    )
)
_waiting = [value for value in globals().values() if getattr(value, "__globals__", None)]
for _test in _waiting:
    if _test.__name__.startswith("test_"):
        _test.__globals__.update(time=Waiting(time), asyncio=Waiting(asyncio))
