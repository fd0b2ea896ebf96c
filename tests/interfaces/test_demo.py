"""`recollect demo`: all output comes from the real hooks, and no files are left."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recollect.interfaces.demo import (
    AGENTS,
    FAKE_SECRET,
    RECORDINGS,
    Sandbox,
    SilentPage,
    play_sessions,
)
from recollect.text import display

Demo = Callable[..., str]


def prompts() -> list[str]:
    """What the user says in the recordings."""
    steps = [
        json.loads(line)
        for agent in AGENTS
        for line in Path(RECORDINGS, f"{agent}.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    return [step["hook"]["prompt"] for step in steps if "prompt" in step.get("hook", {})]


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


@pytest.fixture
def demo(project: Path, tmp_path: Path) -> Demo:
    """Runs the demo as a user whose home, project and temporary folder can be looked at."""
    for name in ("home", "tmp", "config"):
        (tmp_path / name).mkdir()

    def run(*words: str) -> str:
        environment = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.pathsep.join(sys.path),
            "HOME": str(tmp_path / "home"),
            "TMPDIR": str(tmp_path / "tmp"),
            "CLAUDE_CONFIG_DIR": str(tmp_path / "config"),
            "CODEX_HOME": str(tmp_path / "config"),
            "RECOLLECT_HOME": str(tmp_path / "config"),
            "RECOLLECT_CAPTURE": "false",
        }
        done = subprocess.run(
            [sys.executable, "-m", "recollect", "demo", *words],
            cwd=project,
            env=environment,
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    return run


def test_the_demo_shows_the_hooks_answers_and_leaves_no_files(
    demo: Demo, project: Path, tmp_path: Path
) -> None:
    story = json.loads(demo("--json"))
    heard: list[dict[str, Any]] = story["hooks"]
    assert {item["agent"] for item in heard} == set(AGENTS)
    assert {"SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "SessionEnd"} <= {
        item["event"] for item in heard
    }
    texts = [memory["text"] for memory in story["captured"]]
    spoken = words(" ".join(prompts()))
    notices = "\n".join(item["notice"] for item in heard)
    [briefed] = [i for i in heard if (i["agent"], i["event"]) == ("codex", "SessionStart")]
    assert any(text in briefed["context"] for text in texts), "the next agent's model sees it"
    for text in texts:
        assert words(text) <= spoken, "it is in the user's own words"
        assert text in notices, "the user is told"
    [gone] = story["recalled_after_trim"]
    seq = int(gone["address"].rpartition("-")[2])
    assert any(first <= seq <= last for first, last in story["trimmed"]["dropped"])
    assert FAKE_SECRET not in json.dumps(story), "a secret reaches neither the store nor the models"
    for folder in (project, *(tmp_path / name for name in ("home", "tmp", "config"))):
        assert os.listdir(folder) == [], folder


def test_the_demo_fits_on_two_screens(demo: Demo) -> None:
    text = demo()
    assert len(text.splitlines()) <= 96
    shown = " ".join(text.split())
    for prompt in prompts():
        assert prompt.replace("$KEY", FAKE_SECRET) in shown
    for part in ("Recollect saved", "<recollect-memory", "[REDACTED:", "The archive is intact"):
        assert part in shown


def test_the_demo_captures_what_the_recording_says(tmp_path: Path) -> None:
    recordings = tmp_path / "recordings"
    shutil.copytree(RECORDINGS, recordings)
    said = recordings / "claude-code.jsonl"
    text = said.read_text(encoding="utf-8")
    for rule, other in (
        ("Never edit files under src/generated, they are built from the schema.", "Thank you."),
        ("From now on always run make redis-test", "From now on always run make redis-ci"),
    ):
        assert rule in text
        text = text.replace(rule, other)
    said.write_text(text, encoding="utf-8")
    (tmp_path / "sandbox").mkdir()
    story = display.format_json(
        play_sessions(Sandbox(str(tmp_path / "sandbox"), str(recordings)), SilentPage())
    )
    assert "Never edit files" not in story
    assert "make redis-ci" in json.dumps(json.loads(story)["captured"])
