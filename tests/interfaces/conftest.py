"""What tests need that run our programs as processes of their own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import recollect


@pytest.fixture
def variables(tmp_path: Path) -> dict[str, str]:
    """The environment of a process that has this code, and a home of its own."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "RECOLLECT_HOME": str(tmp_path / "home"),
        "PYTHONPATH": str(Path(recollect.__file__).parent.parent),
    }
