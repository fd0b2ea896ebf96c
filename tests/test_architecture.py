"""The architecture holds, and the checker that says so notices what it is meant to notice."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

import recollect
from tests.architecture import violations

PACKAGE = Path(recollect.__file__).parent

OPEN: frozenset[str] = frozenset()
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
        ("recall/ranking.py", "\nclass Tx: ...\n", "class Tx is defined in"),
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


def test_too_many_long_modules_are_found(tmp_path: Path) -> None:
    for number in range(10):
        (tmp_path / f"more_{number}.py").write_text("X = 1\n" * 271, encoding="utf-8")
    assert any(one.startswith("10 modules above 270") for one in violations(tmp_path))
    (tmp_path / "more_0.py").write_text("X = 1\n" * 270, encoding="utf-8")
    assert not any("modules above 270" in one for one in violations(tmp_path))
