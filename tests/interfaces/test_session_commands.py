"""`recollect session …` through real processes, from a list of messages to an exported page."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any


def run(project: Path, *words: str) -> Any:
    """What a command prints as JSON."""
    home = project.parent
    done = subprocess.run(
        [sys.executable, "-m", "recollect", *words, "--json"],
        cwd=project,
        env={"PATH": os.environ["PATH"], "HOME": str(home), "RECOLLECT_HOME": str(home / "home")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    assert done.stderr == ""
    return json.loads(done.stdout)


def test_a_session_from_import_to_export(project: Path) -> None:
    messages = [
        {"role": role, "content": f"{role} {n}: the heron protocol needs word{n} in every frame"}
        for n in range(40)
        for role in ("user", "assistant")
    ]
    (project / "talk.json").write_text(json.dumps(messages), encoding="utf-8")
    imported = run(project, "session", "import", "talk.json", "--session", "s-1")
    assert (imported["messages"], imported["known"], imported["sessions"]) == (80, 0, ["s-1"])
    assert run(project, "session", "rename", "s-1", "Herons")["name"] == "Herons"
    assert run(project, "session", "switch", "s-1")["id"] == "s-1"
    assert len(run(project, "session", "recent", "--n", "3")) == 3
    prompt = run(project, "session", "prepare", "s-1", "2500", "--max-output", "100")
    assert prompt["trimmed"]
    assert prompt["tokens"] <= prompt["limit"]
    assert prompt["messages"][-1]["content"] == messages[-1]["content"]
    refused = run(project, "session", "overflow", "s-1", "--context-window", "2500")
    assert refused["tokens"] < prompt["tokens"]
    trimmed = run(project, "session", "trim", "--to", "1")
    assert trimmed["after"] < refused["tokens"]
    [found] = run(project, "session", "search", "word3", "--mode", "plain", "--max-results", "1")
    assert found["preview"] == messages[7]["content"]
    assert "Current task" in run(project, "retrieve", "session_progress")["text"]
    exported = run(project, "session", "export", "talk.html")
    assert Path(exported["path"]).read_text(encoding="utf-8").count("<article") == 80
    assert run(project, "session", "end", "s-1")["status"] == "ended"
    assert run(project, "session", "list", "--status", "ended")[0]["id"] == "s-1"
