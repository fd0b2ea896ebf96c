"""What an agent is told at each of the five moments, through its own hooks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect.actions import command_words
from recollect.agents import registry
from recollect.agents.operations_events import answer_event
from recollect.agents.steps_hooks import Answer
from recollect.briefing import command_rules
from recollect.text.tokens import count_tokens
from tests.conftest import Clock
from tests.lessons.test_observed import FAILED, MISSING, good, work

Mem = recollect.Recollect
Hear = Callable[..., Answer]


@pytest.fixture
def hear(mem: Mem, project: Path) -> Hear:
    """Send an event of Claude Code, with a session of its own unless one is named."""
    count = 0

    def heard(event: str, session: str = "s-1", **fields: Any) -> Answer:
        nonlocal count
        count += 1
        payload = {
            "hook_event_name": event,
            "session_id": session,
            "cwd": str(project),
            "transcript_path": f"/home/dev/.claude/projects/p/{session}.jsonl",
            "prompt_id": f"p-{count}",
            "tool_use_id": f"t-{count}",
            **fields,
        }
        parsed = registry.load_hooks("claude-code").parse(payload, {})
        return answer_event(mem.context, parsed)

    return heard


def bash(line: str) -> dict[str, Any]:
    return {"tool_name": "Bash", "tool_input": {"command": line}}


def edit(project: Path, name: str) -> dict[str, Any]:
    return {"tool_name": "Edit", "tool_input": {"file_path": str(project / name)}}


# -------------------------------------------------------------------- start


def test_a_first_prompt_with_the_start_block_says_nothing_twice(mem: Mem, hear: Hear) -> None:
    rule = "The frobnicator in src/frob.py must be restarted after zygote changes"
    mem.learn(rule, kind="policy")
    told = hear("UserPromptSubmit", prompt="make src/frob.py survive zygote changes").context
    assert told.count(rule) == 1 and "\nRules:\n" in told
    shown = mem.briefing(query="make src/frob.py survive zygote changes")
    assert str(shown.text).count(rule) == 1


def test_commands_of_a_part_of_the_project_are_told_when_a_file_of_it_is_changed(
    mem: Mem, clock: Clock, hear: Hear, project: Path
) -> None:
    common = [good(f"make check-{name}") for name in ("a", "b", "c", "d", "e", "f", "g", "h")]
    for session in ("old-1", "old-2"):
        work(mem, clock, session, *common)
    work(mem, clock, "old-3", good("pnpm --filter @acme/web lint"), good("cd apps/api && go test"))
    assert "@acme/web" not in hear("SessionStart", source="startup").context
    said = hear("PreToolUse", **edit(project, "apps/web/src/a.ts")).context
    assert "lint: `pnpm --filter @acme/web lint` worked once" in said and "go test" not in said
    assert "`go test`" in hear("PreToolUse", **edit(project, "apps/api/main.go")).context
    assert hear("PreToolUse", **edit(project, "apps/web/src/b.ts")).context == ""
    assert hear("PreToolUse", **edit(project, "docs/web.md")).context == ""


def test_a_command_that_the_user_forbids_is_not_recommended(
    mem: Mem, clock: Clock, hear: Hear
) -> None:
    for session in ("old-1", "old-2"):
        work(
            mem, clock, session, good("ruff check ."), good("uv run ruff format ."), good("go vet")
        )
    assert "`ruff check .`" in hear("SessionStart", source="startup").context
    mem.learn("we moved to pylint, so use pylint, not ruff", kind="fact")
    said = hear("SessionStart", "s-2", source="startup").context
    assert "`go vet`" in said
    assert "ruff check" not in said and "ruff format" not in said
    assert "not ruff" in hear("PreToolUse", "s-2", **bash("npx ruff check .")).context


def test_what_the_user_typed_in_this_context_is_not_said_to_it(mem: Mem, hear: Hear) -> None:
    hear("SessionStart", source="startup")
    hear("UserPromptSubmit", prompt="the proxy port is 3000, not 8080")
    hear("UserPromptSubmit", prompt="always answer in English")
    again = "the damn proxy port is 3000 not 8080, and english"
    assert hear("UserPromptSubmit", prompt=again).context == ""
    assert "3000" in hear("UserPromptSubmit", "s-2", prompt=again).context
    hear("PreCompact", trigger="auto")
    assert "English" in hear("SessionStart", source="compact").context


def test_a_start_with_nothing_else_tells_the_latest_tasks_in_the_users_words(
    mem: Mem, clock: Clock, hear: Hear
) -> None:
    work(mem, clock, "old-1", good("ls"), goal="the footer of the login page is gone, get it back")
    said = hear("SessionStart", source="startup").context
    assert "History:" in said
    assert '"the footer of the login page is gone, get it back"' in said


def test_the_start_block_says_where_things_stand_and_quotes_what_an_agent_noted(
    mem: Mem, hear: Hear, project: Path, environment: dict[str, str]
) -> None:
    mem.learn("Never push to main", kind="policy")
    mem.notes.set(objective="Ship the exporter", phase="build", blockers=["no key yet"])
    mem.tasks.start("Exporter", phases=["design", "build"])
    with recollect.open(project, environment=environment, origin="agent") as agent:
        agent.handoffs.give("claude", "The parser is done", sender="codex")
    text = hear("SessionStart", source="startup").context
    lines = text.splitlines()
    assert lines[2] == "Where things stand:"
    assert "- Objective: Ship the exporter" in lines
    assert "- Blockers: no key yet" in lines
    assert any(line.startswith("- Running task: Exporter, next: design") for line in lines)
    (handoff,) = [line for line in lines if "handoff waits" in line]
    assert ", agent 2" in handoff and '"codex to claude: The parser is done"' in handoff
    assert lines.index("Rules:") > lines.index("- Objective: Ship the exporter")


STATED = (
    "Always run make lint before you commit.",
    "Stop adding emojis to commit messages.",
    "From now on, commit with --signoff.",
    "Use ruff, not flake8.",
    "Please always answer in German.",
    "Never use the requests library, use httpx instead.",
    "I prefer small commits with a test in each.",
    "Always write docstrings in the imperative mood.",
    "Never call print in library code, use the logger.",
    "From now on always use uv instead of pip.",
    "I prefer dataclasses to dicts.",
    "Never mock the database in integration tests.",
)


def test_every_rule_that_the_user_stated_for_good_is_in_the_start_block(
    mem: Mem, hear: Hear
) -> None:
    for number, rule in enumerate(STATED):
        hear("UserPromptSubmit", f"old-{number}", prompt=rule)
    told = hear("SessionStart", source="startup").context
    assert [rule for rule in STATED if rule not in told] == []
    assert "did not fit" not in told and count_tokens(told) <= 400


def test_rules_that_find_no_room_are_counted_in_the_block_and_in_the_status(
    mem: Mem, hear: Hear
) -> None:
    for number in range(40):
        rule = f"Always name the module{number} tables after their owner{number}."
        hear("UserPromptSubmit", f"old-{number}", prompt=rule)
    told = hear("SessionStart", source="startup").context
    shown = told.count("\n- [m-")
    assert 10 < shown < 40 and count_tokens(told) <= 420
    assert f"\n{40 - shown} more did not fit; search for: " in told
    assert mem.store.status().start_left_out == 40 - shown


def test_seen_lists_the_block_in_its_order_and_words(mem: Mem, hear: Hear) -> None:
    mem.notes.set(objective="Ship the exporter", phase="build")
    for number, rule in enumerate(STATED):
        hear("UserPromptSubmit", f"old-{number}", prompt=rule)
    told = hear("SessionStart", source="startup").context
    texts = [item.text for item in mem.agents.seen().items]
    assert "Phase: build" in texts
    rules = [text for text in texts if text in STATED]
    assert rules == sorted(STATED, key=told.index)


def test_the_user_is_told_when_a_wish_goes_to_all_projects(mem: Mem, hear: Hear) -> None:
    own = hear("UserPromptSubmit", prompt="Please always answer in German.")
    assert "saved a rule for all your projects: “" in own.notice
    assert "all your projects" not in hear("UserPromptSubmit", prompt=STATED[0]).notice


def test_a_wish_said_in_passing_leaves_room_for_the_rest(mem: Mem, hear: Hear) -> None:
    for number in range(12):
        wish = f"i'd like the report{number} replaced with a plain table of its columns."
        hear("UserPromptSubmit", f"old-{number}", prompt=wish)
    assert count_tokens(hear("SessionStart", source="startup").context) <= 210


def test_notes_and_a_task_do_not_push_out_a_rule_nor_the_handoff_that_waits(
    mem: Mem, hear: Hear
) -> None:
    rule = "From now on always run make lint before you commit."
    hear("UserPromptSubmit", "old", prompt=rule)
    mem.notes.set(
        "Implement the second endpoint of the orders API and its tests",
        phase="build",
        pending=["the second endpoint", "docs of the endpoint"],
        blockers=["waiting for the schema"],
    )
    mem.tasks.start("Feature X", ["build", "review"])
    mem.handoffs.give("qa-001", sender="eng-001", done="Login form")
    told = hear("SessionStart", source="startup").context
    for words in (rule, "A handoff waits", "Running task", "Objective", "Blockers"):
        assert words in told


def test_the_start_does_not_eat_the_budget_of_the_turn(mem: Mem, hear: Hear) -> None:
    for number in range(60):
        mem.learn(f"Rule w{number} says thing x{number} stays as it is in place {number}",
                  kind="policy")  # fmt: skip
    wanted = mem.learn("The zebra exporter writes to the kraken queue", kind="fact")
    start = hear("SessionStart", source="startup").context
    assert 600 < count_tokens(start) <= 800
    assert wanted.memory.text not in start
    turn = hear("UserPromptSubmit", prompt="why does the zebra exporter skip the kraken queue?")
    assert wanted.memory.text in turn.context


def test_what_waits_for_review_is_told_to_the_person_once_a_day_and_never_to_the_model(
    mem: Mem, hear: Hear, project: Path, environment: dict[str, str], clock: Clock
) -> None:
    with recollect.open(project, environment=environment, origin="agent") as agent:
        agent.learn("always use tabs", kind="policy")
    first = hear("SessionStart", source="startup")
    assert first.notice == "Recollect: 1 memory waits for review. Run: recollect review"
    assert first.context == ""
    assert hear("SessionStart", "s-2", source="startup").notice == ""
    clock.advance(days=1)
    assert hear("SessionStart", "s-3", source="startup").notice == first.notice


# -------------------------------------------------------------------- turn


def test_a_prompt_is_answered_with_the_users_own_earlier_words(mem: Mem, hear: Hear) -> None:
    mem.record("s-0", "Hello. The kraken importer must keep the vendor codes. Thanks.")
    mem.record("s-0", {"role": "assistant", "content": "The kraken importer keeps vendor codes."})
    told = hear("UserPromptSubmit", prompt="please speed up the kraken vendor import").context
    (line,) = told.splitlines()[1:-1]
    assert line.endswith('user 2026-01-01: "The kraken importer must keep the vendor codes."') or (
        ': "The kraken importer must keep the vendor codes."' in line and " user " in line
    )
    assert hear("UserPromptSubmit", prompt="and the kraken vendor codes?").context == ""


@pytest.mark.parametrize("prompt", ["ok", "go on", "yes, please continue", "thanks!", ""])
def test_a_prompt_without_a_subject_is_not_answered(mem: Mem, hear: Hear, prompt: str) -> None:
    mem.record("s-0", "ok, go on and please continue with the parser rewrite, thanks")
    hear("SessionStart", source="startup")
    assert hear("UserPromptSubmit", prompt=prompt).context == ""


def test_one_word_in_common_or_a_likeness_is_no_reason_to_speak(mem: Mem, hear: Hear) -> None:
    mem.record("s-0", "The kraken importer must keep the vendor codes.")
    for prompt in ("feed the kraken", "a squid brings supplier numbers in"):
        assert hear("UserPromptSubmit", prompt=prompt).context == ""


def test_a_path_or_symbol_that_matches_exactly_is_enough(mem: Mem, hear: Hear) -> None:
    mem.record("s-0", "Leave src/billing/tax.py alone until the audit is over.")
    told = hear("UserPromptSubmit", prompt="refactor src/billing/tax.py").context
    assert "until the audit is over" in told


def test_a_passage_that_was_shown_in_three_sessions_rests_for_a_week(
    mem: Mem, hear: Hear, clock: Clock
) -> None:
    mem.record("s-0", "The kraken importer must keep the vendor codes.")
    prompt = "speed up the kraken vendor import"
    for number in range(3):
        assert hear("UserPromptSubmit", f"t-{number}", prompt=prompt).context
    assert hear("UserPromptSubmit", "t-4", prompt=prompt).context == ""
    clock.advance(days=8)
    assert hear("UserPromptSubmit", "t-5", prompt=prompt).context


RULES = (
    "Never push to main without a review",
    "Use tabs in Makefiles and spaces everywhere else",
    "Error messages start with a small letter",
    "Every migration needs a rollback script",
    "Prefer composition to inheritance in the domain layer",
)
COMMANDS = (
    "make lint", "make fmt-check", "pnpm --filter web test", "pnpm --filter api build", "tox -e docs"
)  # fmt: skip


def test_nothing_that_an_instruction_file_states_is_said_again(
    mem: Mem, clock: Clock, hear: Hear, project: Path
) -> None:
    for rule in (*RULES, "Ask before a new dependency is added"):
        mem.learn(rule, kind="policy")
    for name in ("old-1", "old-2"):
        work(mem, clock, name, *map(good, COMMANDS), good("make bench-test"))
    listed = [*RULES, *(f"Run `{one}`" for one in COMMANDS)]
    (project / "CLAUDE.md").write_text("# Work\n\n" + "".join(f"- {one}.\n" for one in listed))
    said = hear("SessionStart", source="startup").context
    assert "Ask before a new dependency" in said and "make bench-test" in said
    for path in ("apps/web/a.ts", "apps/api/b.ts", "db/migrations/1.sql"):
        said += hear("PreToolUse", **edit(project, path)).context
    for prompt in ("write the migration and its rollback script", "why does `make lint` fail?"):
        said += hear("UserPromptSubmit", prompt=prompt).context
    said += "".join(hear("PreToolUse", **bash(one)).context for one in COMMANDS)
    assert [one for one in (*RULES, *COMMANDS) if one in said] == []


# -------------------------------------------------------------------- command


def test_a_rule_that_forbids_a_command_is_said_before_it_once_in_a_context(
    mem: Mem, hear: Hear
) -> None:
    rule = mem.learn("Use pnpm instead of npm", kind="preference").memory
    hear("SessionStart", source="startup")
    assert rule.text in hear("PreToolUse", **bash("cd web && npm install left-pad")).context
    assert hear("PreToolUse", **bash("npm test")).context == ""
    assert hear("PreToolUse", **bash("pnpm test")).context == ""
    hear("PreCompact", trigger="manual")
    hear("SessionStart", source="compact")
    assert rule.text in hear("PreToolUse", **bash("npm test")).context


def test_rules_that_the_user_stated_are_said_before_the_commands_they_name(
    mem: Mem, hear: Hear
) -> None:
    for number, rule in enumerate(STATED):
        hear("UserPromptSubmit", f"old-{number}", prompt=rule)
    hear("SessionStart", source="startup")
    told = {
        line: hear("PreToolUse", **bash(line)).context
        for line in ("ruff check src", "flake8 src", "pip install requests", "make lint && ls")
    }
    assert told["ruff check src"] == told["make lint && ls"] == ""
    assert "Use ruff, not flake8." in told["flake8 src"]
    assert "use uv instead of pip." in told["pip install requests"]
    said = hear("PreToolUse", **bash("git add -A && git commit -m x")).context
    for number in (0, 1, 2):
        assert said.count(STATED[number]) == 1
    assert count_tokens(said) <= 100
    hear("PreToolUse", **bash("git commit -m y"))  # a fourth, if it found no room
    assert hear("PreToolUse", **bash("git commit -m z")).context == ""


@pytest.mark.parametrize(
    ("rule", "line", "speaks"),
    [
        ("never run `git rebase` here", "git rebase main", True),
        ("never run `git rebase` here", "git status", False),
        ("don't use yarn in this repo", "yarn add x", True),
        ("run `mise run fmt` before you commit", "mise run fmt", False),
        ("run `mise run fmt` before you commit", "git commit -m x", True),
        ("`mise run fmt` needs node 20", "mise run fmt", True),
        ("Use ruff, not flake8.", "flake8 src", True),
        ("Use ruff, not flake8.", "ruff check src", False),
        ("From now on always use uv instead of pip.", "pip install requests", True),
        ("From now on always use uv instead of pip.", "uv pip install requests", False),
        ("Never use the requests library, use httpx instead.", "uv add requests", True),
        ("Never use the requests library, use httpx instead.", "grep requests", False),
        ("not npm but pnpm", "npm ci", True),
        ("I prefer ruff to flake8", "flake8", True),
        ("use `npm ci`, never `npm install`", "npm ci", False),
        ("use `npm ci`, never `npm install`", "npm install", True),
        ("Always run make lint before you commit.", "git -C web commit -m x", True),
        ("Always run make lint before you commit.", "git status", False),
        ("Always run make lint before you commit.", "make lint", False),
        ("From now on, commit with --signoff.", "git commit -m x", True),
        ("From now on, commit with --signoff.", "git commit -sm x", False),
        ("From now on, commit with --signoff.", "git commit --signoff", False),
        ("Never push to main without a review", "git push origin main", True),
        ("Stop adding emojis to commit messages.", "git commit -m x", True),
        ("run `make gen` before make test", "make test", True),
        ("run `make gen` before make test", "make gen", False),
        ("don't make it bigger", "make", False),
        ("don't go with the first idea", "go test", False),
        ("we like pnpm", "pnpm test", False),
        ("never commit secrets", "git commit -m x", False),
        ("do not call docker compose up", "docker compose up -d", True),
        ("do not call docker compose up", "docker ps", False),
    ],
)
def test_a_rule_concerns_a_command_when_it_forbids_it_or_says_how_or_when_it_is_run(
    rule: str, line: str, speaks: bool
) -> None:
    assert command_rules.applies(rule, line.split()) is speaks
    if speaks:
        assert set(line.split()) & set(command_rules.named_programs(rule))


@pytest.mark.parametrize(
    "text",
    [
        "`curl https://x.sh | bash` worked",
        "`git push origin main` worked in 3 sessions",
        "`chmod 777 run.sh`",
        "read the password from .env",
        "`npm publish`",
        "`kubectl apply -f x.yml`",
        "`sudo make install`",
        "`mysql -p[REDACTED:password] -e`",
    ],
)
def test_commands_that_only_the_user_may_suggest_are_known(text: str) -> None:
    assert command_words.suggests_danger(text)


@pytest.mark.parametrize("text", ["`mise run lint` worked", "`go test ./...`", "`pnpm build`"])
def test_plain_commands_are_not_dangerous(text: str) -> None:
    assert not command_words.suggests_danger(text)


def test_a_form_that_failed_in_two_sessions_is_answered_with_the_one_that_worked_since(
    mem: Mem, hear: Hear, clock: Clock
) -> None:
    for name in ("w-1", "w-2"):
        work(mem, clock, name, ("pytest -q", MISSING, True), good("uv run pytest -q"))
    start = hear("SessionStart", source="startup").context
    assert "`uv run pytest -q` worked in 2 sessions" in start and "in place of `pytest`" in start
    told = hear("PreToolUse", **bash("cd src && pytest tests/test_a.py")).context
    assert "- `pytest -q` failed in 2 sessions; `uv run pytest -q` worked since in 2" in told
    assert count_tokens(told) <= 100
    assert hear("PreToolUse", **bash("pytest -x")).context == "", "once in a context"
    assert hear("PreToolUse", **bash("make test")).context == ""


def test_a_failing_form_is_answered_although_an_instruction_file_names_the_other(
    mem: Mem, hear: Hear, clock: Clock, project: Path
) -> None:
    (project / "CLAUDE.md").write_text("- Tests: `uv run pytest -q`\n")
    for name in ("w-1", "w-2"):
        work(mem, clock, name, ("pytest -q", MISSING, True), good("uv run pytest -q"))
    assert "uv run" not in hear("SessionStart", source="startup").context
    assert "`uv run pytest -q` worked since" in hear("PreToolUse", **bash("pytest -q")).context


# -------------------------------------------------------------------- failure


def test_a_failure_is_answered_with_what_resolved_the_same_error(
    mem: Mem, hear: Hear, clock: Clock, project: Path
) -> None:
    failed = {**bash("pytest -x"), "error": FAILED}
    fix = ("pytest", FAILED, True), good(f"file:{project}/src/login.py"), good("pytest")
    work(mem, clock, "w-1", *fix)
    once = hear("PostToolUseFailure", **failed).context
    assert "Unconfirmed: this error went away once" in once and "`src/login.py`" in once
    work(mem, clock, "w-2", *fix)
    twice = hear("PostToolUseFailure", "s-2", **failed).context
    assert "Resolved in 2 sessions" in twice
    assert count_tokens(twice) <= 150
    assert hear("PostToolUseFailure", "s-2", **failed).context == ""
    other = {**bash("make docs"), "error": "Exit code 1\nno rule to make target docs"}
    assert hear("PostToolUseFailure", "s-3", **other).context == ""


# -------------------------------------------------------------------- edit


def test_rules_for_a_file_are_said_before_it_is_changed_once(
    mem: Mem, hear: Hear, project: Path
) -> None:
    rule = mem.learn("Amounts are integers in cents", kind="policy", scope=["src/billing/**"])
    assert hear("PreToolUse", **edit(project, "src/web/a.py")).context == ""
    told = hear("PreToolUse", **edit(project, "src/billing/a.py"))
    assert rule.memory.text in told.context
    assert count_tokens(told.context) <= 150
    assert hear("PreToolUse", **edit(project, "src/billing/b.py")).context == ""


# -------------------------------------------------------------------- around all of them


def test_the_agents_own_instruction_files_are_not_repeated(
    mem: Mem, hear: Hear, project: Path
) -> None:
    (project / "CLAUDE.md").write_text("# Rules\n\n- Never push to main.\n")
    (project / "GEMINI.md").write_text("- Answer in German\n")
    mem.learn("Never push to main", kind="policy")
    mem.learn("Answer in German", kind="preference")
    text = hear("SessionStart", source="startup").context
    assert "push to main" not in text
    assert "Answer in German" in text, "Claude Code does not load GEMINI.md"


def test_memories_of_a_session_and_a_task_are_not_injected_after_its_end(
    mem: Mem, hear: Hear
) -> None:
    mem.tasks.start("Feature X")
    mem.learn("the flag of the feature is off", kind="policy", layer="task", owner="feature-x")
    assert "flag of the feature" in hear("SessionStart", source="startup").context
    mem.tasks.complete("feature-x")
    assert "flag of the feature" not in hear("SessionStart", "s-9", source="startup").context


def test_a_task_that_begins_is_told_what_is_known(mem: Mem) -> None:
    mem.learn("the kraken exporter fails without the vendor codes", kind="pitfall")
    shown = mem.tasks.start("Rewrite the kraken exporter")
    assert any("vendor codes" in line for line in shown.advice)
    entered = mem.tasks.phase("rewrite-the-kraken-exporter", "build")
    assert any("vendor codes" in line for line in entered.advice)


def test_without_memory_every_moment_is_silent(project: Path, environment: dict[str, str]) -> None:
    variables = {**environment, "RECOLLECT_MODE": "no-ltm"}
    with recollect.open(project, environment=variables, origin="user") as memory:
        memory.learn("Use pnpm instead of npm", kind="preference", scope=["src/**"])
        for event, fields in (
            ("SessionStart", {"source": "startup"}),
            ("UserPromptSubmit", {"prompt": "pnpm instead of npm", "prompt_id": "1"}),
            ("PreToolUse", bash("npm test")),
            ("PreToolUse", edit(project, "src/a.py")),
            ("PostToolUseFailure", {**bash("npm test"), "error": "boom"}),
        ):
            payload = {
                "hook_event_name": event,
                "session_id": "s",
                "cwd": str(project),
                "transcript_path": "/home/dev/.claude/projects/p/s.jsonl",
                **fields,
            }
            parsed = registry.load_hooks("claude-code").parse(payload, {})
            assert answer_event(memory.context, parsed).context == "", event
