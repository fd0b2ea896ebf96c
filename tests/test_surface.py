"""The public surface is what it is on purpose: a change here is a change of the product."""

from __future__ import annotations

import subprocess
import sys
from operator import attrgetter
from pathlib import Path

import pytest

import recollect
from recollect.errors import EXIT_STATUS, RecollectError
from recollect.operation_table import BY_NAME, OPERATIONS

SURFACE = {
    "ConfigError", "Conflict", "Document", "Hit", "InvalidInput", "Learned", "Memory", "Message",
    "NotFound", "Overflow", "Recalled", "Recollect", "RecollectError", "Recorded", "Refused",
    "Session", "StoreBusy", "StoreCorrupt", "StoreError", "StoreForeign", "StoreFull",
    "StoreNewer", "StoreReadOnly", "Stored", "ToolCall", "Unavailable", "__version__", "open",
}  # fmt: skip


def test_the_public_names_are_exactly_these() -> None:
    assert set(recollect.__all__) == SURFACE
    assert all(hasattr(recollect, name) for name in SURFACE)


def test_every_operation_is_reached_from_the_client_by_its_name() -> None:
    with recollect.open(incognito=True) as memory:
        for operation in OPERATIONS.values():
            assert callable(attrgetter(operation.name)(memory))
        groups = {name.partition(".")[0] for name in BY_NAME}
        public = {name for name in dir(memory) if not name.startswith("_")}
        plumbing = {"close", "context", "counter", "progress", "project", "settings", "search"}
        assert public - plumbing == groups
        with pytest.raises(AttributeError):
            _ = memory.nonsense  # type: ignore[attr-defined]
        with pytest.raises(AttributeError):
            _ = memory.sessions.nonsense  # type: ignore[attr-defined]


def test_the_stub_for_editors_is_up_to_date() -> None:
    tool = Path(__file__).parent.parent / "tools" / "build_client_stub.py"
    done = subprocess.run([sys.executable, str(tool), "--check"], check=False)
    assert done.returncode == 0, "run: python tools/build_client_stub.py"


def every_error(root: type[RecollectError] = RecollectError) -> set[type[RecollectError]]:
    found = {root}
    for child in root.__subclasses__():
        found |= every_error(child)
    return found


def test_every_error_has_its_own_code_and_exit_status() -> None:
    errors = every_error()
    codes = [error.code for error in errors]
    assert len(codes) == len(set(codes))
    assert set(codes) == set(EXIT_STATUS)
    assert len(set(EXIT_STATUS.values())) == len(EXIT_STATUS)
    assert 0 not in EXIT_STATUS.values()
