"""Which of two statements repeats, opposes or replaces the other."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.memory.similarity import (
    NEAR,
    Statement,
    contradicts,
    find_relation,
    is_near,
    jaccard,
    revises,
    split_words,
)

law = settings(deadline=None, max_examples=200)
words = st.sampled_from(
    ["always", "never", "not", "use", "is", "the", "tabs", "spaces", "npm", "pnpm", "14", "16"]
)
texts = st.lists(words, max_size=8).map(" ".join)
statements = st.tuples(st.sampled_from(["", "database", "package manager"]), texts)


def said(text: str) -> Statement:
    """`subject | text`, or a text alone."""
    subject, bar, rest = text.partition(" | ")
    return (subject, rest) if bar else ("", text)


REVISIONS = [
    ("The database is PostgreSQL 14", "The database is PostgreSQL 16"),
    ("We use PostgreSQL 14", "We now use PostgreSQL 16"),
    ("PostgreSQL 14", "PostgreSQL 16"),
    ("database | PostgreSQL 14 in production", "database | PostgreSQL 16 in production"),
    ("The database is PostgreSQL 14", "Database: PostgreSQL 16"),
    ("Redis runs on port 6379", "Redis runs on port 6380"),
    ("redis | runs on port 6379", "redis | listens on port 6380"),
    ("Integration tests need Redis on port 6379", "Integration tests need Redis on port 6380"),
    ("package manager | uses npm", "package manager | uses pnpm"),
    ("The project uses npm", "The project uses pnpm"),
    ("The project uses npm", "The project now uses pnpm instead of npm"),
    ("We deploy with Heroku", "We deploy with Fly.io instead of Heroku"),
    ("Deploys go to Heroku", "Deploys go to Render, no longer Heroku"),
    ("API rate limit is 100/min", "API rate limit is 200/min"),
    ("The request timeout is 30s", "The request timeout is 60s"),
    ("Retries 3 times with a delay of 10 seconds", "Retries 5 times with a delay of 30 seconds"),
    ("Python 3.11 is required", "Python 3.12 is required"),
    ("CI uses Node 18", "CI uses Node 20"),
    ("CI uses Node 18", "CI uses Bun 1.1"),
    ("The default branch is master", "The default branch is main"),
    ("The test command is `npm test`", "The test command is `pnpm test`"),
    ("The deploy command is `make deploy`", "The deploy command is `just ship`"),
    ("test runner | uses mocha", "test runner | uses tape"),
    ("The cache is enabled", "The cache is disabled"),
    ("Caching is on", "Caching is off"),
    ("Debug logging: true", "Debug logging: false"),
    ("Always use tabs", "Always use spaces"),
    ("The default region is eu-west-1", "The default region is us-east-2"),
    ("The staging database is Oracle", "The staging database is MariaDB"),
    ("indentation | four spaces", "indentation | two spaces"),
    ("requires-python | >=3.10", "requires-python | >=3.11"),
    ("tool.ruff.line-length | is 88", "tool.ruff.line-length | is 100"),
    ("Use Black for formatting", "Use yapf for formatting"),
    ("The release manager runs on Mondays", "The release manager runs on Fridays"),
    ("Coverage must stay above 80%", "Coverage must stay above 90%"),
    ("The license is MIT", "The license is Apache-2.0"),
    ("Redis runs on port 6379", "Redis runs on port 6380 (was 6379)"),
    ("Run the tests with 4 workers", "Run the tests with 8 workers"),
    ("Deploy only on Fridays", "Deploy only on Sundays"),
    ("The pool supports 50 connections", "The pool supports 100 connections"),
    ("Always use enums for states", "use string literals for states, not enums"),
    ("we store sessions in redis", "we store sessions in postgres now, not in redis"),
]

NO_REVISIONS = [
    ("Use black", "Use ruff"),
    ("Translate the docs to German", "Translate the docs to French"),
    ("The help is available in Spanish", "The help is available in Italian"),
    ("Worker 1 listens on port 8001", "Worker 2 listens on port 8001"),
    ("Step 1 is the build", "Step 2 is the build"),
    ("ADR-12 is accepted", "ADR-13 is accepted"),
    ("Ticket #123 is about login", "Ticket #124 is about login"),
    ("Phase 1 writes the archive", "Phase 2 writes the archive"),
    ("Python 3.11 supports tomllib", "Python 3.12 supports tomllib"),
    ("The API uses JSON", "The API uses JWT"),
    ("auth | uses JWT", "auth | uses bcrypt"),
    ("testing | uses pytest", "testing | uses hypothesis"),
    ("The linter is slow", "The linter is strict"),
    ("The linter is slow on CI", "The linter is noisy on CI"),
    ("In tests the timeout is 5s", "In production the timeout is 30s"),
    ("On Linux the limit is 1024", "On macOS the limit is 256"),
    ("PostgreSQL 14 runs in production", "PostgreSQL 16 runs in staging"),
    ("Redis runs on port 6379", "Postgres runs on port 5432"),
    ("redis | port 6379", "memcached | port 11211"),
    ("Auth is a separate service", "Billing is a separate service"),
    ("Never commit secrets", "Never commit binaries"),
    ("Prefer stdlib over dependencies", "Prefer small functions"),
    ("Run tests before pushing", "Run lint before pushing"),
    ("src/api/users.py validates input", "src/api/orders.py validates input"),
    ("The build needs Docker", "The build needs network access"),
    ("Handlers need explicit return types", "Handlers need explicit error types"),
    ("Use tabs", "Use tabs in Makefiles"),
    ("The project uses npm", "The project uses npm workspaces"),
    ("Always use tabs", "Never use tabs"),
    ("The user is Anna", "The user is in Berlin"),
    ("Server A runs nginx", "Server B runs nginx"),
    ("Commit messages are in English", "Commit messages are short"),
    ("Sessions are written atomically", "Sessions are written with fsync"),
    ("The importer reads JSON", "The exporter reads JSON"),
    ("Fixed the login bug with a retry", "Fixed the logout bug with a retry"),
    ("Tests live in tests/unit", "Tests live in tests/unit"),
    ("", "PostgreSQL 16"),
    ("14", "16"),
]

BOTH_HOLD = [
    ("Anna speaks German", "Anna speaks French"),
    ("Respond to German customers within one day", "Respond to French customers within one day"),
    ("The chat widget has a German translation", "The chat widget has a French translation"),
    ("The API response is translated to German", "The API response is translated to Polish"),
    ("Add a comment in German to each label file", "Add a comment in French to each label file"),
    ("Translate the docs to German", "Translate the docs to French"),
    ("Use black", "Use ruff"),
    ("Never deploy on Fridays", "Never deploy on Sundays"),
    ("Never use port 5000", "Never use port 7000"),
    ("Don't import from react", "Don't import from vue"),
    ("Stop using yarn", "Stop using npm"),
    ("The build must not run on Node 16", "The build must not run on Node 18"),
    ("The cache is not on port 6379", "The cache is not on port 6380"),
    ("Use pnpm, not npm", "Use pnpm, not yarn"),
    ("We never deploy to us-east-1", "We never deploy to eu-west-1"),
    ("Never use pandas in handlers", "use polars for the reports, not pandas"),
    ("Use Decimal for tax rates", "use int cents for shipping, not Decimal"),
    ("We store invoices in mongo", "we store sessions in postgres now, not in redis"),
]

UNCLEAR = [
    ("Format Python code with black", "Format Python code with ruff"),
    ("Use prettier for formatting", "Use biome for formatting"),
    ("Always answer in German", "Always answer in English"),
    ("Answer in German", "From now on always answer in English"),
    ("Write comments in English", "Write comments in French"),
    ("Commit messages are in English", "Commit messages are in German"),
    ("Always test with Python 3.11", "Always test with Python 3.12"),
    ("Always run the suite on Node 18", "Always run the suite on Node 20"),
    ("Deploy to staging on Tuesdays", "Deploy to staging on Thursdays"),
    ("We support Python 3.10", "We support Python 3.11"),
    ("Python 3.12 is supported", "Python 3.13 is supported"),
    ("Never retry more than 3 times", "Never retry more than 5 times"),
    ("Use floats for prices in all services", "use integers for prices, not floats"),
    ("We use Decimal", "use int cents for money, not Decimal"),
    ("We use npm", "use pnpm for the frontend, not npm"),
    ("Use redis for the cache and for sessions", "use postgres for sessions, not redis"),
]

OPPOSITES = [
    ("Always use tabs", "Never use tabs"),
    ("Use tabs", "Don't use tabs"),
    ("Use tabs", "Do not use tabs."),
    ("Use tabs", "Avoid tabs"),
    ("You should use tabs", "You shouldn’t use tabs"),
    ("Use tabs. Never use spaces.", "Use spaces. Never use tabs."),
    ("Use tabs instead of spaces", "Use spaces instead of tabs"),
    ("Prefer composition over inheritance", "Prefer inheritance over composition"),
    ("Force pushes are allowed", "Force pushes are forbidden"),
    ("Windows is supported", "Windows is not supported"),
    ("Windows is supported", "Windows is unsupported"),
    ("Type hints are required", "Type hints are optional"),
    ("The retry is safe", "The retry is unsafe"),
    ("formatting | always run black", "formatting | never run black"),
    ("Commit without running tests", "Never commit without running tests"),
    ("Tests can run in parallel", "Tests cannot run in parallel"),
    ("Include the lock file", "Exclude the lock file"),
    ("Mock the database in tests", "Never mock the database in the tests"),
    ("The parser accepts comments", "The parser rejects comments"),
]

NO_OPPOSITES = [
    ("Always use tabs", "Use tabs"),
    ("Never use tabs", "Don't use tabs"),
    ("Never use tabs", "Never use spaces"),
    ("Always use tabs", "Never use semicolons"),
    ("Run tests, never skip lint", "Run tests and never skip lint"),
    ("Force pushes are forbidden", "Force pushes are prohibited"),
    ("Windows is supported", "Windows is not supported by the installer of the old release"),
    ("Use tabs in Makefiles", "Never use tabs in Python"),
    ("The database is PostgreSQL 14", "The database is PostgreSQL 16"),
    ("Prefer composition over inheritance", "Prefer composition over inheritance."),
    ("The API does not paginate", "The API does not sort"),
    ("", ""),
    ("No tabs", "Avoid tabs"),
    ("Type hints are required", "Type hints are mandatory"),
]

REPLACED = [
    ("We use PostgreSQL 14", "We upgraded production from PostgreSQL 14 to 16"),
    (
        "The database is PostgreSQL 14",
        "PostgreSQL 14 was replaced: we moved from PostgreSQL 14 to 16",
    ),
    ("We use PostgreSQL 14", "PostgreSQL was bumped from 14 to 16"),
    ("CI uses Jenkins", "We moved CI from Jenkins to GitHub Actions"),
    ("The package is called foo", "We renamed the package from foo to bar"),
    ("The request timeout is 30s", "We raised the request timeout from 30s to 60s last week"),
    ("We use npm", "We no longer use npm, now it is pnpm"),
    ("Deploys go to Heroku", "We switched our deploys from Heroku to Fly.io in March"),
    ("The app listens on port 8000", "The port of the app is now 9000 (was 8000)"),
    ("We use Redux because of the dev tools", "We replaced Redux with Zustand"),
    ("We moved from npm to yarn", "We migrated from yarn to pnpm, all of it moved"),
    ("The standup is at 9:00", "The standup moved from 9:00 to 10:00"),
    ("Use Decimal for money everywhere.", "use int cents for money, not Decimal"),
    ("Always indent with 4 spaces", "indent with tabs, not spaces"),
]

NOT_REPLACED = [
    ("We use unit tests", "We moved the tests from unit to integration"),
    ("PostgreSQL 14 runs in staging", "We upgraded production from PostgreSQL 14 to 16"),
    ("The retry delay is 30s", "We raised the request timeout from 30s to 60s"),
    ("Never use npm", "We switched from npm to pnpm"),
    ("We support Node 18 and 20", "We upgraded CI from Node 18 to 20"),
    ("We use pnpm", "We switched from npm to pnpm"),
    ("We use npm", "We never switched from npm to pnpm"),
    ("We use npm", "The docs should be moved from npm to pnpm"),
    ("We moved from npm to yarn", "The tools moved from npm to pnpm"),
    ("Jenkins keeps the secrets of old builds", "We moved CI from Jenkins to GitHub Actions"),
    ("Logs are kept for 14 days", "We upgraded PostgreSQL from 14 to 16"),
    ("The parser reads JSON files", "We changed the config from JSON to TOML"),
    ("database | PostgreSQL 14", "cache | moved from PostgreSQL 14 to Redis"),
]

NEAR_DUPLICATES = [
    ("The test command is cd evals && npm test", "The test command is: `cd evals && npm test`."),
    (
        "tests | run cd evals && npm test from the root",
        "tests | Run `cd evals && npm test` from root",
    ),
    (
        "Express route handlers need explicit return types in strict mode",
        "Express route handlers need explicit return types in strict mode.",
    ),
    (
        "All writes of session files go through a temporary file and a rename in one directory",
        "All writes of the session files go through a temporary file and a rename in one directory",
    ),
]


@pytest.mark.parametrize(("old", "new"), REVISIONS)
def test_a_changed_value_revises(old: str, new: str) -> None:
    assert revises(said(old), said(new))
    assert find_relation(said(old), said(new)) == "revises"


@pytest.mark.parametrize(("old", "new"), NO_REVISIONS)
def test_a_related_note_does_not_revise(old: str, new: str) -> None:
    assert not revises(said(old), said(new))
    assert not revises(said(new), said(old))


@pytest.mark.parametrize(("old", "new"), REPLACED)
def test_a_value_that_is_said_to_be_gone_is_replaced(old: str, new: str) -> None:
    assert find_relation(said(old), said(new)) == "replaces"


@pytest.mark.parametrize(("old", "new"), BOTH_HOLD)
def test_two_prohibitions_and_other_things_both_hold(old: str, new: str) -> None:
    assert find_relation(said(old), said(new)) in ("", "near")


@pytest.mark.parametrize(("old", "new"), UNCLEAR)
def test_where_it_is_unclear_whether_both_hold_a_person_is_asked(old: str, new: str) -> None:
    assert find_relation(said(old), said(new)) == "contradicts"


@pytest.mark.parametrize(("old", "new"), NOT_REPLACED)
def test_a_change_of_something_else_replaces_nothing(old: str, new: str) -> None:
    assert find_relation(said(old), said(new)) == ""


@pytest.mark.parametrize(("one", "other"), OPPOSITES)
def test_the_opposite_contradicts_and_is_never_a_duplicate(one: str, other: str) -> None:
    assert find_relation(said(one), said(other)) == "contradicts"
    assert find_relation(said(other), said(one)) == "contradicts"


@pytest.mark.parametrize(("one", "other"), NO_OPPOSITES)
def test_the_same_sign_does_not_contradict(one: str, other: str) -> None:
    assert not contradicts(said(one), said(other))


@pytest.mark.parametrize(("one", "other"), NEAR_DUPLICATES)
def test_a_reworded_note_is_a_near_duplicate(one: str, other: str) -> None:
    assert find_relation(said(one), said(other)) == "near"


@pytest.mark.parametrize(("one", "other"), [pair for pair in NO_REVISIONS if pair[0] != pair[1]])
def test_a_related_note_is_no_near_duplicate(one: str, other: str) -> None:
    assert not is_near(said(one), said(other))


def test_the_words_are_lower_case_and_punctuation_is_a_space() -> None:
    found = split_words("API", "Rate-limit: 100/min, foo_bar!")
    assert sorted(found) == ["100", "api", "bar", "foo", "limit", "min", "rate"]


def test_the_threshold_itself_is_near() -> None:
    shared = " ".join(f"w{n}" for n in range(17))
    assert is_near(("", shared), ("", f"{shared} x y z"))
    assert jaccard(split_words("", shared), split_words("", f"{shared} x y z")) == NEAR
    assert not is_near(("", shared), ("", f"{shared} w x y z"))


@law
@given(statements, statements)
def test_similarity_and_contradiction_do_not_depend_on_the_order(
    a: Statement, b: Statement
) -> None:
    assert is_near(a, b) == is_near(b, a)
    assert contradicts(a, b) == contradicts(b, a)


@law
@given(statements)
def test_a_statement_neither_contradicts_nor_revises_itself(a: Statement) -> None:
    assert find_relation(a, a) in ("near", "")
    assert find_relation(a, a) == ("near" if split_words(*a) else "")


@law
@given(st.text(max_size=300), st.text(max_size=300))
def test_any_two_texts_have_a_relation(a: str, b: str) -> None:
    assert find_relation(("", a), ("", b)) in ("contradicts", "revises", "near", "")
