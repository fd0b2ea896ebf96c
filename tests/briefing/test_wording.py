"""How commands, fixes and places of earlier sessions are worded."""

from __future__ import annotations

from recollect.briefing.wording import (
    advice_line,
    command_lines,
    place_lines,
    resolution_line,
    resolution_lines,
)
from recollect.episodes.session_errors import Remedy
from recollect.lessons.findings import CommandAdvice, KnownCommand, KnownPlace, KnownResolution
from recollect.text.tokens import count_tokens

MARCH_2 = 1_772_409_600_000_000
MARCH_1 = MARCH_2 - 86_400_000_000


def known(form: str, purpose: str, sessions: int = 6, last: int = MARCH_2) -> KnownCommand:
    return KnownCommand(form, purpose, sessions, 0, last)


def test_commands_stand_side_by_side_by_purpose_with_counts_and_dates() -> None:
    commands = [
        known("mise run lint", "lint", 39),
        known("pnpm test", "test"),
        known("mise run fmt", "format", 33),
        known("pnpm e2e", "test", 1, MARCH_1)._replace(replaces=("npm run e2e",), folder="web"),
    ]
    first, second = command_lines(commands)
    assert first.line == (
        "lint: `mise run lint` worked in 39 sessions, last on 2026-03-02; test: `pnpm test` in 6; "
        "`pnpm e2e` in `web` once, on 2026-03-01, in place of `npm run e2e`"
    )
    assert second.line == "format: `mise run fmt` in 33, last on 2026-03-02"
    assert first.forms == ("mise run lint", "pnpm test", "pnpm e2e")


def test_a_command_that_worked_once_is_said_to_have() -> None:
    (only,) = command_lines([known("make", "build", 1)])
    assert only.line == "build: `make` worked once, on 2026-03-02"


def test_as_many_of_the_best_commands_as_fit_are_named() -> None:
    commands = [known(f"pnpm --filter part{n} test", "test", 20 - n) for n in range(12)]
    lines = command_lines(commands, 100)
    assert sum(count_tokens(f"- {item.line}\n") for item in lines) <= 100
    named = [form for item in lines for form in item.forms]
    assert named == [one.form for one in commands[: len(named)]] and named


def test_advice_names_the_failing_form_and_the_one_that_worked_since() -> None:
    item = advice_line(CommandAdvice("npm test", "pnpm test", 3, 6, MARCH_2))
    assert item.line == (
        "`npm test` failed in 3 sessions; `pnpm test` worked since in 6 sessions, "
        "last on 2026-03-02"
    )


def test_a_fix_seen_once_is_labelled_and_one_seen_twice_is_counted() -> None:
    remedy = Remedy(files=("src/a.py",), gained=("--tags", "x"))
    twice = KnownResolution("boom", "go test", remedy, 2, MARCH_2, True)
    assert resolution_line(twice).line == (
        "Resolved in 2 sessions, last on 2026-03-02, after running `go test` with `--tags`, `x` "
        "and editing `src/a.py`"
    )
    once = twice._replace(sessions=1, confirmed=False)
    assert resolution_line(once).line.startswith("Unconfirmed: this error went away once, on 2026")


def test_places_are_named_from_the_third_session_on() -> None:
    places = [KnownPlace(("src/a.py", "tests/test_a.py", "docs/a.md"), 3), KnownPlace(("x.py",), 2)]
    (item,) = place_lines("src/a.py", places)
    assert item.line == "`src/a.py` was changed together with `tests/test_a.py`, `docs/a.md`"
    assert place_lines("src/a.py", places[1:]) == []


def resolution(remedy: Remedy, sessions: int = 1, last: int = MARCH_2) -> KnownResolution:
    return KnownResolution("<path>: no (noctx)", "make lint", remedy, sessions, last, sessions > 1)


def test_what_the_edits_of_a_fix_added_is_told_with_the_last_file() -> None:
    remedy = Remedy(files=("a.go", "b.go"), added=("exec.CommandContext", "ctx.Done", "x.Y"))
    assert resolution_line(resolution(remedy, 2)).line == (
        "Resolved in 2 sessions, last on 2026-03-02, after edits that added `exec.CommandContext`, "
        "`ctx.Done`, last in `b.go`"
    )
    fence = resolution_line(resolution(Remedy(files=("a.md",), added=("```text",)))).line
    assert "after edits that added ```` ```text ````, last in `a.md`" in fence


def test_of_single_sightings_with_edits_only_the_newest_is_told() -> None:
    old, new = (
        resolution(Remedy(files=(name,)), last=at)
        for name, at in (("a.go", MARCH_1), ("b.go", MARCH_2))
    )
    call = resolution(Remedy(gained=("--fix",)))
    assert [item.files for item in resolution_lines([old, new, call])] == [("b.go",), ()]


def test_files_of_one_folder_are_named_only_if_changed_together_every_time() -> None:
    assert place_lines("src/a.go", [KnownPlace(("src/b.go",), 3, 4)]) == []
    assert place_lines("src/a.go", [KnownPlace(("src/b.go",), 3, 3)])
    assert place_lines("src/a.go", [KnownPlace(("docs/b.md",), 3, 4)])


def test_where_a_command_was_used_is_told() -> None:
    (line,) = command_lines([known("go test", "test")._replace(below="cmd/cli")])
    assert line.line.startswith("test: `go test ./cmd/cli/…` worked in 6 sessions")
