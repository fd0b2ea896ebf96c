"""Recollect: the memory that coding agents share.

    import recollect

    with recollect.open() as mem:
        mem.learn("Integration tests need Redis on port 6380", kind="reference")
        for hit in mem.recall("how do I run the integration tests"):
            print(hit.address, hit.text)

This module is the whole public API: `open()`, the errors, and every type that an operation takes or
returns. Types are loaded when they are first used, so that importing the package stays cheap.
"""

from __future__ import annotations

import os as _os
import sys as _sys
from collections.abc import Callable as _Callable

from . import lazy  # noqa: F401 - it makes all others load when they are used
from .errors import (
    ConfigError,
    Conflict,
    InvalidInput,
    NotFound,
    Overflow,
    RecollectError,
    Refused,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreForeign,
    StoreFull,
    StoreNewer,
    StoreReadOnly,
    Unavailable,
)
from .fast_typing import TYPE_CHECKING
from .types.records import (
    Document,
    Hit,
    Json,
    Learned,
    Link,
    Memory,
    Message,
    NearbyMessage,
    Recalled,
    Recorded,
    Session,
    Stored,
    ToolCall,
)
from .version import __version__

if TYPE_CHECKING:
    from .archive.operations import SessionAbout
    from .archive.steps_files import ExportedSession, ImportedFile
    from .archive.steps_sessions import VerifiedArchive
    from .autonomous.operations import ClearedMemory, MemoryStatus, Rebuilt
    from .briefing.operations_views import TaskBriefing
    from .briefing.steps import Briefing
    from .client import Recollect
    from .episodes.aging import LearningDay
    from .episodes.steps import BuiltEpisodes, EpisodeReplay, RecordedEpisode, ShownEpisode
    from .interchange.operations import Exported, Loaded, Migrated
    from .jobs.operations import JobState
    from .lessons.operations import EpisodeFields
    from .lessons.steps import Consolidated, Undone
    from .maintenance.operations import Recovered, ServerSetup
    from .maintenance.operations_erase import Receipt
    from .maintenance.operations_scrub import Scrubbed
    from .maintenance.operations_undo import Lineage, Retracted
    from .maintenance.steps import Adopted, BackedUp, Diagnosis, RebuildResult, Stats
    from .memory.operations import MemoryFields
    from .memory.steps_lifecycle import Cleared, Judged, Pruned, Returned
    from .memory.steps_verify import ClaimReport
    from .procedures.operations import ProcedureParts
    from .procedures.steps import ExportedSkill, ShownProcedure
    from .recall.operations import RecallFilters
    from .recall.steps_evaluation import Evaluation
    from .recall.steps_records import Linked, ShownRecord
    from .recall.steps_session_search import SessionMatch
    from .storage.database import ServerMember
    from .types.records import Check
    from .types.reports import (
        ConfigPaths,
        Imported,
        ImportedTranscript,
        Initialised,
        Lessons,
        NextStep,
        Paused,
        Plotted,
        Reverted,
        ReviewAnswer,
        ReviewItem,
        Seen,
        SeenItem,
        SettingChanged,
        SettingsChange,
        SettingValue,
        SizePart,
        Sizes,
        Status,
        WrittenPlugin,
    )
    from .window.operations import RequestAbout
    from .window.steps import Prompt, Trimmed
    from .work.audit import Audit
    from .work.operations import Continuity, EventResult
    from .work.operations_tasks import HandoffParts
    from .work.steps import ShownHandoff, ShownNotes
    from .work.steps_tasks import Promoted, ShownTask

__all__ = [
    "Adopted",
    "Audit",
    "BackedUp",
    "Briefing",
    "BuiltEpisodes",
    "Check",
    "ClaimReport",
    "Cleared",
    "ClearedMemory",
    "ConfigError",
    "ConfigPaths",
    "Conflict",
    "Consolidated",
    "Continuity",
    "Diagnosis",
    "Document",
    "EpisodeFields",
    "EpisodeReplay",
    "Evaluation",
    "EventResult",
    "Exported",
    "ExportedSession",
    "ExportedSkill",
    "HandoffParts",
    "Hit",
    "Imported",
    "ImportedFile",
    "ImportedTranscript",
    "Initialised",
    "InvalidInput",
    "JobState",
    "Json",
    "Judged",
    "Learned",
    "LearningDay",
    "Lessons",
    "Lineage",
    "Link",
    "Linked",
    "Loaded",
    "Memory",
    "MemoryFields",
    "MemoryStatus",
    "Message",
    "Migrated",
    "NearbyMessage",
    "NextStep",
    "NotFound",
    "Overflow",
    "Paused",
    "Plotted",
    "ProcedureParts",
    "Promoted",
    "Prompt",
    "Pruned",
    "RebuildResult",
    "Rebuilt",
    "RecallFilters",
    "Recalled",
    "Receipt",
    "Recollect",
    "RecollectError",
    "Recorded",
    "RecordedEpisode",
    "Recovered",
    "Refused",
    "RequestAbout",
    "Retracted",
    "Returned",
    "Reverted",
    "ReviewAnswer",
    "ReviewItem",
    "Scrubbed",
    "Seen",
    "SeenItem",
    "ServerMember",
    "ServerSetup",
    "Session",
    "SessionAbout",
    "SessionMatch",
    "SettingChanged",
    "SettingValue",
    "SettingsChange",
    "ShownEpisode",
    "ShownHandoff",
    "ShownNotes",
    "ShownProcedure",
    "ShownRecord",
    "ShownTask",
    "SizePart",
    "Sizes",
    "Stats",
    "Status",
    "StoreBusy",
    "StoreCorrupt",
    "StoreError",
    "StoreForeign",
    "StoreFull",
    "StoreNewer",
    "StoreReadOnly",
    "Stored",
    "TaskBriefing",
    "ToolCall",
    "Trimmed",
    "Unavailable",
    "Undone",
    "VerifiedArchive",
    "WrittenPlugin",
    "__version__",
    "open",
]

_TYPES = {
    "archive.operations": "SessionAbout",
    "archive.steps_files": "ExportedSession ImportedFile",
    "archive.steps_sessions": "VerifiedArchive",
    "autonomous.operations": "ClearedMemory MemoryStatus Rebuilt",
    "briefing.operations_views": "TaskBriefing",
    "briefing.steps": "Briefing",
    "client": "Recollect",
    "episodes.aging": "LearningDay",
    "episodes.steps": "BuiltEpisodes EpisodeReplay RecordedEpisode ShownEpisode",
    "interchange.operations": "Exported Loaded Migrated",
    "jobs.operations": "JobState",
    "lessons.operations": "EpisodeFields",
    "lessons.steps": "Consolidated Undone",
    "maintenance.operations": "Recovered ServerSetup",
    "maintenance.operations_erase": "Receipt",
    "maintenance.operations_scrub": "Scrubbed",
    "maintenance.operations_undo": "Lineage Retracted",
    "maintenance.steps": "Adopted BackedUp Diagnosis RebuildResult Stats",
    "memory.operations": "MemoryFields",
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
        "ConfigPaths Imported ImportedTranscript Initialised Lessons NextStep Paused Plotted "
        "Reverted ReviewAnswer ReviewItem Seen SeenItem SettingChanged SettingValue "
        "SettingsChange SizePart Sizes Status WrittenPlugin"
    ),
    "types.records": "Check",
    "window.operations": "RequestAbout",
    "window.steps": "Prompt Trimmed",
    "work.audit": "Audit",
    "work.operations": "Continuity EventResult",
    "work.operations_tasks": "HandoffParts",
    "work.steps": "ShownHandoff ShownNotes",
    "work.steps_tasks": "Promoted ShownTask",
}
"""The public types of each module, loaded on first use."""


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


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Load a public type on first use."""
        module = next((place for place, held in _TYPES.items() if name in held.split()), "")
        if not module:
            raise AttributeError(f"module 'recollect' has no attribute {name!r}")
        full = f"{__name__}.{module}"
        __import__(full)
        value = getattr(_sys.modules[full], name)
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted(__all__)
