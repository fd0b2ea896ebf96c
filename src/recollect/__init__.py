"""Recollect: the memory that coding agents share.

    import recollect

    with recollect.open() as mem:
        mem.learn("Integration tests need Redis on port 6380", kind="reference")
        for hit in mem.recall("how do I run the integration tests"):
            print(hit.address, hit.text)

This module is the whole public API: `open()`, the errors, and every type that an operation takes or
returns. Types are loaded at first use, so that importing the package stays cheap. Type checkers
read `__init__.pyi`, which `tools/build_client_stub.py` generates.
"""

from __future__ import annotations

import os as _os
import sys as _sys
from collections.abc import Callable as _Callable

from . import lazy  # noqa: F401 - installs the finder that runs modules at first use
from .fast_typing import TYPE_CHECKING
from .version import __version__

if TYPE_CHECKING:
    from .client import Recollect

_TYPES = {
    "archive.operations": "SessionAbout",
    "archive.steps_files": "ExportedSession ImportedFile",
    "archive.steps_sessions": "VerifiedArchive",
    "autonomous.operations": "ClearedMemory MemoryStatus Rebuilt",
    "briefing.operations_views": "TaskBriefing",
    "briefing.steps": "Briefing",
    "client": "Recollect",
    "errors": (
        "ConfigError Conflict InvalidInput NotFound Overflow RecollectError Refused StoreBusy "
        "StoreCorrupt StoreError StoreForeign StoreFull StoreNewer StoreReadOnly Unavailable"
    ),
    "episodes.aging": "LearningDay",
    "episodes.steps": "BuiltEpisodes EpisodeReplay RecordedEpisode ShownEpisode",
    "interchange.operations": "Exported Loaded Migrated",
    "jobs.operations": "JobState",
    "lessons.operations": "EpisodeFields",
    "lessons.steps": "Consolidated Undone",
    "maintenance.operations": "ServerSetup",
    "maintenance.operations_erase": "Receipt",
    "maintenance.operations_repair": "Recovered Scrubbed",
    "maintenance.operations_lineage": "Lineage Retracted",
    "maintenance.steps": "Adopted BackedUp Diagnosis RebuildResult Stats",
    "memory.operations": "MemoryFields",
    "memory.operations_many": "ListPlace",
    "memory.steps_lifecycle": "Cleared Judged Pruned Returned",
    "memory.steps_verify": "ClaimReport",
    "procedures.operations": "ProcedureParts",
    "procedures.steps": "ExportedSkill ShownProcedure",
    "recall.operations": "RecallFilters",
    "recall.steps_evaluation": "Evaluation",
    "recall.steps_session_search": "SessionMatch",
    "recall.steps_records": "Linked ShownRecord",
    "storage.database": "ServerMember",
    "types.reports": (
        "ConfigPaths HiddenLesson Imported ImportedTranscript Initialised Lessons NextStep Paused "
        "Plotted Reverted ReviewAnswer ReviewItem Seen SeenItem SettingChanged SettingValue "
        "SettingsChange ShownLesson SizePart Sizes Status WrittenPlugin"
    ),
    "types.records": (
        "Check Document Hit Json Learned Link Memory Message NearbyMessage Recalled Recorded "
        "Session Stored ToolCall"
    ),
    "window.operations": "RequestAbout",
    "window.steps": "Prompt Trimmed",
    "work.audit": "Audit",
    "work.operations": "Continuity EventResult",
    "work.operations_tasks": "HandoffParts",
    "work.steps": "ShownHandoff ShownNotes",
    "work.steps_tasks": "Promoted ShownTask",
}
"""The public types of each module."""

__all__ = ["__version__", "open", *" ".join(_TYPES.values()).split()]


def open(
    path: str | _os.PathLike[str] | None = None,
    *,
    incognito: bool = False,
    origin: str = "agent",
    clock: _Callable[[], int] | None = None,
    environment: dict[str, str] | None = None,
) -> Recollect:
    """Open the memory of the project that `path` belongs to, together with the user's.

    path: a directory of the project; else RECOLLECT_PROJECT, else the current directory
    incognito: keep everything in memory; nothing is read from or written to disk
    origin: the caller: agent, or user when a person types the calls
    clock: returns microseconds since 1970; the real time by default
    environment: variables to use instead of those of the process
    """
    from .opening import open_memory

    variables = dict(_os.environ) if environment is None else environment
    place = None if path is None else _os.fspath(path)
    return open_memory(place, variables, incognito, origin, clock)


def __getattr__(name: str) -> object:
    """Load a public type on first use."""
    module = next((place for place, names in _TYPES.items() if name in names.split()), "")
    if not module:
        raise AttributeError(f"module 'recollect' has no attribute {name!r}")
    full = f"{__name__}.{module}"
    __import__(full)
    value = getattr(_sys.modules[full], name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
