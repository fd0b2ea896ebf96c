"""Dates in words: `last week` in a memory, in a question, or after `--since`.

Reads English words and ISO dates. Days and weeks (from Monday) are those of UTC. The current time
is passed in, in microseconds since 1970.

    replace_relative_dates  It broke yesterday        It broke on 2026-11-14
    find_period             what broke in May 2023?   from 2023-05-01 to before 2023-06-01
    parse_time              3d, last week             three days ago, Monday of last week
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from ..errors import InvalidInput
from ..fast_typing import TYPE_CHECKING, NamedTuple
from .terms import split_lower_words, split_terms

if TYPE_CHECKING:
    from datetime import date


LONGEST_QUESTION = 2000
"""A longer question has a text pasted below it, whose dates are not part of the question."""

_MINUTE = 60_000_000

_UNITS = {"minute": _MINUTE, "hour": 60 * _MINUTE, "day": 1440 * _MINUTE, "week": 10080 * _MINUTE}

_DAY = _UNITS["day"]

_FIRST_DAY = 719_163
"""The ordinal of 1970-01-01, a Thursday."""

_OFFSETS = {"last": -1, "previous": -1, "this": 0, "next": 1, "coming": 1}

_DAYS = {"yesterday": -1, "last": -1, "today": 0, "tonight": 0, "this": 0, "tomorrow": 1}

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")

_SHORT_UNITS = {"m": "minute", "h": "hour", "d": "day", "w": "week", "mo": "month", "y": "year"}

_WEEKDAY = "|".join(_WEEKDAYS)

_LONG_MONTHS = "january|february|april|june|july|august|september|october|november|december"

_SHORT_MONTHS = "jan|feb|mar|apr|jun|jul|aug|sept|sep|oct|nov|dec"
# `may` and `march` are more often verbs: they need a capital, or a preposition before them.
_MONTH = f"{_LONG_MONTHS}|(?-i:May|March)"

_ANY_MONTH = f"{_MONTH}|{_SHORT_MONTHS}|(?(side)(?:may|march)|(?!))"

_COUNT = rf"[0-9]{{1,3}}|an?|{'|'.join(_NUMBERS)}"

# Not inside an identifier, a path, an option or an address, and not a function call.
_EDGE_BEFORE, _EDGE_AFTER = r"(?<![\w./\\=:@#$-])", r"(?![\w/\\=@$(-]|\.\w)"

_RELATIVE = rf"""
    (?P<day>yesterday|today|tomorrow)(?:\s+(?P<part>morning|afternoon|evening|night))?
  | (?P<tonight>tonight)
  | (?P<near>this|last)\s+(?P<hours>(?<=this\s)(?:morning|afternoon|evening)|(?<=last\s)night)
  | (?<!the\s)(?P<which>last|previous|this|next|coming)
    \s+(?P<unit>week|weekend|month|year|{_WEEKDAY}|{_MONTH})(?!\s+of\b)
  | (?P<count>{_COUNT})\s+(?P<ago>minute|hour|day|week|month|year)s?\s+ago
"""

# `on Saturday mornings` is every week, not a day.
_HABIT = r"(?!\s+(?:mornings|afternoons|evenings|nights)\b)"

_DATED = rf"""
    (?P<iso>[0-9]{{4}}-[0-9]{{2}}(?:-[0-9]{{2}})?)(?P<clock>T[0-9:.]+Z?)?
  | (?P<dom>[0-9]{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<month>{_ANY_MONTH})
    (?:,?\s+(?P<year>[0-9]{{4}}))?
  | (?P<month_first>{_ANY_MONTH})\s+(?P<dom_second>[0-9]{{1,2}})(?:st|nd|rd|th)?
    (?:,?\s+(?P<year_last>[0-9]{{4}}))?
  | (?P<month_of>{_ANY_MONTH}),?\s+(?P<of_year>[0-9]{{4}})
  | (?:last|past)\s+(?:(?P<times>{_COUNT})\s+)?(?P<rolling>minute|hour|day|week|month|year)s?
  | (?(side)(?:(?P<month_only>{_ANY_MONTH})|(?P<weekday>{_WEEKDAY}){_HABIT}
    |(?P<year_only>(?:199|20[0-4])[0-9]))|(?!))
"""

_SIDES = "since|from|after|before|until|till|between|in|on|during|over|within"

_PROTECTED = r"```.*?(?:```|\Z)|`[^`\n]*`|\"[^\"\n]*\"|“[^”\n]*”|«[^»\n]*»|(?<!\w)'[^'\n]+'(?!\w)"
# Words before a bare date: `since 2026-11-14`, not `since on 2026-11-14`.
_PREPOSITIONS = frozenset(
    ("since", "until", "till", "by", "from", "before", "after", "for", "of", "on", "in", "to", "at")
)

_HINTS = """
    yesterday today tonight tomorrow morning afternoon evening night ago past minutes hour hours
    day days week weeks weekend month months year years
    monday tuesday wednesday thursday friday saturday sunday
    january february march april may june july august september october november december
    jan feb mar apr jun jul aug sep sept oct nov dec
"""


class _Period(NamedTuple):
    """A half-open period, and the unit in which it was stated."""

    first: int
    after: int
    grain: str


def replace_relative_dates(text: str, now_us: int, words: Sequence[str] | None = None) -> str:
    """Replace relative dates by absolute ones, except in code, quotes and identifiers. `words` are
    the `split_lower_words` of the text, if the caller has them."""

    def said(found: re.Match[str]) -> str:
        period = None if found["protected"] or _is_name(found) else _resolve(found, now_us)
        return _phrase(found, period) if period else found[0]

    found = split_lower_words(text) if words is None else words
    return text if _hints().isdisjoint(found) else _relative_dates().sub(said, text)


def _is_name(found: re.Match[str]) -> bool:
    """Check for a capital inside a sentence, which makes a name: a song called Yesterday."""
    word = found[0]
    if not word[0].isupper() or word.isupper():
        return False
    before = found.string[max(0, found.start() - 3) : found.start()]
    return re.search(r"(?:^|[\n.!?:;(*>#|…–—-])\W*$", before) is None


def find_period(question: str, now_us: int) -> tuple[int, int] | None:
    """Return the half-open period that a question asks about; None without one.

    The future cannot be recalled, so a period in the future is None.
    """
    question = question[:LONGEST_QUESTION]
    if not _may_hold_a_date(question):
        return None
    for found in _any_date().finditer(question):
        period = _resolve(found, now_us)
        if period:
            first, after = _apply_preposition(period, found, now_us)
            return (first, after) if first <= now_us and first < after else None
    return None


def _apply_preposition(period: _Period, found: re.Match[str], now: int) -> tuple[int, int]:
    """Apply `since`, `before` or `between … and …` to a date."""
    side = (found["side"] or "").lower()
    if side in ("from", "between"):
        rest = re.sub(r"^\s+(?:and|to|until|till)\s+", "in ", found.string[found.end() :])
        other = _any_date().match(rest)
        end = _resolve(other, now) if other else None
        if end:
            return period.first, end.after
    if side in ("since", "from"):
        return period.first, now + 1
    if side == "after":
        return period.after, now + 1
    if side in ("before", "until", "till"):
        return 0, period.first if side == "before" else period.after
    return period.first, period.after


def parse_time(text: str, now_us: int) -> int:
    """Parse the time of a filter; a day, week, month or year means its beginning."""
    from datetime import UTC, datetime, timedelta

    asked = text.strip().lower()
    short = re.fullmatch(r"([0-9]{1,5})\s*(m|h|d|w|mo|y)", asked)
    try:
        if asked == "now" or short:
            return _ago(int(short[1]), _SHORT_UNITS[short[2]], now_us) if short else now_us
        moment = datetime.fromisoformat(asked.upper())
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    except (ValueError, OverflowError):
        pass  # not an ISO date, perhaps words
    for phrase in (asked, f"in {asked}"):
        found = _any_date().fullmatch(phrase)
        period = _resolve(found, now_us) if found and not found["clock"] else None
        if period:
            return period.first
    raise InvalidInput(
        "this is not a time",
        where=text[:80] if text.isprintable() else ascii(text[:80]),
        hint="Write 2026-11-14, 2026-11-14T10:30+01:00, 12h, 3d, 2w, yesterday or last week.",
    )


@cache
def _relative_dates() -> re.Pattern[str]:
    protected = f"(?P<protected>{_PROTECTED})"
    annotated = r"(?!['’]s|\s\([^()]*[0-9]{4})"
    owner = "(?P<owner>['’]s)?"
    pattern = f"{protected}|{_EDGE_BEFORE}(?:{_RELATIVE}){owner}{_EDGE_AFTER}{annotated}"
    return re.compile(pattern, re.IGNORECASE | re.VERBOSE | re.DOTALL)


@cache
def _any_date() -> re.Pattern[str]:
    side = rf"(?:\b(?P<side>{_SIDES})\s+)?(?:the\s+)?"
    pattern = f"{_EDGE_BEFORE}{side}(?:{_RELATIVE}|{_DATED}){_EDGE_AFTER}"
    return re.compile(pattern, re.IGNORECASE | re.VERBOSE)


@cache
def _hints() -> frozenset[str]:
    return frozenset(_HINTS.split())


def _may_hold_a_date(text: str) -> bool:
    """Check cheaply for date words: most texts have none, and compiling the patterns is slow."""
    words = split_terms(text)
    return not _hints().isdisjoint(words) or any(len(w) == 4 and w.isdecimal() for w in words)


def _resolve(found: re.Match[str], now: int) -> _Period | None:
    words = {name: word.lower() for name, word in found.groupdict().items() if word}
    try:
        return _relative_period(words, now) or _dated_period(words, now)
    except (ValueError, OverflowError):
        return None  # the 31st of February, the year 0


def _relative_period(words: dict[str, str], now: int) -> _Period | None:
    today = now // _DAY
    match words:
        case {"day": day}:
            return _days(today + _DAYS[day], 1, words.get("part", "day"))
        case {"tonight": _}:
            return _days(today, 1, "night")
        case {"near": near, "hours": hours}:
            return _days(today + _DAYS[near], 1, hours)
        case {"which": which, "unit": unit}:
            return _whole(unit, _OFFSETS[which], today)
        case {"count": count, "ago": "minute" | "hour" as unit}:
            moment = now - _number(count) * _UNITS[unit]
            return _Period(moment - _UNITS[unit], moment + _UNITS[unit], "hour")
        case {"count": count, "ago": "day"}:
            return _days(today - _number(count), 1, "day")
        case {"count": count, "ago": "week"}:
            return _days(today - 7 * _number(count) - 3, 7, "around")
        case {"count": count, "ago": unit}:
            return _whole(unit, -_number(count), today)
    return None


def _dated_period(words: dict[str, str], now: int) -> _Period | None:
    today = now // _DAY
    match words:
        case {"iso": text}:
            year, month, *day = map(int, text.split("-"))
            return _calendar(year, month, *day)
        case {"dom": day, "month": month} | {"dom_second": day, "month_first": month}:
            year = int(words.get("year") or words.get("year_last") or 0)
            return _calendar(year, _month(month), int(day), today)
        case {"month_of": month, "of_year": of_year}:
            return _calendar(int(of_year), _month(month))
        case {"month_only": month}:
            return _calendar(0, _month(month), 0, today)
        case {"year_only": of_year}:
            return _calendar(int(of_year))
        case {"weekday": weekday}:
            return _days(today - (_weekday(today) - _WEEKDAYS.index(weekday)) % 7, 1, "day")
        case {"rolling": unit}:
            return _Period(_ago(_number(words.get("times", "one")), unit, now), now + 1, "rolling")
    return None


def _whole(unit: str, offset: int, today: int) -> _Period:
    """Return the week, month, weekday … that is `offset` units from the current one."""
    monday = today - _weekday(today)
    if unit == "week":
        return _days(monday + 7 * offset, 7, "week")
    if unit == "weekend":
        return _days(monday + 7 * offset + 5, 2, "weekend")
    if unit in ("month", "year"):
        size, into = (12, _date(today).month - 1) if unit == "year" else (1, 0)
        first, after = (_first_of_month(today, size * at - into) for at in (offset, offset + 1))
        return _days(first, after - first, unit)
    if unit in _WEEKDAYS:
        this = monday + _WEEKDAYS.index(unit)
        behind = 7 * offset if (this - today) * offset <= 0 else 0
        return _days(this + behind, 1, "day")
    months = _month(unit) - _date(today).month
    behind = 12 * offset if months * offset <= 0 else 0
    first, after = (_first_of_month(today, months + behind + at) for at in (0, 1))
    return _days(first, after - first, "month")


def _calendar(year: int, month: int = 0, day: int = 0, today: int = 0) -> _Period:
    """Return a day, month or year of the calendar; without a year, the latest that has begun."""
    from datetime import date

    known = year or _date(today).year
    first = date(known, month or 1, day or 1).toordinal() - _FIRST_DAY
    if not year and first > today:
        first = date(known - 1, month or 1, day or 1).toordinal() - _FIRST_DAY
    if day:
        return _days(first, 1, "day")
    size = 1 if month else 12
    return _days(first, _first_of_month(first, size) - first, "month" if month else "year")


def _ago(count: int, unit: str, now: int) -> int:
    if unit in _UNITS:
        return now - count * _UNITS[unit]
    day, time = divmod(now, _DAY)
    months = -count * (12 if unit == "year" else 1)
    first, after = (_first_of_month(day, months + at) for at in (0, 1))
    return min(first + _date(day).day, after) * _DAY - _DAY + time


def _days(first: int, count: int, grain: str) -> _Period:
    return _Period(first * _DAY, (first + count) * _DAY, grain)


def _date(day: int) -> date:
    from datetime import date

    return date.fromordinal(day + _FIRST_DAY)


def _first_of_month(day: int, offset: int) -> int:
    """Return the first day of the month that is `offset` months from a day's month."""
    from datetime import date

    here = _date(day)
    year, month = divmod(here.year * 12 + here.month - 1 + offset, 12)
    return date(year, month + 1, 1).toordinal() - _FIRST_DAY


def _weekday(day: int) -> int:
    return (day + 3) % 7


def _month(name: str) -> int:
    return _MONTHS.index(name[:3]) + 1


def _number(word: str) -> int:
    if word.isdecimal():
        return int(word)
    return _NUMBERS.index(word) + 1 if word in _NUMBERS else 1


def _phrase(found: re.Match[str], period: _Period) -> str:
    """Return the period as an absolute phrase."""
    moment = (
        (period.first + period.after) // 2 if period.grain in ("hour", "around") else period.first
    )
    day = str(_date(moment // _DAY))
    preposition, name = {
        "day": ("on", day),
        "hour": ("on", day),
        "around": ("around", day),
        "month": ("in", day[:7]),
        "year": ("in", day[:4]),
        "week": ("in", f"the week of {day}"),
    }.get(period.grain, ("on", f"the {period.grain} of {day}"))
    if found["owner"]:
        return f"{found[0]} ({name})"
    before = found.string[max(0, found.start() - 8) : found.start()].lower().split()
    behind = found.string[found.end() : found.end() + 6].split()
    subject = found[0][0].isupper() and behind[:1] in (["is"], ["was"])
    alone = subject or not _PREPOSITIONS.isdisjoint(before[-1:])
    sentence = name if alone else f"{preposition} {name}"
    capital = found[0][0].isupper() and not found[0].isupper()
    return sentence[0].upper() + sentence[1:] if capital else sentence


def parse_time_filter(text: str, now: int) -> int:
    """Parse the time of a filter; 0 for an empty one."""
    return parse_time(text, now) if text else 0
