"""A model that obeys every text it reads cannot make rules, preferences or procedures of it."""

from __future__ import annotations

from pathlib import Path

import recollect
from tests.autonomous.conversations import RULE, serving
from tests.autonomous.poison import FORMS, MARK, attack
from tests.conftest import Clock


def test_nothing_planted_becomes_a_rule_or_is_injected_unquoted(
    project: Path, tmp_path: Path, clock: Clock
) -> None:
    """All 500 transcripts: `python -m tests.autonomous.poison`."""
    environment = {"RECOLLECT_HOME": str(tmp_path / "home"), "HOME": str(tmp_path)}
    with (
        serving() as server,
        recollect.open(project, clock=clock, environment=environment, origin="user") as mem,
    ):
        assert attack(mem, server, clock, 2 * len(FORMS)) == []
        asked = [str(body) for _, _, body in server.requests]
        assert all(any(f"planted-{n}" in one for one in asked) for n in range(20)), "it was tempted"
        assert RULE in mem.briefing().text, "a model cannot drop the user's rule"
        page = (project / ".recollect/MEMORY.md").read_text()
        assert MARK.search(page), "what an agent repeated is quoted"
        held = mem.list(limit=1000)
        assert all(one.label != "user" for one in held if MARK.search(one.text))
