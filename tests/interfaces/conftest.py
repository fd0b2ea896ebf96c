"""Fixtures for tests that run our programs as processes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import recollect
from tests.conftest import PATIENCE

HOOK = f"""
import sys
from recollect.agents import steps_hooks as marks
from recollect.interfaces import hooks
hooks.TIME_LIMIT = hooks.TIME_LIMIT_AT_END = {PATIENCE}
marks.DUPLICATE_WINDOW = round({PATIENCE} * 1_000_000)
sys.argv = ["recollect", "hook"]
from recollect.__main__ import main
main()
"""
"""A hook without a time limit: the machine may be busy."""


@pytest.fixture
def variables(tmp_path: Path) -> dict[str, str]:
    """The environment of a process that has this code, and a home of its own."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "RECOLLECT_HOME": str(tmp_path / "home"),
        "PYTHONPATH": str(Path(recollect.__file__).parent.parent),
        "RECOLLECT_LOCK_WAIT": str(PATIENCE),
    }
