"""A task outlives its conversation: seven steps in three processes, and nothing is told twice."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

FIRST = """
import sys, recollect
with recollect.open(sys.argv[1], origin="agent") as mem:
    # 1. The user asks for feature X.
    mem.record("s-1", "Implement feature X")
    # 2. The planner reads the notes, which know nothing of it yet.
    start = mem.work.event("context start", session="s-1")
    assert dict(start.read) == {"memory://notes": ""}
    mem.notes.set("Implement feature X", phase="build", pending=["the second endpoint"])
    # 3. The orchestrator makes the task.
    mem.tasks.start("Feature X", ["build", "review"])
    mem.tasks.phase("feature-x", "build")
    mem.work.event("phase start", "feature-x", "s-1")
    mem.tasks.decide("feature-x", "errors are problem documents", "clients expect them")
    # 4. Phase 1 completes; what was verified is written down.
    mem.tasks.verify("feature-x", ["first endpoint answers", "errors are problem documents"])
    mem.tasks.phase("feature-x", "build", report="both endpoints are there")
    mem.work.event("phase end", "feature-x", "s-1")
    mem.notes.set(pending=["review it"])
    # 5. The context resets: the conversation is gone.
    mem.work.event("conversation end", session="s-1")
"""

SECOND = """
import json, sys, recollect
with recollect.open(sys.argv[1], origin="agent") as mem:
    # 6. Another conversation knows nothing but what it reads.
    start = mem.work.event("context start", task="feature-x", session="s-2")
    read = dict(start.read)
    task = mem.tasks.show("feature-x")
    lost = mem.tasks.verify("feature-x", ["first endpoint answers"], revise="review")
    mem.tasks.phase("feature-x", "review")
    mem.learn(
        "Errors of the API are problem documents",
        layer="task", owner="feature-x", subject="API convention",
        citations=["src/api.py"], reason="clients rely on it",
    )
    print(json.dumps({
        "read": sorted(read),
        "notes": read["memory://notes"],
        "verified": read["memory://task/feature-x/verified_items.md"],
        "phase": task.phase,
        "lost": [one.item for one in lost.regressions],
    }))
"""

THIRD = """
import json, sys, recollect
with recollect.open(sys.argv[1], origin="user") as mem:
    # 7. The task is complete: what is durable is kept for every later task.
    mem.tasks.verify("feature-x", ["errors are problem documents"])
    mem.tasks.phase("feature-x", "review", report="nothing to add")
    done = mem.tasks.complete("feature-x")
    written = mem.work.event("task complete", "feature-x").written
    found = [hit for hit in mem.recall("what do errors of the API look like") if hit.layer == "project"]
    print(json.dumps({
        "report": done.report,
        "lost": len(done.regressions),
        "written": len(written),
        "found": [hit.text for hit in found if hit.kind == "fact"],
        "scratch": len(mem.scratch.list()),
        "events": [json.loads(line)["type"] for line in mem.tasks.log("feature-x").splitlines()],
    }))
"""


def told(program: str, project: Path) -> Any:
    done = subprocess.run(
        [sys.executable, "-c", program, str(project)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout) if done.stdout else None


def test_a_task_survives_two_context_resets(project: Path) -> None:
    told(FIRST, project)
    second = told(SECOND, project)
    assert second["read"] == [
        "memory://notes",
        "memory://task/feature-x/decisions.md",
        "memory://task/feature-x/observability/feature-x.ndjson",
        "memory://task/feature-x/plan.md",
        "memory://task/feature-x/reports/build.md",
        "memory://task/feature-x/revisions.md",
        "memory://task/feature-x/verified_items.md",
    ]
    assert "Feature X" in second["notes"]
    assert "- review it" in second["notes"]
    assert "- first endpoint answers" in second["verified"]
    assert second["phase"] == "", "the first phase is done, the second not begun"
    assert second["lost"] == ["errors are problem documents"]
    third = told(THIRD, project)
    assert third["lost"] == 0
    assert "review: nothing to add" in third["report"]
    assert third["written"] == 1
    assert third["found"] == ["Errors of the API are problem documents"]
    assert third["scratch"] == 0
    events = third["events"]
    assert events[0] == "task start" and events[-1] == "task complete"
    assert {"phase start", "phase end", "context start", "items verified"} <= set(events)
