"""The architecture holds, and the checker that says so notices what it is meant to notice."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

import recollect
from tests.architecture import violations

PACKAGE = Path(recollect.__file__).parent

OPEN = frozenset(
    {
        "agents/connections.py: a module of kind io must not import maintenance.steps",
        "agents/connections.py: agents must not import maintenance (maintenance.steps)",
        "agents/settings/plan_io.py: a module of kind io must not import agents.operations_import",
        "archive/operations.py: archive must not import recall (recall.steps_show)",
        "archive/operations.py: archive must not import window (window.steps)",
        "archive/steps.py: archive must not import capture (capture.sentences)",
        "archive/steps_files.py: archive must not import recall (recall.steps_show)",
        "archive/steps_sessions.py: archive must not import recall (recall.steps_show)",
        "context.py: a module of kind base must not import index.steps_vectors",
        "context.py: a module of kind base must not import window.steps",
        "context.py: context must not import index (index.steps_vectors)",
        "context.py: context must not import window (window.steps)",
        "frameworks/storage.py: a module of kind operations must not import client.Recollect",
        "index/steps.py: index must not import work (work.notes)",
        "index/steps.py: index must not import maintenance (maintenance.steps)",
        "index/steps.py: index must not import recall (recall.steps_reindex)",
        "interfaces/mcp_tools.py: lines of code, more than 300",
        "lessons/steps.py: lessons must not import maintenance (maintenance.steps)",
        "memory/duplicates.py: memory must not import lessons (lessons.plan_steps)",
        "memory/operations.py: memory must not import recall (recall.operations)",
        "memory/operations.py: memory must not import recall (recall.steps)",
        "memory/operations.py: memory must not import recall (recall.steps_show)",
        "procedures/patterns.py: memory must not import lessons (lessons.plan_steps)",
        "memory/steps.py: lines of code, more than 300",
        "procedures/steps_patterns.py: memory must not import episodes (episodes.steps)",
        "memory: modules, more than 15",
        "recall/operations.py: recall must not import briefing (briefing.operations)",
        "recall/operations.py: recall must not import briefing (briefing.steps_pages)",
        "storage/sqlite.py: lines of code, more than 300",
        "window/operations.py: window must not import recall (recall.steps_show)",
        "window/steps.py: window must not import recall (recall.steps_show)",
        "work/notes.py: work must not import briefing (briefing.rendering)",
    }
)
"""Breaches that are known and still to be mended. The list must match exactly: what is mended leaves
it, and nothing is added."""


def without_lines(found: list[str]) -> set[str]:
    """Return breaches without their line numbers and counts."""
    return {re.sub(r"line \d+: |\d+ (?=lines of code|modules)", "", one) for one in found}


def test_the_package_keeps_its_rules() -> None:
    assert without_lines(violations(PACKAGE)) == OPEN


@pytest.mark.parametrize(
    ("file", "planted", "expected"),
    [
        ("text/terms.py", "\nfrom ..memory import sql\n", "text must not import memory"),
        ("index/steps.py", "\nfrom ..recall import ranking\n", "index must not import recall"),
        ("storage/database.py", "\nfrom ..client import Recollect\n", "must not import client"),
        ("text/terms.py", "\nimport time\n", "a pure module must not import time"),
        ("recall/ranking.py", "\nfrom . import steps\n", "kind pure must not import recall.steps"),
        ("memory/sql.py", "\nfrom . import steps\n", "kind sql must not import memory.steps"),
        (
            "memory/steps.py",
            "\nfrom . import operations\n",
            "kind steps must not import memory.operations",
        ),
        ("freshness/git_io.py", "\nfrom . import sql\n", "kind io must not import freshness.sql"),
        ("memory/lifecycle.py", "\nfrom .hygiene import _x\n", "_x is private to another module"),
        ("interfaces/cli.py", "\nX = 'SELECT id FROM memories'\n", "SQL outside sql.py"),
        (
            "memory/steps.py",
            "\ntry:\n    pass\nexcept Exception:\n    pass\n",
            "catches Exception and does not raise",
        ),
        ("memory/steps.py", "\ntry:\n    pass\nexcept:\n    pass\n", "catches everything"),
        ("memory/lifecycle.py", "\nX = 1" * 400, "lines of code, more than 300"),
        ("memory/lifecycle.py", "\ndef f() -> None:\n" + "    print()\n" * 70, "f has 71 lines"),
        (
            "memory/lifecycle.py",
            "\ndef g(a: int, b: int, c: int, d: int, e: int, f: int, h: int, i: int, j: int, k: int) -> None: ...\n",
            "g has 10 parameters",
        ),
    ],
)
def test_a_planted_breach_is_found(tmp_path: Path, file: str, planted: str, expected: str) -> None:
    copy = tmp_path / "recollect"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    target = copy / file
    target.write_text(target.read_text(encoding="utf-8") + planted, encoding="utf-8")
    new = without_lines(violations(copy)) - OPEN
    assert any(expected in found for found in new), new


def test_a_folder_with_too_many_modules_is_found(tmp_path: Path) -> None:
    copy = tmp_path / "recollect"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for number in range(15):
        (copy / "jobs" / f"more_{number}.py").write_text("", encoding="utf-8")
    assert any(one.startswith("jobs: ") for one in violations(copy))
