"""The tests of LangGraph's reference store, against ours."""

from __future__ import annotations

import pytest

from tests.peers.loading import loaded

BASE = "a test of LangGraph's own base class and helpers, with a mock"

pytestmark = pytest.mark.anyio

globals().update(
    loaded(
        "langgraph_store.py",
        {
            "from pytest_mock import MockerFixture": "MockerFixture = object",
            "from langgraph.store.memory import InMemoryStore": "from tests.peers.langgraph_stores import InMemoryStore",
            "from tests.embed_test_utils import": "from tests.peers.verbatim.langgraph_embed_test_utils import",
        },
        {
            "test_get_text_at_path": BASE,
            "test_async_batch_store": BASE,
            "test_async_batch_store_deduplication": BASE,
        },
    )
)
