"""The architecture holds, and the checker that says so notices what it is meant to notice."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import recollect
from tests.architecture import violations

PACKAGE = Path(recollect.__file__).parent


def test_the_package_keeps_its_rules() -> None:
    assert violations(PACKAGE) == []


@pytest.mark.parametrize(
    ("file", "planted", "expected"),
    [
        (
            "text/terms.py",
            "\nfrom ..store import memories\n",
            "core must not import recollect.store",
        ),
        ("text/terms.py", "\nimport time\n", "core must not import time"),
        ("memory/strength.py", "\nfrom .terms import _x\n", "_x is private to another module"),
        ("interfaces/cli.py", "\nX = 'SELECT id FROM memories'\n", "SQL outside store and db"),
        ("interfaces/cli.py", "\nfrom ..flows import recall\n", "must not import recollect.flows"),
        ("index/sql.py", "\nfrom ..db import sqlite\n", "store must not import recollect.db"),
        (
            "memory/steps.py",
            "\ntry:\n    pass\nexcept Exception:\n    pass\n",
            "catches Exception and does not raise",
        ),
        ("memory/steps.py", "\ntry:\n    pass\nexcept:\n    pass\n", "catches everything"),
        ("memory/strength.py", "\n" * 500, "lines, more than 400"),
        ("memory/strength.py", "\ndef f() -> None:\n" + "    print()\n" * 70, "f has 71 lines"),
        (
            "memory/strength.py",
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
    assert any(expected in found for found in violations(copy)), violations(copy)
