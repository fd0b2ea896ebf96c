"""The pictures of screens: `python -m tests.interfaces.screens` draws them anew.

Fixed records are shown at two sizes of a terminal, and in a pipe. The pictures follow the theme of
whoever looks at them, dark or light.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import util
from pathlib import Path
from types import ModuleType

from recollect.interfaces import commands, manual
from recollect.interfaces.screens import results, style
from recollect.interfaces.screens.review import render_item
from recollect.types.records import Check, Hit, Recalled
from recollect.types.reports import (
    LearnedCommand,
    LearnedFix,
    Lessons,
    NextStep,
    ReviewEvidence,
    ReviewItem,
    Seen,
    SeenItem,
    SettingValue,
    SizePart,
    Sizes,
    Status,
)
from tests.builders.records import DAY, NOW, memory

ROOT = Path(__file__).parent.parent.parent
FOLDER = ROOT / "tests" / "fixtures" / "screens"
SIZES = ((80, 24), (120, 40))
PIPE = style.Page()


def load_tool() -> ModuleType:
    """Return tools/terminal_picture.py."""
    path = ROOT / "tools" / "terminal_picture.py"
    about = util.spec_from_file_location("terminal_picture", path)
    assert about and about.loader
    tool = util.module_from_spec(about)
    sys.modules["terminal_picture"] = tool
    about.loader.exec_module(tool)
    return tool


RULE = "Never edit files under src/generated, they are built from the schema."
LONG = (
    "Integration tests need Redis on port 6380, and the compose file starts it on 6379: run "
    "make redis-test first, or the whole suite hangs until the timeout of ten minutes"
)
MEMORIES = (
    memory("m-2njea0000000", "policy", RULE, scope=("src/generated/**",)),
    memory("m-7fkqb0000000", "reference", LONG),
    memory("m-9xw2c0000000", "preference", "Use uv instead of pip here", status="proposed",
           label="agent", origin="agent"),
    memory("m-b41zd0000000", "fact", "統合テストには Redis が必要です", status="hidden"),
)  # fmt: skip
SHORT = {item.id: item.id[:6] for item in MEMORIES}

STATUS = Status(
    root="/home/ann/shop",
    database="/home/ann/shop/.recollect/memory.db",
    exists=True,
    paused="",
    mode="normal",
    agents=(
        Check("agent claude-code", True, "connected, last used 2026-09-21T13:40:02, 90 ms per hook"),
        Check("agent codex", False, "connected, not used yet\n0 of 6 hooks are approved: run /hooks"),
    ),
    by_kind={"preference": 4, "policy": 2, "reference": 1},
    waiting=2,
    captures=(MEMORIES[0], MEMORIES[2]._replace(first_seen=NOW - 2 * DAY)),
    sessions=2,
    messages=22,
    background=("consolidation done on 2026-09-20",),
    start_tokens=214,
    start_items=5,
    next=(NextStep("recollect doctor", "see what is wrong with a connection"),
          NextStep("recollect review", "review waiting items, one key each")),
    at=NOW + 600_000_000,
    commands=6,
    fixes=2,
)  # fmt: skip

_MESSAGE = "memory://session/codex.019a1de2-326c-7201-abe0-b8c049ba2d21/messages/2-2"
RECALLED = Recalled(
    (
        Hit(MEMORIES[1].id, MEMORIES[1].address, "reference", LONG, 0.71, "", "project", "active",
            "user", NOW),
        Hit(_MESSAGE, _MESSAGE, "message", "shell command: pytest -q tests/integration", 0.62, "",
            "session", "active", "agent", NOW, role="assistant"),
        Hit(MEMORIES[2].id, MEMORIES[2].address, "preference", "Use uv instead of pip here", 0.4,
            "", "project", "proposed", "agent", NOW),
        Hit("m-noise0000000", "memory://m-noise0000000", "fact", "The logo is green", 0.1, "",
            "project", "active", "user", NOW),
    ),
    left_out=3,
    tokens=120,
)  # fmt: skip

SEEN = Seen(
    "codex.019a1de2",
    (
        SeenItem("m-2njea0000000", "policy", RULE, "active", "start", "your rule, in every start block",
                 21, "followed", NOW),
        SeenItem("", "command", "pytest -q", "", "start", "learned here, in the start block", 12, "",
                 NOW),
        SeenItem("m-7fkqb0000000", "reference", LONG, "hidden", "turn", "your prompt named it", 40,
                 "", NOW + 60_000_000),
    ),
    73,
)  # fmt: skip

REVIEW = ReviewItem(
    id="m-9xw2c0000000", address="memory://m-9xw2c0000000", kind="preference",
    text="Use uv instead of pip here", reasons=("proposed",),
    why=("An agent stated it as a rule. Not in use.",), status="proposed", trust="agent",
    layer="project", scope=(), at=NOW,
    evidence=(ReviewEvidence("memory://session/s-1/messages/4-4", "user", NOW,
                             "The install takes ages.", "Use uv instead of pip here.",
                             "It caches wheels."),),
    answers=("keep", "edit", "scope", "hide", "later"),
)  # fmt: skip

SIZE = Sizes(
    (SizePart("conversations", 5_200_000, "every message, as it was said", "they stay"),
     SizePart("search by words", 1_900_000, "the index of all texts", "`recollect rebuild`"),
     SizePart("memories", 188_000, "statements with their revisions", "`recollect prune`")),
    (SizePart("memories", 90_000, "", ""),),
    "/home/ann/shop/.recollect/memory.db",
)  # fmt: skip

LESSONS = Lessons(
    (LearnedCommand("make check", "test", 4, NOW, "", "server"),
     LearnedCommand("uv pip install -e .", "install", 1, NOW - DAY,
                    "seen once, and every project has such a command")),
    (LearnedFix("error: failed to push some refs to '<url>'", "after running `git pull "
                "--rebase`", 2, NOW, "fix:3f9a2c"),),
    more=3,
)  # fmt: skip

SETTINGS = (
    SettingValue("briefing_budget", "400", "user", "how many tokens a briefing may cost"),
    SettingValue("embedder", "static", "default", "who finds by meaning: static (the model inside "
                 "the package), off (words only), or the address of an embeddings server"),
)  # fmt: skip


def render(name: str) -> str:
    """Return a screen on the current page."""
    if name == "help":
        return style.finish(manual.render_overview())
    if name == "learn-help":
        return style.finish(commands.render_help(commands.load_command("learn")))
    if name == "review-item":
        return style.finish("\n".join(render_item(REVIEW, style.text_width())))
    results_of = {"status": STATUS, "recall": RECALLED, "list": MEMORIES, "seen": SEEN,
                  "sizes": SIZE, "config list": SETTINGS, "lessons": LESSONS}  # fmt: skip
    return results.show(name, results_of[name])


NAMES = (
    *("help", "learn-help", "status", "recall", "list", "seen", "review-item", "sizes"),
    *("config list", "lessons"),
)


def terminal_page(columns: int, lines: int, colour: bool = True) -> style.Page:
    return style.Page(columns, lines, colour, True, SHORT, "redis integration tests pip")


def pictures() -> Iterator[tuple[str, str]]:
    """Yield each picture with the name of its file."""
    tool = load_tool()
    for name in NAMES:
        for columns, lines in SIZES:
            style.use_page(terminal_page(columns, lines))
            screen = tool.Screen(columns, lines)
            screen.feed(render(name).replace("\n", "\r\n"))
            yield f"{name.replace(' ', '-')}-{columns}x{lines}.svg", tool.draw(screen)
        style.use_page(PIPE._replace(query="redis integration tests pip"))
        yield f"{name.replace(' ', '-')}.txt", render(name) + "\n"
    style.use_page(PIPE)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for file, text in pictures():
        (FOLDER / file).write_text(text, encoding="utf-8")
