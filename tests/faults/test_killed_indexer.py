"""Killing the indexer at any moment loses nothing: everything is found by its words, and indexing
again gives the same answers."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import recollect
from recollect import Message
from tests.conftest import START
from tests.faults.tiers import choose

ROOT = Path(__file__).parents[2]
MESSAGES = 230
"""More than one batch."""

KILLS = choose(2, 5, 20)

QUESTIONS = (
    "why did the nightly build fail",
    "which port does the cache listen on",
    "what did I decide about retries last week",
    "how are large uploads refused",
    "number nonce17x",
)
SAID = (
    "the nightly build failed because a certificate had expired",
    "the cache listens on port {0} since yesterday",
    "I decided to retry uploads {0} times",
    "uploads above {0} megabytes are refused by the proxy",
    "the report of customer {0} is sorted by month",
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with everything that can be found in it, none of it indexed by meaning yet."""
    folder = tmp_path / "project"
    folder.mkdir()
    with opened(folder) as memory:
        for number in range(MESSAGES):
            text = f"{SAID[number % len(SAID)].format(number)} nonce{number}x"
            role = "assistant" if number % 3 else "user"
            at = START + number * 60_000_000
            memory.record(f"s-{number // 20}", Message(role, text, at=at))
        for number in range(20):
            memory.learn(f"Rule {number} of the proxy is marked rule{number}y", kind="reference")
        memory.scratch.store("plan", "the plan for the release is kept as document1z")
        memory.episodes.record("find the leak named episode1w", outcome="success")
        memory.procedures.learn("release", "how to release, named procedure1v", steps=["tag it"])
    return folder


def opened(project: Path, **settings: str) -> recollect.Recollect:
    environment = {**os.environ, **settings}
    return recollect.open(project, environment=environment, clock=lambda: START * 2, origin="user")


def index(project: Path, how: str, last: int = 0) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.faults.indexer", str(project), how, str(last)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )


def answers(project: Path) -> list[list[tuple[str, float]]]:
    with opened(project) as memory:
        return [
            [(hit.address, round(hit.score, 9)) for hit in memory.recall(question, limit=20)]
            for question in QUESTIONS
        ]


def unfindable(project: Path) -> list[str]:
    """What the words that nothing else has do not find."""
    names = [f"nonce{number}x" for number in range(MESSAGES)]
    names += [f"rule{number}y" for number in range(20)]
    names += ["document1z", "episode1w", "procedure1v"]
    with opened(project, RECOLLECT_EMBEDDER="off") as memory:
        return [
            name for name in names if name not in "".join(one.text for one in memory.recall(name))
        ]


@pytest.mark.parametrize("how", ["all", "missing"])
def test_an_indexer_killed_at_any_statement_loses_nothing(project: Path, how: str) -> None:
    start = project.with_name("start")
    shutil.copytree(project, start)
    assert index(project, "missing").returncode == 0
    before = answers(project)
    assert all(before)
    if how == "all":
        shutil.rmtree(start)
        shutil.copytree(project, start)
    again(start, project)
    total = int(index(project, how).stdout)
    assert answers(project) == before
    for part in range(1, KILLS + 1):
        again(start, project)
        last = total * part // (KILLS + 1)
        assert index(project, how, last).returncode == -signal.SIGKILL
        assert unfindable(project) == []
        with opened(project) as memory:
            assert memory.verify(archive=True).messages == MESSAGES
        assert index(project, "missing").returncode == 0
        assert answers(project) == before, f"killed at {last} of {total}"


def again(start: Path, project: Path) -> None:
    shutil.rmtree(project)
    shutil.copytree(start, project)
