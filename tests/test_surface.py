"""The public surface is what it is on purpose: a change here is a change of the product."""

from __future__ import annotations

import recollect
from recollect.errors import EXIT_STATUS, RecollectError
from recollect.operation_table import OPERATIONS

SURFACE = {
    "ConfigError", "Conflict", "Document", "Hit", "InvalidInput", "Learned", "Memory", "Message",
    "NotFound", "Overflow", "Recalled", "Recollect", "RecollectError", "Recorded", "Refused",
    "Session", "StoreBusy", "StoreCorrupt", "StoreError", "StoreForeign", "StoreFull",
    "StoreNewer", "StoreReadOnly", "Stored", "ToolCall", "Unavailable", "__version__", "open",
}  # fmt: skip


def test_the_public_names_are_exactly_these() -> None:
    assert set(recollect.__all__) == SURFACE
    assert all(hasattr(recollect, name) for name in SURFACE)


def test_every_public_method_is_an_operation() -> None:
    plumbing = {"close", "hear", "catch_up"}
    methods = {
        name
        for name in dir(recollect.Recollect)
        if not name.startswith("_") and callable(getattr(recollect.Recollect, name))
    }
    assert methods - plumbing == set(OPERATIONS.values())


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
