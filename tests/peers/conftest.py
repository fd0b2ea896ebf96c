"""Other projects' tests run on both engines, and their async tests in an event loop of `asyncio`."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.peers.opening import close_all


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def peers_database(postgres_server: str) -> str:
    """One database for all tests: each opens projects of its own in it."""
    import psycopg

    name = f"peers{os.urandom(6).hex()}"
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return postgres_server.replace("/postgres?", f"/{name}?", 1)


@pytest.fixture(autouse=True, params=["sqlite", "postgres"])
def _on_each_engine(
    request: pytest.FixtureRequest, _nobody_at_home: None, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    if request.param == "postgres":
        monkeypatch.setenv("RECOLLECT_DATABASE", request.getfixturevalue("peers_database"))
    yield
    close_all()
