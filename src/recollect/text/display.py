"""Format values for output: JSON for programs, safe text for a terminal.

Stored text is data: control sequences, direction overrides and invisible characters are escaped,
never passed to the terminal.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from ..fast_typing import Any
from ..types.records import FOREVER

MEMORY_TAG = "recollect-memory"
"""Wraps everything that we inject, except the thread summary."""

SUMMARY_TAG = "thread_summary"
"""Wraps the summary of the messages that left the window."""

_TIMES = (
    "at created last_active first_seen last_confirmed last_reinforced last_recalled valid_from"
    " valid_to updated since until"
)
TIME_FIELDS = frozenset(_TIMES.split())


def escape_invisible(text: str) -> str:
    """Escape control, direction and invisible characters."""
    if text.replace("\n", "").isprintable():
        return text
    return re.sub(_HIDDEN, lambda found: f"\\u{{{ord(found[0]):x}}}", text.replace("\r\n", "\n"))


_PASSWORD = (
    r"((?:://|^|\")[^:/@\s\"]*:)[^/?\s\"]*(?=@)|"
    r"(\b(?:ssl)?password\s*=\s*)(?:'(?:[^'\\]|\\.)*'|[^\s&\"]+)"
)


def hide_password(text: str) -> str:
    """Return an address, or a sentence with one in quotes, without its password."""
    return re.sub(_PASSWORD, lambda found: f"{found[1] or found[2]}***", text)


def format_json(value: Any) -> str:
    """Format a value as JSON, with control and invisible characters escaped."""
    from json import dumps

    text = dumps(to_plain_json(value), ensure_ascii=False, indent=2)
    return text if text.isascii() and "\x7f" not in text else re.sub(_HIDDEN, _escaped, text)


def _escaped(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def strip_terminal_escapes(text: str, instead: str = " ") -> str:
    """Replace the control sequences of a terminal."""
    return re.sub(_ESCAPES, instead, text)


_ESCAPES = "\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]{0,1000}(?:\x07|\x1b\\\\)?|[@-Z\\\\-_])"
_HIDDEN = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\U000e0000-\U000e007f\ud800-\udfff]"
)


def format_line(text: str, width: int = 0) -> str:
    """Join the text to one line, and cut it with an ellipsis at `width` columns."""
    line = escape_invisible(" ".join(text.split()))
    if not width or cell_width(line) <= width:
        return line
    taken = 0
    for at, character in enumerate(line):
        taken += cell_width(character)
        if taken >= width:
            return line[:at] + "…"
    return line


def shorten(text: str, longest: int) -> str:
    """Return a text cut with an ellipsis at a number of characters."""
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"


def cell_width(text: str) -> int:
    """Return the width in terminal columns: East Asian characters take two."""
    if text.isascii():
        return len(text)
    from unicodedata import east_asian_width

    return sum(2 if east_asian_width(character) in "WF" else 1 for character in text)


def format_count(number: int, noun: str, nouns: str = "") -> str:
    """Format a count with its noun: `1 message`, `2 messages`; `nouns` is an irregular plural."""
    return f"{number} {noun if number == 1 else nouns or noun + 's'}"


def format_time(us: int) -> str:
    """Format a time in UTC; empty for 0 and for FOREVER."""
    if us <= 0 or us >= FOREVER:
        return ""
    seconds, fraction = divmod(us, 1_000_000)
    days, seconds = divmod(seconds, 86_400)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{_date(days)}T{clock}{f'.{fraction:06}' if fraction else ''}Z"


def _date(days: int) -> str:
    """Return the date of a day since 1970-01-01, without importing `datetime`."""
    shifted = days + 719_468
    era, day_of_era = divmod(shifted, 146_097)
    year_of_era = (
        day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096
    ) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    month = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * month + 2) // 5 + 1
    month += 3 if month < 10 else -9
    return f"{year_of_era + era * 400 + (month <= 2):04}-{month:02}-{day:02}"


def to_plain_json(value: Any, name: str = "") -> Any:
    """Convert a value to plain JSON: records become objects, their times ISO texts."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        found = {
            field: to_plain_json(item, field)
            for field, item in zip(value._fields, value, strict=True)
        }
        if "address" not in found and hasattr(value, "address"):
            found["address"] = value.address
        return found
    if isinstance(value, dict):
        return {str(key): to_plain_json(item, str(key)) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        listed = [to_plain_json(item) for item in value]
        more = getattr(value, "__dict__", None)
        return (
            {"hits": listed, **{key: to_plain_json(item) for key, item in more.items()}}
            if more
            else listed
        )
    if name in TIME_FIELDS and isinstance(value, int) and not isinstance(value, bool):
        return format_time(value) or None
    return value


def quote_data(text: str) -> str:
    """Quote a text as one line of JSON, without anything that could pass for our own tags."""
    from json import dumps

    return dumps(neutralise(text), ensure_ascii=False)


def neutralise(text: str) -> str:
    """Remove control and invisible characters, and break our own tags."""
    if not (text.isascii() and text.isprintable()):
        text = re.sub(_STEERING, "", re.sub(_LINE_BREAKS, "\n", text))
    return own_tags().sub("‹", text) if "<" in text or "＜" in text else text


_LINE_BREAKS = "\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]"
_STEERING = (
    "\x1b\\[[0-?]*[ -/]*[@-~]|[\x00-\x08\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4"
    "\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0"
    "\ufff0-\ufffb\U000e0000-\U000e0fff\ud800-\udfff]"
)


@cache
def own_tags() -> re.Pattern[str]:
    """Return the pattern of our own tags, which other texts must not forge."""
    tags = "|".join((MEMORY_TAG, SUMMARY_TAG))
    return re.compile(rf"[<＜](?=\s*[/／]?\s*(?:{tags}))", re.IGNORECASE)


_MOST_PLACES = 50
"""Occurrences of a term that are compared to cut a snippet."""


SNIPPET = 600
"""Characters of a snippet."""


def cut_snippet(text: str, terms: Sequence[str]) -> str:
    """Return the part of a long text that has most of the terms close together."""
    if len(text) <= SNIPPET:
        return text
    start = max(_find_densest(text.casefold(), terms, SNIPPET // 2) - SNIPPET // 4, 0)
    if start:
        blank = text.find(" ", start, start + 40)
        start = blank + 1 if blank >= 0 else start
    end = start + SNIPPET
    return ("…" if start else "") + text[start:end].strip() + ("…" if end < len(text) else "")


def _find_densest(text: str, terms: Sequence[str], width: int) -> int:
    """Return the start of the part of a text with most of the terms; the first of several."""
    places = sorted(
        (found.start(), number)
        for number, term in enumerate(terms)
        for found in [*re.finditer(re.escape(term), text)][:_MOST_PLACES]
    )
    best, most, first = 0, 0, 0
    inside: dict[int, int] = {}
    for place, number in places:
        inside[number] = inside.get(number, 0) + 1
        while place - places[first][0] > width:
            left = places[first][1]
            inside[left] -= 1
            if not inside[left]:
                del inside[left]
            first += 1
        if len(inside) > most:
            best, most = places[first][0], len(inside)
    return best
