"""The tests of LangGraph's async SQLite store, against ours."""

from __future__ import annotations

import pytest

from tests.peers.loading import loaded

pytestmark = pytest.mark.anyio

globals().update(
    loaded(
        "langgraph_sqlite_async_store.py",
        {
            "from langgraph.store.sqlite import AsyncSqliteStore": "from tests.peers.langgraph_stores import AsyncSqliteStore",
            "from langgraph.store.sqlite.base import SqliteIndexConfig": "SqliteIndexConfig = dict",
            "from tests.test_store import": "from tests.peers.verbatim.langgraph_embed_test_utils import",
        },
        {
            "test_no_running_loop": "wants sync methods to be refused in an event loop; ours do their work"
        },
    )
)
