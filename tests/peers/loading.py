"""Loads another project's test file, word for word, with its store replaced by ours."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

VERBATIM = Path(__file__).parent / "verbatim"


def loaded(name: str, imports: Mapping[str, str], not_ours: Mapping[str, str]) -> dict[str, Any]:
    """What a file of tests defines. `imports` replaces lines of its head; `not_ours` names tests
    that look inside the store they were written for, each with the reason."""
    source = (VERBATIM / name).read_text(encoding="utf-8")
    for line, ours in imports.items():
        assert line in source, f"{name} does not hold: {line}"
        source = source.replace(line, ours)
    defined: dict[str, Any] = {"__name__": f"tests.peers.{name.removesuffix('.py')}"}
    exec(compile(source, str(VERBATIM / name), "exec"), defined)  # noqa: S102
    for test in not_ours:
        group, _, method = test.rpartition(".")
        if group:
            delattr(defined[group], method)
        else:
            del defined[test]
    del defined["__name__"], defined["__builtins__"]
    return defined
