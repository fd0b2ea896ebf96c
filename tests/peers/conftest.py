"""Async tests of other projects run in an event loop of `asyncio`."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"
