"""The public API: its names, its types, its errors. A change here is a change of the product."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from operator import attrgetter
from pathlib import Path

import pytest

import recollect
from recollect.errors import EXIT_STATUS, RecollectError
from recollect.operation_table import BY_NAME, OPERATIONS

PACKAGE = Path(recollect.__file__).parent
SURFACE = {
    "Adopted", "Audit", "BackedUp", "Briefing", "BuiltEpisodes", "Check", "ClaimReport",
    "Cleared", "ClearedMemory", "ConfigError", "Conflict", "Consolidated", "Continuity", "Diagnosis", "Document",
    "EpisodeFields", "EpisodeReplay", "Evaluation", "EventResult", "ExportedSession",
    "Exported", "ExportedSkill", "HandoffParts", "Hit", "Imported", "ImportedFile",
    "ImportedTranscript", "Initialised", "InvalidInput", "JobState", "Json", "Judged",
    "Learned", "LearningDay", "Lineage", "Link", "Linked", "ListPlace", "Loaded", "Memory", "MemoryFields",
    "MemoryStatus", "Message", "Migrated", "NearbyMessage", "NotFound", "Overflow",
    "ProcedureParts", "Promoted", "Prompt", "Pruned", "RebuildResult", "Rebuilt",
    "RecallFilters", "Recalled", "Receipt", "Recollect", "RecollectError", "Recorded",
    "RecordedEpisode", "Recovered", "Refused", "RequestAbout", "Retracted", "Returned",
    "ReviewAnswer", "ReviewItem", "Scrubbed", "ServerMember", "ServerSetup", "Session",
    "SessionAbout", "SessionMatch", "SettingsChange",
    "ShownEpisode", "ShownHandoff", "ShownLesson", "ShownNotes", "ShownProcedure", "ShownRecord", "ShownTask",
    "Stats", "StoreBusy", "StoreCorrupt", "StoreError", "StoreForeign", "StoreFull", "StoreNewer",
    "StoreReadOnly", "Stored", "TaskBriefing", "ToolCall", "Trimmed", "Unavailable", "Undone",
    "VerifiedArchive", "WrittenPlugin", "__version__", "open",
    "ConfigPaths", "Paused", "Reverted", "Seen", "SeenItem", "SettingChanged", "SettingValue", "SizePart", "Sizes", "Status", "NextStep", "HiddenLesson", "Lessons", "Plotted",
}  # fmt: skip


def test_the_public_names_are_exactly_these() -> None:
    assert set(recollect.__all__) == SURFACE
    assert all(hasattr(recollect, name) for name in SURFACE)


def public_name(value: object) -> str:
    """Return the name under which `recollect` exports an object; "" if it does not."""
    return next((name for name in SURFACE if getattr(recollect, name) is value), "")


def types_in_signatures() -> list[str]:
    """Return the dotted names of the package's types in the signatures of all operations."""
    text = (PACKAGE / "client.pyi").read_text(encoding="utf-8")
    found = set()
    for node in ast.walk(ast.parse(text)):
        name = ast.unparse(node) if isinstance(node, ast.Attribute) else ""
        if name.startswith("recollect.") and node.attr[:1].isupper():  # type: ignore[attr-defined]
            found.add(name)
    return sorted(found)


@pytest.mark.parametrize("name", types_in_signatures())
def test_every_type_in_the_signature_of_an_operation_is_exported(name: str) -> None:
    module, _, attribute = name.rpartition(".")
    assert public_name(getattr(import_module(module), attribute)), f"{name} is not exported"


def test_type_checkers_are_told_of_every_public_name() -> None:
    tree = ast.parse((PACKAGE / "__init__.pyi").read_text(encoding="utf-8"))
    imported = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.level]
    names = {alias.name for node in imported for alias in node.names}
    assert names | {"open"} == SURFACE


def test_importing_the_package_loads_no_capability() -> None:
    script = "import sys, recollect; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    loaded = {name for name in done.stdout.split() if name.startswith("recollect.")}
    assert not [name for name in loaded if name.endswith((".operations", ".steps", ".sql"))]


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError):
        _ = recollect.Nonsense  # type: ignore[attr-defined]


def names_any(tree: ast.Module) -> bool:
    """Check whether a module names `Any`."""
    return any(
        (isinstance(node, ast.Name) and node.id == "Any")
        or (isinstance(node, ast.ImportFrom) and "Any" in [alias.name for alias in node.names])
        or (isinstance(node, ast.Attribute) and node.attr == "Any")
        for node in ast.walk(tree)
    )


@pytest.mark.parametrize(
    "path", sorted((PACKAGE / "interfaces").rglob("*.py")), ids=lambda path: str(path.name)
)
def test_interfaces_hold_no_any(path: Path) -> None:
    assert not names_any(ast.parse(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    "text", ["from typing import Any", "x: Any = 1", "import typing\nx: typing.Any = 1"]
)
def test_a_planted_any_is_found(text: str) -> None:
    assert names_any(ast.parse(text))


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


def test_the_stubs_for_editors_are_up_to_date() -> None:
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
