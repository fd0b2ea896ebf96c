"""What a person sees of autonomous memory and its jobs, in a chat and at a terminal."""

from __future__ import annotations

from pathlib import Path

import recollect
from recollect.interfaces.slash import run_slash
from tests.autonomous.conversations import later, serving, switch, worked
from tests.conftest import PATIENCE, Clock

Mem = recollect.Recollect


def opened(project: Path, tmp_path: Path, clock: Clock) -> Mem:
    environment = {"RECOLLECT_HOME": str(tmp_path / "home"), "HOME": str(tmp_path)}
    return recollect.open(project, clock=clock, environment=environment, origin="user")


def test_a_run_says_what_it_did_and_what_to_do_next(
    project: Path, tmp_path: Path, clock: Clock
) -> None:
    with opened(project, tmp_path, clock) as mem:
        assert run_slash(mem, "/memory rebuild --dry-run") == "nothing to do"
        worked(mem, "s-1")
        later(clock)
        plan = run_slash(mem, "/memory rebuild --dry-run")
        assert plan.endswith("1 session would be read by rules: no tokens")
        assert run_slash(mem, "/memory rebuild").splitlines() == [
            "1 session extracted by rules, 3 statements kept",
            "wrote MEMORY.md, memory_summary.md",
        ]
        assert "queued for the next start of a session\nit is switched off" in run_slash(
            mem, "/memory enqueue"
        )
        state = run_slash(mem, "/memory diagnose").splitlines()
        assert state[0] == "autonomous memory is off. Switch it on: memories.enabled = true"
        assert "jobs: done 1, pending 1" in state
        assert "MEMORY.md written 2026-09-22T03:13Z from 1 session" in state
        listed = run_slash(mem, "/jobs list")
        assert ["j-extract-s-1", "done"] in [line.split()[:2] for line in listed.splitlines()]
        assert "j-extract-s-1: done, 0 tries" in run_slash(mem, "/jobs show j-extract-s-1")
        assert "would hide" in run_slash(mem, "/memory clear")
        cleared = run_slash(mem, "/memory clear --apply")
        assert "MEMORY.md, memory_summary.md in" in cleared
        assert cleared.endswith("undo: recollect clear undo")


def test_why_a_model_fails_is_in_status_diagnose_stats_and_doctor(
    project: Path, tmp_path: Path, clock: Clock
) -> None:
    with opened(project, tmp_path, clock) as mem, serving() as server:
        worked(mem, "s-1")
        later(clock)
        server.status = 401
        switch(mem, models_default=f"{server.url} tiny", models_timeout=PATIENCE)
        said = run_slash(mem, "/memory rebuild")
        assert "failed and wait for another try" in said
        why = "the model's server answered 401: the key is missing or wrong (compatible:tiny)"
        assert f"j-extract-s-1 (error, 1 try): {why}" in run_slash(mem, "/memory diagnose")
        assert why in run_slash(mem, "/stats")
        assert any(why in line for line in mem.store.status().background)
        assert "autonomous memory off" in run_slash(mem, "/status")
        [check] = [one for one in mem.store.doctor().checks if one.name == "autonomous memory"]
        assert not check.ok
        assert why in check.detail


def test_a_memory_that_never_ran_says_nothing_of_it(
    project: Path, tmp_path: Path, clock: Clock
) -> None:
    with opened(project, tmp_path, clock) as mem:
        mem.learn("Tests need Redis")
        assert "autonomous" not in run_slash(mem, "/stats")
        assert "autonomous memory" not in [one.name for one in mem.store.doctor().checks]
        assert mem.autonomous.diagnose().jobs == {}
