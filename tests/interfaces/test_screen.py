"""What a person sees at a terminal, wide or narrow, with colour or without."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Callable
from pathlib import Path

import pytest

from recollect.agents.operations_import import Progress
from recollect.interfaces.screens.terminal import render_progress

Seen = Callable[..., str]


@pytest.fixture
def seen(project: Path, tmp_path: Path) -> Seen:
    """Runs a command at a terminal of so many columns; gives what is on the screen."""

    def run(*words: str, columns: int = 80, **more: str) -> str:
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        environment = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.pathsep.join(sys.path),
            "RECOLLECT_HOME": str(tmp_path / "home"),
            "RECOLLECT_PAGER": "cat",
            "TERM": "xterm",
            **more,
        }
        command = [sys.executable, "-m", "recollect", *words]
        with subprocess.Popen(
            command, cwd=project, env=environment, stdin=slave, stdout=slave, stderr=slave
        ) as running:
            os.close(slave)
            said = b""
            while True:
                try:
                    more_said = os.read(master, 10_000)
                except OSError:  # the terminal is gone with its last reader
                    break
                if not more_said:
                    break
                said += more_said
        os.close(master)
        assert running.returncode == 0, said
        return said.decode().replace("\r\n", "\n")

    return run


@pytest.mark.parametrize("columns", [50, 80, 200])
def test_the_demo_fits_the_terminal(seen: Seen, columns: int) -> None:
    lines = seen("demo", columns=columns, NO_COLOR="1").splitlines()
    told = [line for line in lines if line.startswith("  ")]
    assert told
    assert max(map(len, told)) <= columns


@pytest.mark.parametrize(("variable", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_colour_can_be_switched_off(seen: Seen, variable: str, value: str) -> None:
    assert "\033[1m" in seen("demo")
    assert "\033" not in seen("demo", **{variable: value})


def test_a_terminal_that_cannot_overwrite_a_line_shows_no_progress(seen: Seen) -> None:
    seen("learn", "a fact about this project")
    assert "\033[K" in seen("rebuild")
    assert "\033" not in seen("rebuild", TERM="dumb")


def test_progress_says_what_how_far_and_how_long() -> None:
    words = render_progress(Progress("words", 5, 10, 0), 0.5, seconds=1.0)
    assert words.endswith(" 50%  indexing words")
    assert "left" not in words  # too early for an estimate
    talk = render_progress(Progress("talk.jsonl", 5, 10, 3, 2, 4), 0.375, seconds=30.0)
    assert talk.endswith(" 38%  50 s left  2 of 4  3 new  talk.jsonl")


def test_progress_fits_the_terminal_that_it_is_drawn_on() -> None:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
    code = (
        "from recollect.context import Progress\n"
        "from recollect.interfaces.screens.terminal import render_progress\n"
        "print(len(render_progress(Progress('/long' * 40, 5, 10, 0), 0.5, 1.0)))"
    )
    plain = {name: text for name, text in os.environ.items() if name not in ("COLUMNS", "LINES")}
    done = subprocess.run(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=theirs, env=plain
    )
    os.close(ours)
    os.close(theirs)
    assert int(done.stdout) < 60


def test_memories_to_prune_are_listed_with_their_text(seen: Seen) -> None:
    seen("learn", "the moon is made of green cheese", "--confidence", "0.1")
    assert "the moon is made of green cheese" in seen("prune", columns=120)


def test_empty_screens_name_the_first_command(seen: Seen) -> None:
    assert "recollect episode build" in " ".join(seen("consolidate").split())
    assert "no memory makes a claim about files" in seen("verify")


def test_blank_lines_of_a_hit_are_not_shown(seen: Seen) -> None:
    seen("record", "s-1", "the heron protocol\n\n\nwants a nonce")
    shown = seen("recall", "heron nonce", NO_COLOR="1")
    assert "  the heron protocol wants a nonce\n" in shown
