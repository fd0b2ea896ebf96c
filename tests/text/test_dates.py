"""Dates in words: what a memory keeps, what a question asks for, what a filter means.

Now is Sunday, 2026-11-15 10:30 UTC.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from recollect.errors import InvalidInput
from recollect.text.dates import find_period, parse_time, replace_relative_dates
from recollect.text.display import format_time

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def us(text: str) -> int:
    moment = datetime.fromisoformat(text).replace(tzinfo=UTC)
    return (moment - EPOCH) // timedelta(microseconds=1)


NOW = us("2026-11-15T10:30:00")
law = settings(deadline=None, max_examples=200)
moments = st.datetimes(datetime(1971, 1, 1), datetime(9000, 1, 1)).map(
    lambda moment: us(moment.isoformat())
)
talk = st.lists(
    st.sampled_from(
        [
            *("yesterday", "Today", "tomorrow", "tonight", "last", "next", "this", "the", "week"),
            *("weekend", "month", "year", "Monday", "May", "may", "3", "two", "a", "days", "ago"),
            *("weeks", "in", "on", "since", "before", "between", "and", "2024-02-30", "2026", "of"),
            *("morning", "night", "`", '"', "'s", "(", ")", ".", "deploy", "31", "february", "999"),
        ]
    ),
    max_size=12,
).map(" ".join)


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("It broke yesterday.", "It broke on 2026-11-14."),
        ("Yesterday we chose SQLite", "On 2026-11-14 we chose SQLite"),
        ("Yesterday was bad", "2026-11-14 was bad"),
        ("It broke. Yesterday we saw why", "It broke. On 2026-11-14 we saw why"),
        ("- Today: nothing", "- On 2026-11-15: nothing"),
        ("IT BROKE YESTERDAY", "IT BROKE on 2026-11-14"),
        ("broken since yesterday", "broken since 2026-11-14"),
        ("As of today, frozen until tomorrow", "As of 2026-11-15, frozen until 2026-11-16"),
        ("(today)", "(on 2026-11-15)"),
        ("We met this morning", "We met on the morning of 2026-11-15"),
        ("failed last night", "failed on the night of 2026-11-14"),
        ("ship tonight", "ship on the night of 2026-11-15"),
        ("yesterday evening", "on the evening of 2026-11-14"),
        ("moved last week", "moved in the week of 2026-11-02"),
        ("moved this week", "moved in the week of 2026-11-09"),
        ("due next week", "due in the week of 2026-11-16"),
        ("since last week", "since the week of 2026-11-02"),
        ("last weekend", "on the weekend of 2026-11-07"),
        ("last Sunday", "on 2026-11-08"),
        ("last Monday", "on 2026-11-09"),
        ("this Monday", "on 2026-11-09"),
        ("next Friday", "on 2026-11-20"),
        ("next Sunday", "on 2026-11-22"),
        ("last month", "in 2026-10"),
        ("this month", "in 2026-11"),
        ("next month", "in 2026-12"),
        ("last year", "in 2025"),
        ("last May", "in 2026-05"),
        ("last November", "in 2025-11"),
        ("next November", "in 2027-11"),
        ("last December", "in 2025-12"),
        ("3 days ago", "on 2026-11-12"),
        ("a day ago", "on 2026-11-14"),
        ("two weeks ago", "around 2026-11-01"),
        ("12 hours ago", "on 2026-11-14"),
        ("an hour ago", "on 2026-11-15"),
        ("five months ago", "in 2026-06"),
        ("a year ago", "in 2025"),
        ("today and tomorrow", "on 2026-11-15 and on 2026-11-16"),
        ("last\n  week", "in the week of 2026-11-02"),
    ],
)
def test_a_relative_date_becomes_absolute(said: str, kept: str) -> None:
    assert replace_relative_dates(said, NOW) == kept


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("yesterday's build", "yesterday's (2026-11-14) build"),
        ("last week’s release", "last week’s (the week of 2026-11-02) release"),
    ],
)
def test_a_possessive_is_explained_because_no_date_reads_well_in_its_place(
    said: str, kept: str
) -> None:
    assert replace_relative_dates(said, NOW) == kept


@pytest.mark.parametrize(
    "text",
    [
        "run `git log --since yesterday`",
        "```\nprint('today')\n```",
        "```\ntoday, and the fence never ends",
        'He said "ship it tomorrow"',
        "He said “ship it tomorrow” and «today»",
        "the option 'last week' is new",
        "yesterday_total and total_today",
        "Call tomorrow() in the scheduler, and today(zone)",
        "The song is called Yesterday",
        "the film Tomorrow never dies, the newspaper Today",
        "yesterday.log, logs/today/x, --since=yesterday, @today, a-today, today-b",
        "https://example.org/today",
        "yesterday (2026-11-14) and last week (week of 2026-11-02)",
        "yesterday's (2026-11-14) build",
        "the last week of the project, the next month",
        "the last Monday of each month, last Friday of May",
        "this may break, at last march on",
        "never deploy on Friday",
        "it took 3 days, in 2 weeks",
        "deployed on 2026-11-14",
        "nothing here",
        "",
    ],
)
def test_what_is_no_date_of_the_writer_is_left_alone(text: str) -> None:
    assert replace_relative_dates(text, NOW) == text


def test_only_what_is_outside_the_quotes_changes() -> None:
    said = "today `today` \"today\" today's (2026) don't, today, isn't"
    kept = "on 2026-11-15 `today` \"today\" today's (2026) don't, on 2026-11-15, isn't"
    assert replace_relative_dates(said, NOW) == kept


@law
@given(talk, moments, moments)
@example("last year days ago", NOW, NOW)
def test_an_absolute_text_stays_as_it_is(text: str, now: int, later: int) -> None:
    kept = replace_relative_dates(text, now)
    assert replace_relative_dates(kept, later) == kept


@law
@given(st.text(st.characters(exclude_characters="tTgG")), moments)
def test_text_without_dates_is_kept_to_the_letter(text: str, now: int) -> None:
    assert replace_relative_dates(text, now) == text


@pytest.mark.parametrize(
    ("text", "dates"),
    [
        pytest.param("today " * 30_000, 30_000, id="dates"),
        pytest.param("last " * 40_000 + "week", 1, id="beginnings"),
        pytest.param('"today' * 30_000, 15_000, id="quotes"),
        pytest.param("'a" * 100_000 + " today", 1, id="apostrophes"),
        pytest.param("`" * 199_997 + "today", 0, id="backticks"),
        pytest.param("1" * 200_000 + " days ago, today", 1, id="digits"),
        pytest.param("today" + " " * 200_000 + "today", 2, id="spaces"),
    ],
)
def test_a_long_text_is_read_once(text: str, dates: int) -> None:
    """What takes more than linear time would not come back from here."""
    assert replace_relative_dates(text, NOW).count("2026") == dates


def test_a_date_in_what_was_pasted_below_a_question_is_not_asked_for() -> None:
    assert find_period("Why? yesterday " + "x " * 2000, NOW) is not None
    assert find_period("Why? " + "x " * 2000 + " yesterday", NOW) is None


@pytest.mark.parametrize(
    ("question", "first", "after"),
    [
        ("what did we decide yesterday?", "2026-11-14", "2026-11-15"),
        ("what broke today", "2026-11-15", "2026-11-16"),
        ("what happened last week?", "2026-11-02", "2026-11-09"),
        ("which bugs last weekend", "2026-11-07", "2026-11-09"),
        ("last month", "2026-10-01", "2026-11-01"),
        ("this year", "2026-01-01", "2027-01-01"),
        ("3 days ago", "2026-11-12", "2026-11-13"),
        ("two weeks ago", "2026-10-29", "2026-11-05"),
        ("two months ago", "2026-09-01", "2026-10-01"),
        ("2 hours ago", "2026-11-15T07:30:00", "2026-11-15T09:30:00"),
        ("in May", "2026-05-01", "2026-06-01"),
        ("in may", "2026-05-01", "2026-06-01"),
        ("in December", "2025-12-01", "2026-01-01"),
        ("in May 2023", "2023-05-01", "2023-06-01"),
        ("in may 2023", "2023-05-01", "2023-06-01"),
        ("the May 2023 release", "2023-05-01", "2023-06-01"),
        ("on 3 March", "2026-03-03", "2026-03-04"),
        ("on the 3rd of March 2024", "2024-03-03", "2024-03-04"),
        ("March 3rd, 2024", "2024-03-03", "2024-03-04"),
        ("on Dec 24", "2025-12-24", "2025-12-25"),
        ("on 29 February 2024", "2024-02-29", "2024-03-01"),
        ("on 2024-01-31", "2024-01-31", "2024-02-01"),
        ("at 2024-01-31T10:30:00Z", "2024-01-31", "2024-02-01"),
        ("in 2024-01", "2024-01-01", "2024-02-01"),
        ("in 2023", "2023-01-01", "2024-01-01"),
        ("on Monday", "2026-11-09", "2026-11-10"),
        ("on sunday", "2026-11-15", "2026-11-16"),
        ("between Monday and Friday", "2026-11-09", "2026-11-14"),
        ("from May to July", "2026-05-01", "2026-08-01"),
        ("between 2024-01-01 and 2024-02-01", "2024-01-01", "2024-02-02"),
        ("before 2024-01-01", "1970-01-01", "2024-01-01"),
        ("until yesterday", "1970-01-01", "2026-11-15"),
    ],
)
def test_a_question_names_its_time(question: str, first: str, after: str) -> None:
    found = find_period(question, NOW)
    assert found and (format_time(found[0]), format_time(found[1])) == (
        format_time(us(first)),
        format_time(us(after)),
    )


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("since Monday", "2026-11-09"),
        ("since last week", "2026-11-02"),
        ("from May on", "2026-05-01"),
        ("after last Monday", "2026-11-10"),
        ("in the last 3 days", "2026-11-12T10:30:00"),
        ("over the past two weeks", "2026-11-01T10:30:00"),
        ("the past month", "2026-10-15T10:30:00"),
        ("in the last week", "2026-11-08T10:30:00"),
        ("past year", "2025-11-15T10:30:00"),
    ],
)
def test_an_open_time_ends_now(question: str, first: str) -> None:
    assert find_period(question, NOW) == (us(first), NOW + 1)


def test_a_month_ago_is_the_last_day_of_a_shorter_month() -> None:
    assert find_period("past month", us("2026-03-31T08:00:00")) == (
        us("2026-02-28T08:00:00"),
        us("2026-03-31T08:00:00") + 1,
    )


@pytest.mark.parametrize(
    "question",
    [
        "",
        "how does the cache work?",
        "may I ask?",
        "option 3 may be wrong",
        "it can and may march to it",
        "the 31 February",
        "on 2024-02-30",
        "in 2024-13",
        "0 days of peace",
        "tomorrow",
        "next week",
        "see yesterday_total",
        "port 2023",
        "monday.com",
        "when do I get up on Saturday mornings?",
    ],
)
def test_a_question_without_a_past_time_names_none(question: str) -> None:
    assert find_period(question, NOW) is None


@law
@given(talk, moments)
def test_a_period_is_not_empty_and_has_begun(question: str, now: int) -> None:
    found = find_period(question, now)
    if found:
        first, after = found
        assert first < after
        assert first <= now


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-11-14", "2026-11-14"),
        ("20261114", "2026-11-14"),
        ("2026-11-14 10:30", "2026-11-14T10:30:00"),
        ("2026-11-14T10:30", "2026-11-14T10:30:00"),
        ("2026-11-14T10:30:00Z", "2026-11-14T10:30:00"),
        ("2026-11-14t10:30:00z", "2026-11-14T10:30:00"),
        ("2026-11-14T10:30+01:00", "2026-11-14T09:30:00"),
        ("2026-11-14T10:30:00.000001-05:30", "2026-11-14T16:00:00.000001"),
        ("now", "2026-11-15T10:30:00"),
        ("30m", "2026-11-15T10:00:00"),
        ("12h", "2026-11-14T22:30:00"),
        ("3d", "2026-11-12T10:30:00"),
        (" 2 W ", "2026-11-01T10:30:00"),
        ("1mo", "2026-10-15T10:30:00"),
        ("1y", "2025-11-15T10:30:00"),
        ("yesterday", "2026-11-14"),
        ("last week", "2026-11-02"),
        ("3 days ago", "2026-11-12"),
        ("Monday", "2026-11-09"),
        ("may", "2026-05-01"),
        ("in May 2023", "2023-05-01"),
        ("2023-05", "2023-05-01"),
        ("2023", "2023-01-01"),
    ],
)
def test_a_filter_names_a_moment(text: str, moment: str) -> None:
    assert format_time(parse_time(text, NOW)) == format_time(us(moment))


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "x",
        "5",
        "3 d 4 h",
        "next",
        "99999y",
        "31 february",
        "2026-13-01",
        "2026-11-14T25:00",
        "yesterday tomorrow",
        "\x00",
        "\ud800",
        "٣d",
        "yesterday " * 50,
    ],
)
def test_what_is_no_time_is_refused_with_examples(text: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_time(text, NOW)
    assert "2026-11-14" in refused.value.hint
    assert str(refused.value).replace("\n", "").isprintable()


@law
@given(st.datetimes(datetime(1970, 1, 2), datetime(9999, 1, 1)))
def test_a_moment_survives_being_written_and_read(moment: datetime) -> None:
    at = us(moment.isoformat())
    assert parse_time(format_time(at), NOW) == at
