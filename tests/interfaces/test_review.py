"""`recollect review` at a real terminal, in a pipe, and started by an agent."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import recollect
from recollect.interfaces.screens import review, style
from recollect.text import display
from recollect.types.reports import ReviewEvidence, ReviewItem
from tests.interfaces.test_origin import SERVER

Run = Callable[..., subprocess.CompletedProcess[str]]
KEYS = "u undo  q quit"


class Terminal:
    """A command at a terminal that a person types into: waits for words before each key."""

    def __init__(self, words: list[str], project: Path, environment: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVER, sys.executable, "-m", "recollect", *words],
            cwd=project, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )  # fmt: skip
        self.screen = ""

    def press(self, key: str, after: str = KEYS) -> str:
        """Press a key when some words are on the screen; return what was shown until then."""
        shown = self.read(after)
        assert self.process.stdin
        self.process.stdin.write(key.encode())
        self.process.stdin.flush()
        return shown

    def read(self, until: str = "") -> str:
        """Read until words are shown; without any, to the end."""
        assert self.process.stdout
        while not until or until not in self.screen:
            chunk = os.read(self.process.stdout.fileno(), 4096)
            if not chunk:
                assert not until, f"{until!r} is not in {self.screen!r}"
                break
            self.screen += chunk.decode().replace("\r\n", "\n")
        at = self.screen.index(until) + len(until) if until else len(self.screen)
        shown, self.screen = self.screen[:at], self.screen[at:]
        return shown

    def close(self) -> None:
        for stream in (self.process.stdin, self.process.stdout):
            if stream:
                stream.close()
        self.process.wait()


@pytest.fixture
def at_terminal(project: Path, variables: dict[str, str]) -> Iterator[Callable[..., Terminal]]:
    opened: list[Terminal] = []

    def run(*words: str, **more: str) -> Terminal:
        environment = {**variables, "TERM": "dumb", **more}
        opened.append(Terminal(["review", *words], project, environment))
        return opened[-1]

    yield run
    for terminal in opened:
        terminal.close()


@pytest.fixture
def rules(project: Path, variables: dict[str, str]) -> list[str]:
    """Three rules that an agent proposed; the newest is asked about first."""
    with recollect.open(project, environment=variables, origin="user") as memory:
        memory.record("s-1", "The release failed. Never merge on Fridays. Ask Anna otherwise.")
    texts = ["Never merge on Fridays.", "Code review is required", "Use uv to install packages"]
    with recollect.open(project, environment=variables, origin="agent") as memory:
        for text in texts:
            memory.learn(text, kind="policy", evidence=["memory://session/s-1"])
    return texts[::-1]


@pytest.fixture
def held(project: Path, variables: dict[str, str]) -> Callable[[], dict[str, str]]:
    """Gives the status of each memory by its text."""

    def read() -> dict[str, str]:
        with recollect.open(project, environment=variables, origin="user") as memory:
            shown = [*memory.list(), *memory.list(status="hidden")]
            return {item.text: item.status for item in shown}

    return read


def test_one_key_answers_one_item(
    at_terminal: Callable[..., Terminal], rules: list[str], held: Callable[[], dict[str, str]]
) -> None:
    terminal = at_terminal()
    first = terminal.press("h")
    assert "Review 1 of 3" in first and rules[0] in first
    second = terminal.press("l")
    assert "Review 2 of 3" in second and rules[1] in second and "hidden: “Use uv" in second
    third = terminal.press("k")
    assert "> The release failed." in third and "> Ask Anna otherwise." in third
    terminal.press("x", after="any other key ends")
    assert "1 hidden, 1 kept, 1 item still waiting" in terminal.read()
    assert held() == {rules[0]: "hidden", rules[1]: "proposed", rules[2]: "active"}


class ClosedTerminal:
    """A keyboard on which `k` is pressed; then the terminal is closed."""

    pressed = False

    def __enter__(self) -> ClosedTerminal:
        return self

    def __exit__(self, *_: object) -> None: ...

    def read_key(self) -> str:
        if self.pressed:
            os.kill(os.getpid(), signal.SIGHUP)
        self.pressed = True
        return "k"


def test_closing_the_terminal_writes_the_last_answer(
    project: Path, variables: dict[str, str], rules: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(review, "one_key_input", ClosedTerminal)
    with recollect.open(project, environment=variables, origin="user") as memory:
        with pytest.raises(SystemExit):
            review.converse(memory, {})
        assert [item.text for item in memory.list(status="active")] == rules[:1]


def test_the_last_answer_is_undone_as_if_it_had_not_been_given(
    at_terminal: Callable[..., Terminal], rules: list[str], held: Callable[[], dict[str, str]]
) -> None:
    terminal = at_terminal()
    terminal.press("u")
    assert "There is nothing to undo" in terminal.press("k")
    terminal.press("u")
    shown = terminal.press("q")
    assert "Review 1 of 3" in shown and rules[0] in shown
    assert "3 items still waiting" in terminal.read()
    assert set(held().values()) == {"proposed"}


def test_the_last_item_can_be_undone_too(
    at_terminal: Callable[..., Terminal], rules: list[str], held: Callable[[], dict[str, str]]
) -> None:
    terminal = at_terminal()
    for _ in rules:
        terminal.press("h")
    terminal.press("u", after="any other key ends")
    assert rules[2] in terminal.press("q")
    assert "2 hidden, 1 item still waiting" in terminal.read()
    assert held()[rules[2]] == "proposed"


def test_quitting_and_interrupting_write_the_last_answer(
    at_terminal: Callable[..., Terminal], rules: list[str], held: Callable[[], dict[str, str]]
) -> None:
    terminal = at_terminal()
    terminal.press("h")
    terminal.press("\x03")  # Ctrl-C
    terminal.read()
    assert held()[rules[0]] == "hidden"
    terminal = at_terminal()
    terminal.press("h")
    terminal.press("\x04")  # Ctrl-D
    assert "1 hidden, 1 item still waiting" in terminal.read()
    assert held()[rules[1]] == "hidden"


# Ctrl-C just before the program waits for a key: the wait is not interrupted, as if another thread
# had received the signal.
INTERRUPTED = """
import os, pty, signal, threading, time
from recollect.interfaces.screens.terminal import one_key_input

signal.signal(signal.SIGINT, signal.default_int_handler)
os.dup2(pty.openpty()[1], 0)

def interrupt():
    time.sleep(0.3)
    signal.pthread_kill(threading.get_ident(), signal.SIGINT)

with one_key_input() as keyboard:
    threading.Thread(target=interrupt).start()
    try:
        keyboard.read_key()
    except KeyboardInterrupt:
        print("interrupted")
"""


def test_ctrl_c_just_before_the_wait_for_a_key_is_not_missed() -> None:
    words = [sys.executable, "-c", INTERRUPTED]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.stderr) == ("interrupted\n", "")


def test_text_and_scope_are_typed_in_a_line(
    at_terminal: Callable[..., Terminal], rules: list[str], project: Path, variables: dict[str, str]
) -> None:
    terminal = at_terminal()
    terminal.press("e")
    terminal.press("\x01\x0bUse uv sync\n", after="text: ")  # to the start, cut the rest
    terminal.press("s")
    terminal.press("src/** docs/**\n", after="src/api/**: ")
    terminal.press("s")
    terminal.press("\n", after="src/api/**: ")  # gives up
    terminal.press("q")
    assert "1 edited, 1 scoped, 1 item still waiting" in terminal.read()
    with recollect.open(project, environment=variables, origin="user") as memory:
        found = {item.text: (item.label, item.scope) for item in memory.list(status="active")}
    assert found == {
        "Use uv sync": ("user", ()),
        "Code review is required": ("user", ("docs/**", "src/**")),
    }


@pytest.mark.parametrize(("answer", "written"), [("y", True), ("n", False)])
def test_a_group_is_answered_with_two_keys(
    at_terminal: Callable[..., Terminal],
    rules: list[str],
    held: Callable[[], dict[str, str]],
    answer: str,
    written: bool,
) -> None:
    terminal = at_terminal("--kind", "policy")
    terminal.press("H")
    shown = terminal.press(answer, after="y/N")
    assert all(rule in shown for rule in rules)
    assert "hide all 3 items (proposed policy)?" in shown
    terminal.press("q", after="any other key ends" if written else KEYS)
    terminal.read()
    assert set(held().values()) == ({"hidden"} if written else {"proposed"})


def test_other_keys_show_what_the_keys_do(
    at_terminal: Callable[..., Terminal], rules: list[str]
) -> None:
    terminal = at_terminal()
    assert "use it as your own word" not in terminal.press("?")
    for key in ("\x1b[A", "b", "q"):
        assert "use it as your own word" in terminal.press(key)
    terminal.read()


def test_the_screen_is_cleared_and_painted_where_it_can_be(
    at_terminal: Callable[..., Terminal], rules: list[str]
) -> None:
    terminal = at_terminal(TERM="xterm")
    assert "\033[2J\033[H" in terminal.press("q")
    terminal = at_terminal(TERM="xterm", NO_COLOR="1")
    shown = terminal.press("q")
    assert "\033[2J" in shown and "\033[1m" not in shown


def test_an_empty_queue_asks_nothing(at_terminal: Callable[..., Terminal]) -> None:
    assert at_terminal().read() == "nothing waits for review\n"


def test_what_an_answer_is_refused_for_is_shown(
    at_terminal: Callable[..., Terminal], rules: list[str], project: Path, variables: dict[str, str]
) -> None:
    terminal = at_terminal()
    terminal.press("k")
    terminal.read("Review 2 of 3")
    with recollect.open(project, environment=variables, origin="user") as memory:
        (rule,) = memory.recall(rules[0], limit=1)
        memory.memories.hide(rule.id)
    terminal.press("l")
    assert "Not answered: " in terminal.press("q")
    terminal.read()


# ---------------------------------------------------------------- without a terminal


@pytest.fixture
def piped(project: Path, variables: dict[str, str]) -> Run:
    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "recollect", "review", *words],
            cwd=project, env=variables, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        )  # fmt: skip

    return run


def test_the_queue_is_listed_as_json_and_as_a_table(piped: Run, rules: list[str]) -> None:
    listed = json.loads(piped("--json").stdout)
    assert [item["text"] for item in listed] == rules
    assert listed[2]["evidence"][0]["before"] == "The release failed. "
    shown = piped().stdout
    assert all(rule in shown for rule in rules)
    assert "3 items." in shown and "recollect review ID keep|hide" in shown


def test_an_agent_hides_what_it_proposed_and_keeps_nothing(
    piped: Run, rules: list[str], held: Callable[[], dict[str, str]]
) -> None:
    id = json.loads(piped("--json").stdout)[0]["id"]
    refused = piped(id, "keep")
    assert refused.returncode != 0 and "only a person can answer keep" in refused.stderr
    assert f"hidden {id} (hidden)" in piped(id, "hide").stdout
    assert held()[rules[0]] == "hidden"
    batch = json.loads(piped("all", "hide", "--json").stdout)
    assert [one["status"] for one in batch] == ["hidden", "hidden"]


# ---------------------------------------------------------------- the picture of an item


@pytest.mark.parametrize("width", [40, 80, 100])
def test_an_item_fits_the_terminal(width: int) -> None:
    passage = ReviewEvidence("memory://session/s", "user", 0, "before " * 30, "数据库" * 30)
    item = ReviewItem(
        id="m-1", address="memory://m-1", kind="policy", text="x" * 150 + " 请始终使用中文注释" * 20,
        reasons=("proposed",), why=("because " * 30,), status="proposed", trust="agent",
        layer="project", scope=("src/**",), at=0, evidence=(passage,),
    )  # fmt: skip
    lines = review.render_item(item, width)
    assert max(map(display.cell_width, lines)) <= width
    assert "".join(lines).replace(" ", "").count("请始终使用中文注释") == 20


def test_control_sequences_in_a_memory_are_shown_and_not_obeyed() -> None:
    assert style.wrap("red \033[31m alert\u202e", 80) == ["red \\u{1b}[31m alert\\u{202e}"]
