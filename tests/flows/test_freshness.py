"""What memories say about the code: checked before use, followed where it moved."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

import recollect
from recollect.flows import freshness
from recollect.store import claims

LONG_AGO = 1_600_000_000
Mem = recollect.Recollect


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=Test", "-c", "user.email=test@example.com")
    environment = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, "HOME": "/"}
    subprocess.run(("git", *identity, *arguments), cwd=folder, env=environment, check=True)


def write(place: Path, text: str, age: int = 0) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)
    os.utime(place, (LONG_AGO + age, LONG_AGO + age))


@pytest.fixture
def code(mem: Mem) -> Path:
    """A repository with two files, older than a look needs."""
    root = Path(mem.project.root)
    git(root, "init", "--quiet")
    write(root / "src/auth.py", "def login():\n    return 1\n")
    write(root / "src/mail.py", "def send():\n    return 2\n")
    git(root, "add", "src")
    git(root, "commit", "--quiet", "-m", "first")
    return root


def states(mem: Mem, *ids: str) -> list[tuple[str, str]]:
    found = mem._freshness(ids)
    return [(found[id].state, found[id].moved_to) for id in ids]


def kept(mem: Mem, id: str) -> claims.ClaimRow:
    return mem._project_space.read(lambda tx: claims.of_memories(tx, [id]))[id][0]


def test_while_nothing_changed_the_tree_is_not_looked_at(mem: Mem, code: Path) -> None:
    ids = [
        mem.learn("`login()` in src/auth.py takes no password").id,
        mem.learn("`send()` in src/mail.py retries twice").id,
        mem.learn("The logo is blue").id,
    ]
    seen: set[freshness.Look] = set()

    def same(looks: Iterable[freshness.Look]) -> set[freshness.Look]:
        seen.update(looks)
        return set()

    def never() -> freshness.Tree:
        raise AssertionError("it was looked at")

    found = freshness.check(mem._project_space, same, never, ids, 1)
    assert {path for path, _ in seen} == {"src/auth.py", "src/mail.py"}
    assert found == {ids[0]: ("fresh", ""), ids[1]: ("fresh", "")}


def test_only_the_memory_of_a_changed_file_is_judged_anew(mem: Mem, code: Path) -> None:
    one = mem.learn("`login()` in src/auth.py takes no password").id
    other = mem.learn("`send()` in src/mail.py retries twice").id
    write(code / "src/auth.py", "def login(password):\n    return 1\n", age=1)
    before = kept(mem, other)
    assert states(mem, one, other) == [("changed", ""), ("fresh", "")]
    assert kept(mem, one).state == "changed" and kept(mem, other) == before
    assert states(mem, one, other) == [("changed", ""), ("fresh", "")]
    write(code / "src/auth.py", "def login():\n    return 1\n", age=2)
    assert states(mem, one) == [("fresh", "")]


def test_a_memory_is_as_fresh_as_the_worst_of_its_claims(mem: Mem, code: Path) -> None:
    both = mem.learn("`login()` in src/auth.py calls `send()` in src/mail.py").id
    assert states(mem, both) == [("fresh", "")]
    (code / "src/mail.py").unlink()
    assert states(mem, both) == [("missing", "")]
    assert states(mem, both) == [("missing", "")]


def test_what_cannot_be_verified_says_so_and_costs_no_look(mem: Mem, code: Path) -> None:
    cited = mem.learn("Deploys need a ticket", citations=["ops/deploy.sh"]).id
    assert states(mem, cited) == [("unverifiable", "")]


def test_verify_follows_a_file_that_moved_and_pins_it_there(mem: Mem, code: Path) -> None:
    id = mem.learn("`login()` in src/auth.py takes no password").id
    (code / "src/auth.py").rename(code / "src/login.py")
    report = mem.verify()
    assert [(item.state, item.moved_to) for item in report.stale] == [("moved", "src/login.py")]
    assert mem.verify(fix=True).repaired == 1
    assert kept(mem, id).path == "src/login.py"
    assert states(mem, id) == [("fresh", "")]
    assert mem.verify(fix=True).stale == ()


def test_verify_does_not_follow_to_a_place_that_is_gone_again(mem: Mem, code: Path) -> None:
    id = mem.learn("`login()` in src/auth.py takes no password").id
    (code / "src/auth.py").rename(code / "src/login.py")
    assert states(mem, id) == [("moved", "src/login.py")]
    (code / "src/login.py").unlink()
    report = mem.verify(fix=True)
    assert [(item.state, item.moved_to) for item in report.stale] == [("missing", "")]
    assert report.repaired == 0 and kept(mem, id).path == "src/auth.py"


def test_verify_of_an_empty_store_has_nothing_to_say(mem: Mem, code: Path) -> None:
    assert mem.verify(fix=True) == freshness.Report(0, 0, ())
    assert states(mem) == []
