"""The tests of Anthropic's own file-based memory tool, against ours."""

from __future__ import annotations

import os
import weakref

import pytest

import recollect
from recollect.frameworks.anthropic_memory import AsyncMemoryTool, MemoryFiles, MemoryTool
from tests.peers.loading import loaded
from tests.peers.opening import open_memory

pytestmark = pytest.mark.anyio
ON_DISK = "looks at modes and links of files on a disk; ours are names in a database"
NOT_OURS = {
    "test_mkdir_parents_not_world_writable_under_permissive_umask": ON_DISK,
    "test_symlink_validation_reject_symlink_pointing_outside_memories": ON_DISK,
    "test_symlink_validation_reject_creating_files_through_symlink_pointing_outside": ON_DISK,
    "test_symlink_validation_reject_parent_directory_that_is_symlink_pointing_outside": ON_DISK,
    "test_insert_error_for_invalid_insert_line": "the words of the API's documentation are others",
}
_MADE: weakref.WeakValueDictionary[str, recollect.Recollect] = weakref.WeakValueDictionary()


def _memory(base_path: str) -> recollect.Recollect:
    memory = open_memory()
    _MADE[base_path] = memory
    return memory


class SyncTool(MemoryTool):
    def __init__(self, base_path: str) -> None:
        self.base_path = base_path
        super().__init__(_memory(base_path))


class AsyncTool(AsyncMemoryTool):
    def __init__(self, base_path: str) -> None:
        self.base_path = base_path
        super().__init__(_memory(base_path))


def get_directory_snapshot(base_path: str) -> dict[str, str]:
    files = MemoryFiles(_MADE[base_path])
    return {os.path.join("memories", name): files._text(name) or "" for name in files._files()}


globals().update(
    loaded(
        "anthropic_memory_tool.py",
        {
            """from anthropic.lib.tools._beta_builtin_memory_tool import (
    BetaLocalFilesystemMemoryTool,
    BetaAsyncLocalFilesystemMemoryTool,
)""": "from tests.peers.test_anthropic_memory import AsyncTool as BetaAsyncLocalFilesystemMemoryTool, SyncTool as BetaLocalFilesystemMemoryTool",
            "def get_directory_snapshot(": "from tests.peers.test_anthropic_memory import get_directory_snapshot\n\n\ndef _unused(",
        },
        {
            **{
                f"{group}.{test}": why
                for group in (
                    "TestBetaLocalFilesystemMemoryTool",
                    "TestBetaAsyncLocalFilesystemMemoryTool",
                )
                for test, why in NOT_OURS.items()
            },
            "TestBetaAsyncLocalFilesystemMemoryTool.test_validate_path_returns_resolved_path_not_symlink_target": ON_DISK,
        },
    )
)
