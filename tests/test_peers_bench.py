"""The comparison with other systems: a missing one is a row, and what is lost is said."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from bench.peers.__main__ import table

ROOT = Path(__file__).parents[1]


def test_recollect_is_measured_and_a_missing_system_is_a_row(tmp_path: Path) -> None:
    only = ("--mcp", str(tmp_path), "--only", "Recollect", "MCP memory server")
    done = subprocess.run(
        [sys.executable, "-m", "bench.peers", "--sizes", "40", *only],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = {line.split("|")[1].strip(): line for line in done.stdout.splitlines() if "|" in line}
    assert "not installed" in rows["MCP memory server"]
    assert "failed" not in rows["Recollect"]
    assert "| 1.00 |" in rows["Recollect"]  # every text is found by its words


def test_the_table_says_where_recollect_loses() -> None:
    ours = {"write": {"cpu": 3.0, "wall": 9.0}, "found": 1.0}
    theirs = {"write": {"cpu": 1.0, "wall": 12.0}, "found": 0.5}
    text = "\n".join(table({"Recollect": ours, "Other 1.0": theirs, "Third": "not installed"}))
    assert "- Recollect loses write one, ms CPU (3.00) to Other 1.0 1.00" in text
    assert text.count("- Recollect loses") == 1
