"""The conformance suite of the Claude Agent SDK's session stores, against ours."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest
from claude_agent_sdk.testing import run_session_store_conformance

import recollect
from recollect.frameworks.claude_sessions import MemorySessionStore
from tests.peers.opening import open_memory

pytestmark = pytest.mark.anyio


async def test_all_contracts_of_a_session_store_hold(tmp_path: Path) -> None:
    numbers = count()
    made: list[recollect.Recollect] = []

    def make() -> MemorySessionStore:
        folder = tmp_path / f"project{next(numbers)}"
        folder.mkdir()
        made.append(open_memory(folder, origin="agent"))
        return MemorySessionStore(made[-1])

    await run_session_store_conformance(make)
    # One to look at, and one for each of the 14 contracts.
    assert len(made) == 15
