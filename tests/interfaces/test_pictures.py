"""The screens as pictures, and how they change with the terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from recollect.interfaces.screens import style
from recollect.text import display
from recollect.types.records import Recalled
from tests.interfaces import screens


@pytest.fixture(autouse=True)
def _plain_page() -> Iterator[None]:
    """No test leaves its page to another."""
    yield
    style.use_page(style.Page())


def test_every_screen_looks_as_in_its_picture() -> None:
    """`python -m tests.interfaces.screens` draws them anew; look at them."""
    drawn = dict(screens.pictures())
    assert {path.name for path in screens.FOLDER.iterdir()} == drawn.keys()
    for name, picture in drawn.items():
        assert picture == (screens.FOLDER / name).read_text(encoding="utf-8"), name


@pytest.mark.parametrize("name", screens.NAMES)
@pytest.mark.parametrize("columns", [50, 80, 120])
def test_a_screen_fits_the_terminal(name: str, columns: int) -> None:
    style.use_page(screens.terminal_page(columns, 24, colour=False))
    shown = screens.render(name).splitlines()
    # An example is copied as it is.
    lines = [line for line in shown if not line.startswith("  recollect ")]
    widest = max(lines, key=display.cell_width)
    assert display.cell_width(widest) <= max(columns, 54 if name == "sizes" else 0), widest


@pytest.mark.parametrize("name", screens.NAMES)
def test_without_colour_a_screen_has_the_same_text(name: str) -> None:
    style.use_page(screens.terminal_page(80, 24))
    painted = screens.render(name)
    style.use_page(screens.terminal_page(80, 24, colour=False))
    plain = screens.render(name)
    assert "\x1b" in painted
    assert "\x1b" not in plain
    assert re.sub(r"\x1b\[[0-9;]*m", "", painted) == plain


def test_a_pipe_gets_whole_ids_and_no_colour() -> None:
    style.use_page(style.Page())
    piped = screens.render("list")
    assert "m-2njea0000000" in piped and screens.LONG in piped and "\x1b" not in piped


def test_recall_shows_one_screen_and_says_how_many_more_there_are() -> None:
    one = screens.RECALLED[0]
    many = Recalled([one._replace(text=f"{one.text} {at}") for at in range(30)], left_out=2)
    style.use_page(screens.terminal_page(80, 24, colour=False))
    shown = style.finish(_recall(many))
    assert len(shown.splitlines()) < 24
    count = shown.count("reference  m-7fkq")
    assert count >= 3
    assert f"({32 - count} more; show them: -n 32)" in shown
    many.budget_for_all = 3000
    assert f"({32 - count} more; show them: -n 32 --budget 3000)" in _recall(many)


def test_recall_shows_a_text_once_and_as_a_memory() -> None:
    memory, message, *_ = screens.RECALLED
    said = message._replace(text=memory.text, score=0.9)
    found = Recalled((said, said._replace(score=0.8), message._replace(score=0.71), memory))
    style.use_page(screens.terminal_page(80, 24, colour=False))
    shown = style.finish(_recall(found))
    assert shown.startswith("reference  m-7fkq") and shown.count("Integration tests need") == 1
    assert "(2 with the same text not repeated)" in shown
    style.use_page(screens.PIPE)
    assert _recall(found).count("Integration tests need") == 3


def test_recall_leaves_out_the_tail_of_noise() -> None:
    style.use_page(screens.PIPE._replace(query="redis integration tests pip"))
    assert "The logo is green" not in _recall(screens.RECALLED)
    style.use_page(screens.PIPE._replace(query="redis", whole=True))
    assert "The logo is green" in _recall(screens.RECALLED)


def test_recall_says_when_nothing_matches_well() -> None:
    style.use_page(screens.PIPE)
    weak = Recalled(hit._replace(score=hit.score * 0.3) for hit in screens.RECALLED)
    assert _recall(weak).startswith("no good match; the nearest:\n")
    assert "no good match" not in _recall(screens.RECALLED)
    weak.commands = ("`make test` worked in 3 sessions",)
    assert "no good match" not in _recall(weak)


def _recall(recalled: Recalled) -> str:
    from recollect.interfaces.screens.recall import render_recalled

    return render_recalled(recalled)


def test_stored_text_cannot_paint_the_screen() -> None:
    style.use_page(screens.terminal_page(80, 24))
    told = style.finish("a \x1b[31mred\x1b[0m word, " + style.paint("warn", "ours"))
    assert told == "a \\u{1b}[31mred\\u{1b}[0m word, \x1b[33mours\x1b[0m"


@pytest.mark.parametrize(
    ("variables", "is_terminal", "wanted"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"FORCE_COLOR": "1"}, False, True),
        ({"FORCE_COLOR": "0"}, True, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, True, False),
        ({"TERM": "dumb"}, True, False),
    ],
)
def test_colour_follows_the_variables(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], is_terminal: bool, wanted: bool
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    class Stream:
        def isatty(self) -> bool:
            return is_terminal

    assert style.wants_colour(Stream()) is wanted  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "none yet"),
        ({"limit": 0}, "a limit of 0 shows nothing: leave -n out"),
        ({"kind": "policy", "limit": 5}, "no memory with --kind policy"),
        ({"offset": 10}, "no memory after the first 10"),
        ({"path": "src/a.py"}, "none yet"),
    ],
)
def test_an_empty_list_says_why(given: dict[str, object], says: str) -> None:
    style.use_page(style.Page(given=given))
    assert style.render_none("none yet", "memory", place="path") == says


def test_long_lines_are_wrapped_below_their_column() -> None:
    style.use_page(style.Page(30, 24, True, True))
    told = style.wrap_long("    7  tool: " + style.paint("bad", "one two") + " three four five six")
    assert style.finish(told) == (
        "    7  tool: \x1b[1;31mone two\x1b[0m three\n       four five six"
    )
    style.use_page(style.Page())
    assert style.wrap_long("x " * 200) == "x " * 200
