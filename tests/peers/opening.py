"""Opens a memory on the engine of the test, and closes them all at its end."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import recollect
from recollect.storage.postgres.database import PostgresDatabase

OPENED: list[recollect.Recollect] = []
"""The memories of the current test."""


def open_memory(folder: str | Path | None = None, **options: Any) -> recollect.Recollect:
    """Open the memory of a project; without a folder, one that nothing else sees.

    On SQLite that is an incognito memory; PostgreSQL has none, so it is a project of its own.
    """
    hidden = folder is None
    place = str(folder or tempfile.mkdtemp(dir=os.environ["HOME"]))
    on_server = "RECOLLECT_DATABASE" in os.environ
    memory = recollect.open(place, incognito=hidden and not on_server, **options)
    assert isinstance(memory.context.project_space, PostgresDatabase) == on_server
    OPENED.append(memory)
    return memory


def close_all() -> None:
    while OPENED:
        OPENED.pop().close()
