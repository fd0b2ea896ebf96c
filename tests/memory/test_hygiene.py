"""What durable memory refuses, and what it must never refuse."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.memory import hygiene
from recollect.memory.hygiene import CODE, HISTORY, STATE, Refusal, find_refusal
from recollect.text.terms import split_lower_words

REFUSED: list[tuple[Refusal, str]] = [
    (STATE, "iteration 3 passed at 14:32"),
    (STATE, "Iteration 3 passed at 14:32."),
    (STATE, "Phase 2 is complete."),
    (STATE, "Step 4 of 7 done"),
    (STATE, "Task 12 is in progress"),
    (STATE, "All 42 tests pass now."),
    (STATE, "3 tests failed"),
    (STATE, "128 passed, 2 skipped"),
    (STATE, "The build is green again."),
    (STATE, "CI is currently failing"),
    (STATE, "The tests pass."),
    (STATE, "Currently debugging the login page"),
    (STATE, "I'm working on the importer."),
    (STATE, "Working on the OAuth flow"),
    (STATE, "Waiting for review of the schema"),
    (STATE, "TODO: write the migration"),
    (STATE, "Next step: add the index to the users table"),
    (STATE, "Next: run the linter\nRemaining: docs"),
    (STATE, "Just fixed the login bug."),
    (STATE, "Done with the refactoring."),
    (STATE, "The dev server is running with pid 4711"),
    (STATE, "The migration is 60% done"),
    (STATE, "4 of 9 files migrated"),
    (STATE, "There are uncommitted changes in src/api.py"),
    (STATE, "The working tree is dirty."),
    (STATE, "The API answers slowly right now"),
    (STATE, "I will write the tests next"),
    (STATE, "Deployed to staging at 09:15"),
    (HISTORY, "commit 3fa9c1e: fix the login redirect"),
    (HISTORY, "3fa9c1e fix the login redirect\n9b2d771 add the importer"),
    (HISTORY, "PR #42 was merged yesterday."),
    (HISTORY, "The branch feature/login has been deleted"),
    (HISTORY, "#118 is merged"),
    (HISTORY, "Merged feature/login into main"),
    (HISTORY, "I committed 3fa9c1e with message fix"),
    (HISTORY, "Pushed the fix to origin"),
    (HISTORY, "The current branch is feature/login"),
    (HISTORY, "On branch feature/login"),
    (HISTORY, "HEAD is at 3fa9c1e"),
    (HISTORY, "The latest commit is 3fa9c1e, fix typos"),
    (HISTORY, "Merge branch 'develop' into main"),
    (HISTORY, "Rebased the branch onto main. Tagged v1.2.0."),
    (CODE, "src/api.py has 320 lines"),
    (CODE, "The module contains 14 functions."),
    (CODE, "`parse` is defined at line 42 of src/parser.py"),
    (CODE, "`parse` is defined in src/parser.py:42"),
    (CODE, "Line 42 of src/parser.py calls `emit`"),
    (CODE, "src/parser.py imports re, sys and json"),
    (CODE, "There are 18 files in src/core"),
    (CODE, "src/a.py\nsrc/b.py\nsrc/core/\nsrc/core/c.py"),
    (CODE, "src\n├── a.py\n├── core\n│   └── c.py\n└── b.py"),
    (CODE, "```python\ndef parse(x):\n    y = x\n    return y\n```"),
    (CODE, "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b"),
]

KEPT: list[tuple[str, str]] = [
    ("reference", "The test command is cd evals && npm test"),
    ("fact", "PlanAuditor excludes the transient failure classification"),
    ("pattern", "All agent files follow P.A.R.T. section order"),
    ("fact", "CLIO uses CLIO::Util::JSON for all JSON encoding"),
    ("solution", "If streaming 400 errors occur, increase retry budget to 20"),
    ("pattern", "Always use atomic writes (temp + rename) for session files"),
    ("fact", "API rate limit is 100/min"),
    ("decision", "Chose SQLite over Postgres for the local store"),
    ("architecture", "Auth is a separate service"),
    ("pitfall", "Don't use ORM for bulk inserts"),
    ("policy", "Never commit secrets"),
    ("fact", "Config uses YAML not JSON"),
    ("pattern", "Commit messages follow Conventional Commits"),
    ("fact", "The default branch is main"),
    ("fact", "Feature branches are deleted after the merge"),
    ("fact", "PRs are squashed into one commit"),
    ("policy", "Branch names start with feat/ or fix/"),
    ("fact", "Tagged releases are built from main"),
    ("pitfall", "Commit 3fa9c1e broke Windows because it used os.fork"),
    ("policy", "The latest commit must be signed"),
    ("fact", "3 tests fail on Windows because of path separators"),
    ("fact", "The build fails unless NODE_ENV is set"),
    ("fact", "The nightly job runs at 02:00 UTC"),
    ("fact", "CI takes about 14 minutes"),
    ("architecture", "Phase 1 extracts, phase 2 consolidates"),
    ("fact", "Phase 2 starts only when phase 1 has finished"),
    ("pattern", "Files have at most 400 lines"),
    ("fact", "`Auth.auth_flow` in httpx/_auth.py takes (self, request: Request)."),
    ("fact", "Class `Auth` is defined in httpx/_auth.py."),
    ("fact", "The constant `DEFAULT_MAX_REDIRECTS` in httpx/_config.py is 20."),
    ("pitfall", "src/a.py:42 swallows exceptions, so errors look like empty results"),
    ("fact", "The importer lives in src/importer and reads NDJSON"),
    ("solution", "Fixed the race in the worker by taking the lock first"),
    ("fact", "The staging server runs on port 8080"),
    ("preference", "I'm working on macOS, right now and always"),
    ("policy", "All tests pass before a merge"),
    ("fact", "Merged configuration wins over the defaults"),
    ("fact", "The cache holds 512 entries"),
    ("decision", "We moved from npm to pnpm"),
    ("fact", "The user table has a soft-delete column"),
    ("reference", "```sh\nmake build\nmake test\nmake release\n```"),
    ("pattern", "```python\nwith lock:\n    x()\n    y()\n```"),
    (
        "fact",
        "Handlers return early:\n```python\nif not x:\n    return\ny()\n```\nso nesting stays flat",
    ),
    ("fact", "PR #42 was merged. Deploys must go through staging since then."),
    ("fact", "The release script needs a clean working tree"),
    ("fact", "Next.js is used for the frontend"),
    ("fact", "Todo items are stored in SQLite"),
    ("fact", "The pipeline has three stages: build, test, deploy"),
    ("fact", "deadbeef is the magic number of the file format"),
    ("fact", "Tests are written with pytest and Hypothesis"),
    ("fact", "The test suite is slow on laptops"),
    ("fact", "Just is the command runner of this repository"),
]


@pytest.mark.parametrize(("rule", "text"), REFUSED)
def test_state_history_and_code_are_refused(rule: Refusal, text: str) -> None:
    for layer in ("project", "user"):
        assert find_refusal(text, "fact", layer) == rule


@pytest.mark.parametrize(("kind", "text"), KEPT)
def test_knowledge_is_never_refused(kind: str, text: str) -> None:
    assert find_refusal(text, kind, "project") is None


@pytest.mark.parametrize("layer", ["session", "task"])
@pytest.mark.parametrize(("rule", "text"), REFUSED[:3])
def test_what_durable_memory_refuses_is_welcome_below(rule: Refusal, text: str, layer: str) -> None:
    assert find_refusal(text, "fact", layer) is None


@pytest.mark.parametrize("kind", ["policy", "preference"])
@pytest.mark.parametrize(("rule", "text"), REFUSED)
def test_a_persons_wish_is_never_refused(rule: Refusal, text: str, kind: str) -> None:
    assert find_refusal(text, kind, "user") is None


def test_a_refusal_says_where_the_text_belongs() -> None:
    for rule in (CODE, HISTORY, STATE):
        assert "layer" in rule.where


@settings(deadline=None, max_examples=200)
@given(st.text(max_size=400))
def test_any_text_is_judged(text: str) -> None:
    assert find_refusal(text, "fact", "project") in (None, CODE, HISTORY, STATE)


@pytest.mark.parametrize(
    "text", ["a" * 20_000, "merged " * 3_000, "is 1 " * 5_000, "\n" * 20_000, "a/" * 900 + "!"]
)
def test_a_long_text_is_judged_too(text: str) -> None:
    assert find_refusal(text, "fact", "project") is None


@pytest.mark.parametrize("text", [f"a.py imports {'a' * 1500}?", f"{'-' * 4_900}!\n" * 4])
def test_a_text_that_hardly_ever_ends_is_read_in_a_moment(text: str) -> None:
    assert find_refusal(text, "pattern", "project") is None


ASCII = st.characters(codec="ascii")


@pytest.mark.parametrize("rule", range(len(hygiene._RULES)))
def test_the_quick_look_finds_each_rule_that_could_refuse_a_sentence(rule: int) -> None:
    pattern = hygiene._rule(rule)

    @given(st.from_regex(pattern, alphabet=ASCII))
    @settings(max_examples=200)
    def each(sentence: str) -> None:
        if rule == hygiene._HASH_RULE:
            assert hygiene._HEX_RUN in hygiene._find_shape(sentence)
            return
        assert any(
            rule == at and beside in sentence.casefold()
            for word in split_lower_words(sentence)
            for at, beside in hygiene._rules_by_cue().get(word, ())
        )

    each()
