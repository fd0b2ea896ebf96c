"""Style text for people: colour with meaning, word wrap, tables, short ids, a pager.

Screens style for the current page: plain text of any length, unless the command line prints to a
terminal. `rich` would cost a command five times as much time:
docs/decisions/0017-own-rendering.md.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence

from ...fast_typing import TYPE_CHECKING, NamedTuple
from ...text import display

if TYPE_CHECKING:
    from typing import TextIO

WIDEST = 100
"""Columns at which text is wrapped also in a wider terminal: longer lines are hard to read."""

_NARROWEST = 20
_CODES = {
    "title": "1",
    "faint": "2",
    "good": "32",
    "warn": "33",
    "bad": "1;31",
    "id": "36",
    "match": "1;33",
    "add": "32",
    "remove": "31",
}
"""The styles by their meaning. The sixteen basic colours follow the theme of the terminal, dark or
light; bright ones are unreadable on white."""

_FIRST_MARK = 0xF0000 + int.from_bytes(os.urandom(2), "big") % 60_000
"""Styles are private characters in the text until it is printed, because control sequences in it
are escaped. They are chosen at random in each process, so that stored text cannot contain them."""
_MARKS = {style: chr(_FIRST_MARK + place) for place, style in enumerate(_CODES, 1)}
_END = chr(_FIRST_MARK)
_ESCAPES = {ord(_MARKS[style]): f"\033[{code}m" for style, code in _CODES.items()}
_ESCAPES[ord(_END)] = "\033[0m"


class Page(NamedTuple):
    """The page that screens are made for; `height` is 0 without a limit.

    `short` maps ids to their unique prefixes, `query` is the question whose words are highlighted,
    `given` are the arguments of the command, `whole` is true if a limit was one of them.
    """

    width: int = WIDEST
    height: int = 0
    colour: bool = False
    is_terminal: bool = False
    short: Mapping[str, str] = {}
    query: str = ""
    whole: bool = False
    given: Mapping[str, object] = {}


_page = Page()


def page() -> Page:
    """Return the current page."""
    return _page


def use_page(new: Page) -> None:
    """Make screens for this page."""
    global _page
    _page = new


def measure_page(stream: TextIO | None) -> Page:
    """Return the page that a stream shows: a terminal's size and colours, or plain text."""
    is_terminal = bool(stream and stream.isatty())
    size = terminal_size()
    return Page(
        width=size[0] if is_terminal else WIDEST,
        height=size[1] if is_terminal else 0,
        colour=wants_colour(stream),
        is_terminal=is_terminal,
    )


def terminal_size(descriptor: int = 1) -> tuple[int, int]:
    """Return columns and lines; 100 and 0 without a terminal. COLUMNS and LINES win."""
    try:
        columns, lines = os.get_terminal_size(descriptor)
    except OSError:
        columns, lines = 0, 0
    given = [os.environ.get(name, "") for name in ("COLUMNS", "LINES")]
    columns, lines = (
        int(text) if text.isdecimal() else number
        for text, number in zip(given, (columns, lines), strict=True)
    )
    return columns or WIDEST, lines


def terminal_width() -> int:
    """Return the number of columns of the terminal; 100 without one."""
    return terminal_size()[0]


def can_redraw(stream: TextIO | None) -> bool:
    """Check whether a stream is a terminal that can overwrite a line."""
    return bool(stream and stream.isatty() and os.environ.get("TERM") != "dumb")


def wants_colour(stream: TextIO | None) -> bool:
    """Check whether to print colours: a terminal, or FORCE_COLOR, and no NO_COLOR."""
    if os.environ.get("NO_COLOR"):
        return False
    forced = os.environ.get("FORCE_COLOR", "")
    return forced not in ("", "0") or (forced != "0" and can_redraw(stream))


# ---------------------------------------------------------------- colour


def paint(style: str, text: str) -> str:
    """Return a text in a style; unchanged on a page without colour."""
    return f"{_MARKS[style]}{text}{_END}" if style and text and _page.colour else text


def finish(text: str) -> str:
    """Escape control sequences, shorten ids, and turn the style marks into colours."""
    return _shorten(display.escape_invisible(text)).translate(_ESCAPES)


_STATUS_STYLES = {
    "proposed": "warn",
    "quarantined": "warn",
    "hidden": "faint",
    "superseded": "faint",
    "BAD": "bad",
    "ok": "good",
}


def status(word: str) -> str:
    """Return a status in the colour of its meaning."""
    return paint(_STATUS_STYLES.get(word, ""), word)


def short_id(id: str) -> str:
    """Return the prefix of an id that is unique in the store; the whole id in a pipe."""
    return _page.short.get(id, id)


def _shorten(text: str) -> str:
    """Replace whole ids by their short forms."""
    for id, short in _page.short.items():
        text = text.replace(id, short)
    return text


# ---------------------------------------------------------------- lines


def lines(*parts: str | Iterable[str]) -> str:
    """Join lines; an empty text is left out, a list of lines is added as it is."""
    found: list[str] = []
    for part in parts:
        found += [part] if isinstance(part, str) and part else part
    return "\n".join(found)


def day(at: int) -> str:
    """Return the date of a time."""
    return display.format_time(at)[:10]


def minute(at: int) -> str:
    """Return the date and time of day of a time, without seconds."""
    return display.format_time(at)[:16]


def clock(at: int) -> str:
    """Return date and time of day with a space between them."""
    return minute(at).replace("T", " ")


def wrap(text: str, width: int) -> list[str]:
    """Return lines of at most `width` columns; long words and East Asian text are cut anywhere."""
    lines: list[str] = []
    width = max(width, 1)
    for paragraph in display.escape_invisible(text).splitlines():
        line = ""
        for word in paragraph.split():
            while display.cell_width(word) > width:
                room = width - display.cell_width(line) - bool(line)
                cut = _fitting(word, room if room > 0 else width)
                lines.append(f"{line} {word[:cut]}".strip() if room > 0 else line)
                word, line = (word[cut:] if room > 0 else word), ""
            joined = f"{line} {word}".strip()
            if display.cell_width(joined) > width:
                lines.append(line)
                joined = word
            line = joined
        lines.append(line)
    return [line for line in lines if line]


def _fitting(word: str, room: int) -> int:
    """Return how many characters of a word fit, at least one."""
    used = 0
    for place, character in enumerate(word):
        used += display.cell_width(character)
        if used > room:
            return max(place, 1)
    return len(word)


def wrap_long(text: str) -> str:
    """Wrap the lines that are wider than the terminal, below their first word or column."""
    if not _page.is_terminal:
        return text
    return "\n".join(part for line in text.split("\n") for part in _wrap_line(line))


def _wrap_line(line: str) -> list[str]:
    if _width(line) <= _page.width:
        return [line]
    plain = line.translate(dict.fromkeys(_ESCAPES))
    column = re.match(r" *\S{1,20} {2,}", plain)
    indent = len(column[0]) if column else len(plain) - len(plain.lstrip(" ")) + 2
    lead = line[: len(line) - len(line.lstrip(" "))]
    first, *words = line.removeprefix(lead).split(" ")
    lines, current = list[str](), lead + first
    for word in words:
        if _width(f"{current} {word}") > _page.width and current.strip():
            lines.append(current)
            current = " " * indent + word
        else:
            current = f"{current} {word}"
    return [*lines, current]


def _width(text: str) -> int:
    """Return the columns of a text, without its marks."""
    return display.cell_width(text.translate(dict.fromkeys(_ESCAPES)))


def text_width() -> int:
    """Return the columns that wrapped text may take on this page."""
    return max(min(_page.width, WIDEST), _NARROWEST)


def fill(text: str, indent: str = "", first: str | None = None) -> list[str]:
    """Return wrapped lines that begin with an indent, the first one with another."""
    head = indent if first is None else first
    if not _page.is_terminal:
        return [head + display.format_line(text)]
    lines = wrap(text, text_width() - display.cell_width(indent)) or [""]
    return [f"{head if not place else indent}{line}" for place, line in enumerate(lines)]


def shorten_place(place: str) -> str:
    """Return the address of a message with the beginning of its session's id."""
    if not place.startswith("session/"):
        return place
    session, _, rest = place.removeprefix("session/").partition("/messages/")
    agent, dot, id = session.partition(".")
    first, _, last = rest.partition("-")
    number = f"/messages/{first if first == last else rest}" if rest else ""
    return f"session/{agent}{dot}{id[:8]}{number}"


def shorten_home(path: str) -> str:
    """Return a path with ~ for the home directory."""
    home = os.environ.get("HOME", "").rstrip("/")
    return f"~{path[len(home) :]}" if home and path.startswith(f"{home}/") else path


def render_redacted(types: Sequence[str]) -> list[str]:
    """Return a line with the types of redacted secrets, each once; none without secrets."""
    return [f"  redacted: {', '.join(dict.fromkeys(types))}"] if types else []


def format_size(number: int) -> str:
    """Return a number of bytes with its unit."""
    for unit in ("bytes", "KB", "MB"):
        if number < 1000:
            return f"{number:.0f} {unit}"
        number //= 1000
    return f"{number} GB"


def render_entry(name: str, text: str, start: int = 24) -> list[str]:
    """Return a name and its description in two columns, wrapped to the terminal."""
    room = text_width()
    # A narrow terminal has no room for two columns.
    indent = " " * (start + 3) if room >= start + 33 else "      "
    wrapped = wrap(text, max(room - len(indent), 20)) or [""]
    if len(indent) < start + 3 or len(name) > start:
        return [f"  {paint('id', name)}", *(indent + line for line in wrapped)]
    head = f"  {paint('id', name)}{' ' * (start - len(name) + 1)}{wrapped[0]}"
    return [head, *(indent + line for line in wrapped[1:])]


def hints(*rows: tuple[str, str]) -> list[str]:
    """Return commands to type next, each with its purpose."""
    start = max((len(command) for command, _ in rows), default=0) + 1
    return [line for row in rows for line in render_entry(*row, start)]


def render_none(sentence: str, noun: str, place: str = "") -> str:
    """Return why a list is empty: the limit, the filters, or else `sentence`.

    place: the argument that the list is about, which is not a filter
    """
    given = {name: value for name, value in _page.given.items() if name != place}
    if given.get("limit") == 0:
        return "a limit of 0 shows nothing: leave -n out"
    if given.get("offset"):
        return f"no {noun} after the first {given['offset']}"
    filters = [
        f"--{name.strip('_').replace('_', '-')} {_render_given(value)}".rstrip()
        for name, value in given.items()
        if name not in ("limit", "explain", "missed") and value
    ]
    return f"no {noun} with {' '.join(filters)}" if filters else sentence


def _render_given(value: object) -> str:
    if isinstance(value, bool):
        return ""
    words = value if isinstance(value, (list, tuple)) else [value]
    return display.format_line(" ".join(map(str, words)), 60)


# ---------------------------------------------------------------- tables


def render_list(heads: Sequence[str], rows: Iterable[Sequence[str]], none: str, noun: str) -> str:
    """Return a table; without rows, why it is empty (see `render_none`)."""
    items = list(rows)
    return render_table(heads, items) if items else render_none(none, noun)


def render_table(
    heads: Sequence[str],
    rows: Iterable[Sequence[str]],
    whole: bool = False,
    styles: Sequence[str] = (),
) -> str:
    """Return aligned columns; at a terminal the last one is cut to its width unless `whole`.

    `styles` are those of the columns; `status` colours each cell by its meaning. Where the terminal
    is too narrow for the columns, the last cell of each row is on lines of its own.
    """
    cells = [list(heads), *([_shorten(display.format_line(cell)) for cell in row] for row in rows)]
    columns = list(zip(*cells, strict=True))[:-1]
    widths = [max(map(display.cell_width, column)) for column in columns]
    start = sum(widths) + 2 * len(widths)
    room = max(_page.width - start, 0) if _page.is_terminal else 0
    widest = max(display.cell_width(row[-1]) for row in cells)
    stacked = _page.is_terminal and room < min(_NARROWEST, widest)
    lines = []
    for place, row in enumerate(cells):
        head = not place
        lead = "".join(
            _cell(cell, "title" if head else _style(styles, column), width + 2)
            for column, (cell, width) in enumerate(zip(row, widths, strict=False))
        )
        last = _style(styles, len(widths)) if not head else "title"
        if stacked:
            lines.append(lead.rstrip() or lead)
            lines += [
                paint(last, line) for line in fill("" if head else row[-1], "    ") if line.strip()
            ]
        else:
            text = display.format_line(row[-1], 0 if whole or not room else room)
            lines.append((lead + paint(last, text)).rstrip())
    return "\n".join(lines)


def _style(styles: Sequence[str], column: int) -> str:
    return styles[column] if column < len(styles) else ""


def _cell(text: str, style: str, width: int) -> str:
    painted = status(text) if style == "status" else paint(style, text)
    return painted + " " * (width - display.cell_width(text))


def render_diff(before: str, after: str, old: str, new: str) -> str:
    """Return a change of a file as a unified diff, in colour."""
    from difflib import unified_diff

    colours = {"+": "add", "-": "remove", "@": "faint"}
    lines = unified_diff(before.splitlines(), after.splitlines(), old, new, lineterm="", n=2)
    return "\n".join(
        paint(colours.get(line[:1], ""), display.escape_invisible(line)) for line in lines
    )


# ---------------------------------------------------------------- output


def print_page(text: str, paged: bool = True) -> None:
    """Print a finished text; with `paged`, in a pager if it is longer than the terminal."""
    lines = text.count("\n") + 1
    if paged and _page.is_terminal and _page.height and lines >= _page.height:
        from .terminal import run_pager

        if run_pager(text):
            return
    print(text)
