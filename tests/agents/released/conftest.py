"""The machine that the released agents run on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agents.released import harness
from tests.agents.released.model_server import serve


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what is here before any fixture runs, where no released agents are installed."""
    skipped = pytest.mark.skip(reason=harness.why_missing("codex"))
    here = Path(__file__).parent
    for item in items if not harness.FOLDER else ():
        if here in item.path.parents:
            item.add_marker(skipped)


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[harness.Machine]:
    """A home in which every installed agent is connected."""
    with serve() as model:
        machine = harness.Machine(tmp_path, model)
        machine.recollect("init", "--yes")
        yield machine
        machine.settle()
        machine.stop_daemons()


def need(*agents: str) -> None:
    """Skip the test, with a reason, unless all these agents are installed."""
    for agent in agents:
        if why := harness.why_missing(agent):
            pytest.skip(why)
