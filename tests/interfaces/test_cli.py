"""The command line in real processes: text for people, JSON for programs, errors."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import recollect
from recollect.errors import EXIT_STATUS, InvalidInput
from recollect.interfaces import commands, manual
from recollect.interfaces.screens.results import show
from recollect.interfaces.slash import run_slash
from recollect.memory import operations_many
from recollect.operation_table import EVERYDAY, OPERATIONS

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(project: Path, tmp_path: Path) -> Run:
    """Runs `recollect` in the project, as an agent's shell would."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "RECOLLECT_HOME": str(tmp_path / "home"),
    }

    def call(*words: str, stdin: str = "", **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "recollect", *words],
            cwd=project,
            env={**environment, **more},
            input=stdin,
            capture_output=True,
            text=True,
        )

    return call


def test_tests_never_touch_the_real_home(tmp_path: Path) -> None:
    assert Path.home() == tmp_path
    assert Path(os.environ["RECOLLECT_HOME"]).parent == tmp_path


def test_teach_and_find_again(run: Run) -> None:
    learned = run("learn", "Integration tests need Redis on port 6380", "--kind", "reference")
    assert learned.returncode == 0, learned.stderr
    assert "created m-" in learned.stdout
    found = run("recall", "redis port")
    assert "Integration tests need Redis on port 6380" in found.stdout
    assert "memory://m-" in found.stdout


def test_the_same_rule_for_other_files_is_shown_and_both_are_kept(
    run: Run, environment: dict[str, str]
) -> None:
    store = {name: environment[name] for name in ("RECOLLECT_DATABASE",) if name in environment}
    rule = ("learn", "Never edit generated files", "--kind", "pattern")
    whole = json.loads(run(*rule, "--json", **store).stdout)["id"]
    narrow = run(*rule, "--scope", "src/gen/**", **store)
    assert narrow.stdout.startswith("created m-")
    assert f"{whole} says the same for all files" in narrow.stdout
    merged = run(*rule, "--scope", "web/**", "--near", "merge", **store)
    assert merged.stdout.startswith(f"reinforced {whole}")
    assert f"{whole} still applies to all files" in merged.stdout
    listed = json.loads(run("list", "--json", **store).stdout)
    assert sorted(one["scope"] for one in listed) == [[], ["src/gen/**"]]


def test_every_result_is_json_when_asked(run: Run) -> None:
    learned = json.loads(run("learn", "a fact", "--json").stdout)
    assert learned["memory"]["text"] == "a fact"
    assert learned["memory"]["first_seen"].endswith("Z")
    hits = json.loads(run("recall", "fact", "--json").stdout)
    assert hits["hits"][0]["id"] == learned["id"]
    assert hits["left_out"] == 0
    for words in (
        ("list",), ("show", learned["id"]), ("stats",), ("session", "list"), ("scratch", "list"),
        ("verify", "--archive"), ("doctor",), ("init",), ("record", "s", "hi"), ("session", "show", "s"),
        ("store", "k", "v"), ("retrieve", "k"), ("search", "v"), ("delete", "k"), ("demo",),
    ):  # fmt: skip
        done = run(*words, "--json")
        assert done.returncode == 0, (words, done.stderr)
        json.loads(done.stdout)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("learn", ""), "invalid_input"),
        (("learn",), "invalid_input"),
        (("show", "m-1", "m-2"), "invalid_input"),
        (("learn", "x", "--kind", "rumour"), "invalid_input"),
        (("learn", "x", "--confidence", "high"), "invalid_input"),
        (("learn", "x", "--detail", "[1]"), "invalid_input"),
        (("learn", "x", "--tagg", "y"), "invalid_input"),
        (("frobnicate",), "invalid_input"),
        (("session", "frobnicate"), "invalid_input"),
        (("show", "m-000000000000"), "not_found"),
        (("retrieve", "nothing"), "not_found"),
        (("show", "memory://../../etc/passwd"), "invalid_input"),
        (("recall", "x", "--project", "/nowhere/at/all"), "invalid_input"),
        (("record", "s", "{broken"), "invalid_input"),
    ],
)
def test_errors_say_what_was_wrong_and_set_the_status(
    run: Run, words: tuple[str, ...], code: str
) -> None:
    plain = run(*words)
    assert plain.returncode == EXIT_STATUS[code]
    assert plain.stderr.startswith("recollect: ")
    assert plain.stdout == ""
    assert "Traceback" not in plain.stderr
    as_json = run(*words, "--json")
    assert as_json.returncode == EXIT_STATUS[code]
    error = json.loads(as_json.stdout)["error"]
    assert error["code"] == code
    assert error["message"]


def test_a_wrong_option_is_answered_with_the_right_one(run: Run) -> None:
    assert "did you mean --tag" in run("learn", "x", "--tagg", "y").stderr


def test_a_malformed_configuration_is_named(run: Run, project: Path) -> None:
    (project / "recollect.toml").write_text('mode = "quiet"\n')
    done = run("recall", "x")
    assert done.returncode == EXIT_STATUS["config"]
    assert done.stderr.startswith(f"recollect: {project}/recollect.toml:1: mode must be one of")


def test_the_overview_names_every_command(run: Run) -> None:
    overview = run("help", "--all").stdout
    for command in (*OPERATIONS, *commands.OTHER_COMMANDS):
        assert f"\n  {command} " in overview or f"\n  {command}\n" in overview
    groups = {row.name.partition(".")[0] for row in OPERATIONS.values() if "." in row.name}
    assert all(f"\n{group} (mem.{group} in Python)\n" in overview for group in groups)


def test_the_short_help_has_ten_commands_on_one_screen(run: Run) -> None:
    told = run("--help", COLUMNS="80").stdout
    assert told == run("help", COLUMNS="80").stdout == run("-h", COLUMNS="80").stdout
    assert len(EVERYDAY) == 10
    for command in EVERYDAY:
        assert f"\n  {command} " in told
    assert len(told.splitlines()) < 24
    assert max(map(len, told.splitlines())) <= 80


def test_without_a_command_the_status_is_shown(run: Run, project: Path) -> None:
    told = run().stdout
    assert told == run("status").stdout
    assert told.startswith(f"Memory of {project}\nThere is no memory of this project yet.\n")
    assert "recollect init" in told
    assert not (project / ".recollect").exists()
    assert json.loads(run("--json").stdout)["root"] == str(project)


def test_an_unwritable_file_is_named_as_it_was_given(run: Run) -> None:
    run("record", "s", "hello")
    done = run("session", "export", "/no-such-folder/talk.html", "--session", "s")
    assert done.returncode == EXIT_STATUS["error"]
    assert done.stderr == "recollect: No such file or directory (/no-such-folder/talk.html)\n"


def test_an_invalid_database_address_is_answered_with_a_valid_example(
    project: Path, tmp_path: Path
) -> None:
    variables = {"RECOLLECT_HOME": str(tmp_path / "home"), "RECOLLECT_DATABASE": "foo"}
    memory = recollect.open(project, environment=variables)
    with memory, pytest.raises(recollect.RecollectError) as caught:
        memory.list()
    assert "postgresql://me@host/database" in caught.value.hint


def test_deleting_a_memory_like_a_note_names_the_right_command(run: Run) -> None:
    assert "recollect hide" in run("delete", "m-4k9w2c").stderr
    assert "recollect hide" not in run("delete", "todo").stderr


def test_help_of_a_group_lists_its_commands(run: Run, project: Path) -> None:
    told = run("session", "--help").stdout
    assert told == run("help", "session").stdout == run("session", "help").stdout
    for command in OPERATIONS:
        assert (f"\n  {command} " in told) == command.startswith("session "), command
    with recollect.open(project) as memory:
        assert run_slash(memory, "/session help") + "\n" == told


def test_commands_that_are_no_operations_are_parsed_like_all(run: Run, project: Path) -> None:
    for name in commands.OTHER_COMMANDS:
        told = run("help", name).stdout
        assert name == "help" or f"usage: recollect {name}" in told
    assert "did you mean --short" in run("demo", "--sort").stderr
    assert "one of: bash, zsh, fish" in run("completion", "powershell").stderr
    assert "one of: user, project" in run("config", "edit", "--scope", "all").stderr
    with recollect.open(project) as memory, pytest.raises(InvalidInput, match="unknown command"):
        run_slash(memory, "/edit m-4k9w2c")


def test_help_of_memory_lists_the_chat_commands(run: Run) -> None:
    told = run("memory", "--help").stdout
    assert told == run("memory", "help").stdout
    for word in ("list", "search", "view", "reset", "clear"):
        assert f"\n  memory {word} " in told


def test_help_of_a_command_is_its_help(run: Run) -> None:
    assert run("help", "session", "trim").stdout == run("session", "trim", "--help").stdout
    assert run("help", "mcp").stdout.startswith("usage: recollect mcp")


def test_a_free_text_takes_all_remaining_words(run: Run) -> None:
    run("learn", "Redis", "listens", "on", "6380", "--kind", "reference")
    assert "Redis listens on 6380" in run("recall", "where", "does", "Redis", "listen").stdout
    done = run("show", "m-1", "m-2")
    assert done.returncode == EXIT_STATUS["invalid_input"]
    assert done.stderr.startswith("recollect: unexpected argument 'm-2'")


def test_a_missing_argument_is_named_as_the_usage_shows_it(run: Run) -> None:
    assert run("learn").stderr.startswith("recollect: missing argument TEXT")


def test_help_shows_positional_arguments(run: Run) -> None:
    assert "usage: recollect import [PATH…] [options]" in run("import", "--help").stdout


def test_help_examples_can_be_parsed() -> None:
    import shlex

    for command in OPERATIONS:
        for example in commands.load_command(command).examples:
            split = shlex.shlex(example, posix=True, punctuation_chars="|")
            split.whitespace_split = True
            words = list(split)
            while "|" in words:  # what our command reads may come from another one
                words = words[words.index("|") + 1 :]
            assert words[0] == "recollect"
            found, rest = manual.find_command(words[1:])
            assert found == command
            commands.parse_arguments(commands.load_command(found), rest)


def test_many_memories_come_from_a_file_or_a_pipe(run: Run, tmp_path: Path) -> None:
    lines = '{"text": "Redis listens on 6380"}\n{"text": "The build needs JDK 21"}\n'
    (tmp_path / "facts.jsonl").write_text(lines)
    assert run("learn-many", str(tmp_path / "facts.jsonl")).stdout == "2 created\n"
    assert run("learn-many", "-", stdin=lines).stdout == "2 reinforced\n"


def test_a_text_can_come_from_a_pipe(run: Run) -> None:
    run("store", "log", "-", stdin="line one\nline two\n")
    assert run("retrieve", "log").stdout == "line one\nline two\n\n"
    run("record", "s", "-", stdin='{"role": "assistant", "content": "from a pipe"}')
    assert "assistant: from a pipe" in run("session", "show", "s").stdout


def test_an_option_that_is_like_no_other_gets_no_suggestion(run: Run) -> None:
    said = run("learn", "x", "--bogus").stderr
    assert "unknown option --bogus (recollect learn)" in said and "did you mean" not in said


def test_an_error_does_not_name_its_place_twice(run: Run) -> None:
    assert "'bogus' is not a kind\n" in run("list", "--kind", "bogus").stderr


def test_json_lines_are_not_saved_as_one_text(run: Run) -> None:
    lines = '{"text": "Use uv", "tags": ["build"]}\n{"text": "Tests need Redis"}\n'
    done = run("learn", "-", stdin=lines)
    assert done.returncode == 2 and "recollect learn-many -" in done.stderr
    assert "2 created" in run("learn-many", "-", stdin=lines).stdout
    assert "created" in run("learn", "-", stdin='{"port": 80} is the default').stdout
    assert "learn-many" in run("learn", "--help").stdout


def test_help_of_learn_many_shows_a_line_and_every_field(run: Run) -> None:
    said = " ".join(run("learn-many", "--help").stdout.split())
    assert '{"text": "Tests need Redis"' in said
    fields = said.partition("Fields: ")[2].partition("--layer")[0]
    assert {name for name in operations_many._FIELDS if name not in fields} == set()


def test_a_scope_is_given_as_an_argument(run: Run) -> None:
    id = run("learn", "Use uv").stdout.split()[1]
    assert '"app/**"' in run("scope", id, "app/**", "lib/**", "--json").stdout
    assert '"lib/**"' in run("show", id, "--json").stdout
    assert "app" not in run("scope", id, "--json").stdout
    assert "[SCOPE…]" in run("scope", "--help").stdout


def test_an_empty_briefing_says_why(run: Run) -> None:
    for number in (1, 2):
        run("learn", f"The port of service {number} is 80{number}0")
    said, explained = run("briefing").stdout, run("briefing", "--explain").stdout
    assert "2 items left out: an agent's claim" in said and "--explain" in said
    assert "--explain" not in explained and explained.count("  out  memory://") == 2


def test_counts_and_checks_are_worded_for_a_person() -> None:
    rows = {"memories": 1, "cursors": 1, "messages": 2}
    told = show("forget", recollect.Receipt("r", "m", rows, (), 0, (), (), applied=False))
    assert "would erase: 1 import position, 1 memory, 2 messages" in told
    warned = recollect.Check("program", True, "it may be deleted", waits=True)
    told = show("doctor", recollect.Diagnosis(True, (warned,)))
    assert told.startswith("WARN program") and told.endswith("no problems found")
    waits = recollect.Check("agent codex", False, "needs approval", waits=True)
    told = show("doctor", recollect.Diagnosis(True, (waits,)))
    assert told.endswith("no problems found\n1 agent waits for your approval (TODO)")


def test_common_options_may_come_before_the_command(run: Run, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    assert run("--project", str(other), "learn", "elsewhere").returncode == 0
    assert (other / ".recollect" / "memory.db").exists()
    assert "nothing found" in run("recall", "elsewhere").stdout
    assert "elsewhere" in run("recall", "elsewhere", RECOLLECT_PROJECT=str(other)).stdout


def test_incognito_leaves_no_trace(run: Run, project: Path) -> None:
    done = run("learn", "a secret", "--incognito")
    assert done.returncode == 0
    assert "nothing is kept" in done.stderr
    assert os.listdir(project) == []


def test_doctor_makes_no_store(run: Run, project: Path) -> None:
    assert "nothing was written here yet" in run("doctor").stdout
    assert os.listdir(project) == []


def test_json_shows_control_sequences_too(run: Run) -> None:
    run("learn", "c1 \x9b31m and \u202e reversed \u200b")
    out = run("list", "--json").stdout
    assert not any(hidden in out for hidden in "\x9b\u202e\u200b")
    assert json.loads(out)[0]["text"] == "c1 \x9b31m and \u202e reversed \u200b"


def test_a_tool_name_cannot_send_control_sequences_to_the_terminal(run: Run) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
    call["function"]["name"] = "l\x1b]0;x\x07s"  # type: ignore[index]
    message = {"role": "assistant", "content": "x", "tool_calls": [call]}
    done = run("record", "s", json.dumps(message))
    shown = run("session", "show", "s").stdout + done.stdout
    assert "\x1b" not in shown
    assert "\x07" not in shown


def test_a_full_match_in_a_small_store_has_a_high_score(run: Run) -> None:
    run("learn", "Integration tests need Redis on port 6380")
    found = json.loads(run("recall", "redis port integration tests", "--json").stdout)
    assert found["hits"][0]["score"] > 0.45


def test_show_prints_every_field(run: Run) -> None:
    learned = run(
        "learn", "Login fails: clear the cache", "--kind", "solution", "--layer", "task", "--owner",
        "fix-login", "--citation", "src/db.py:42", "--detail", '{"fix": "clear the cache"}',
    ).stdout.split()[1]  # fmt: skip
    shown = run("show", learned).stdout
    assert "owner: fix-login" in shown
    assert "citations: src/db.py:42" in shown
    assert "fix: clear the cache" in shown
    assert "saved 1 time," in shown


def test_a_pipe_gets_the_whole_text(run: Run) -> None:
    text = "a long statement " * 20 + "to its end"
    run("learn", text)
    assert "to its end" in run("list").stdout


def test_one_message_is_counted_in_the_singular(run: Run) -> None:
    run("record", "s", "hello")
    assert "1 message in 1 session\n" in run("stats").stdout
    assert "1 message in 1 session\n" in run("verify", "--archive").stdout


def test_redacted_types_are_named_once(run: Run) -> None:
    keys = " and ".join("AKIA" + end for end in ("Q3J5K7M2N4P6R7T2", "Q3J5K7M2N4P6R7T3"))
    assert "redacted: aws-key\n" in run("record", "s", keys).stdout


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("lern", "x"), "did you mean 'learn'"),
        (("sesion", "list"), "did you mean 'session list'"),
        (("remove", "m-1"), "did you mean 'hide'"),
        (("session",), "one of: session list"),
        (("pattern", "load", "x.json"), "the file cannot be read: No such file or directory ("),
        (("session", "shwo"), "did you mean 'session show'"),
        (("record", "s", "{not json}"), '{"role": "user", "content"'),
        (("record", "s", '{"a":' * 20_000), "not valid JSON"),
        (("learn", "x", "--detail", '{"a":' * 20_000), "must be a JSON object"),
        (("list", "--limit", "-1"), "limit must be a whole number, 0 or more"),
        (("list", "--limit", "9" * 20), "limit must be a whole number"),
        (("session", "show", "s", "--first", "9", "--last", "3"), "no messages 9 to 3"),
        (("session", "show", "s", "--first", "9"), "no messages 9 to"),
    ],
)
def test_an_error_has_a_hint(run: Run, words: tuple[str, ...], says: str) -> None:
    run("record", "s", "hello")
    done = run(*words)
    assert done.returncode == EXIT_STATUS["invalid_input"], done.stderr
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_help_mentions_standard_input(run: Run) -> None:
    assert "- reads stdin" in run("learn", "--help").stdout


@pytest.mark.parametrize(
    ("shell", "status", "says"),
    [
        ("list <&-", 0, "no memories yet"),
        ("learn - <&-", 2, "standard input is closed"),
        ("list > /dev/full", 1, "No space left"),
        ("list --json >&-", 0, ""),
        (
            "stats >/dev/null; mkdir gone; cd gone; rmdir ../gone; {} list",
            1,
            "does not exist any more",
        ),
        ("stats >/dev/null; mkdir $'caf\\xe9'; cd caf*; {} learn x", 1, "not UTF-8"),
        ("stats >/dev/null; touch .recollect; {} init", 1, ".recollect"),
        ("record s 'größe …' && PYTHONIOENCODING=ascii {} session show s", 0, "gr\\xf6\\xdfe"),
        ("learn - < <(printf 'a \\xff b') && {} list", 0, "a \ufffd b"),
    ],
)
def test_closed_streams_cause_no_crash(
    run: Run, project: Path, shell: str, status: int, says: str
) -> None:
    command = f"{sys.executable} -m recollect"
    done = subprocess.run(
        ["bash", "-c", f"{command} {shell.replace('{}', command)}"],
        cwd=project,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert done.returncode == status, done.stderr
    assert says in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr


def test_a_long_session_says_how_many_messages_are_not_shown(run: Run, project: Path) -> None:
    lines = "\n".join(json.dumps({"role": "user", "content": f"m{n}"}) for n in range(1, 1003))
    (project / "talk.jsonl").write_text(lines)
    assert run("session", "import", "talk.jsonl", "--session", "s").returncode == 0
    out = run("session", "show", "s", "--first", "1", "--last", "1002").stdout
    assert out.endswith("(2 more: memory://session/s/messages/1001-1002)\n")


def test_control_sequences_are_escaped(run: Run) -> None:
    run("learn", "red \x1b[31malert\x1b[0m and \u202e reversed \x07")
    for words in (("recall", "alert"), ("list",)):
        out = run(*words).stdout
        assert "\x1b" not in out
        assert "\u202e" not in out
        assert "\x07" not in out
        assert "\\u{1b}[31malert" in out


def test_a_closed_pipe_is_no_error(run: Run, project: Path, tmp_path: Path) -> None:
    for number in range(50):
        run("store", f"note-{number}", "x" * 2000)
    command = (
        f"{sys.executable} -m recollect scratch list --json | head -1; exit ${{PIPESTATUS[0]}}"
    )
    done = subprocess.run(
        ["bash", "-c", command], cwd=project, capture_output=True, text=True,
        env={"PATH": os.environ["PATH"], "RECOLLECT_HOME": str(tmp_path / "home")},
    )  # fmt: skip
    assert done.stderr == ""
    assert done.returncode == 0


def test_the_fast_path_imports_the_standard_library_apsw_and_simsimd_only(
    run: Run, project: Path
) -> None:
    run("learn", "a fact")
    script = (
        "import sys; sys.argv = ['recollect', 'recall', 'fact']\n"
        "from recollect.interfaces.cli import main; main()\n"
        "print('\\n'.join(sorted({name.split('.')[0] for name in sys.modules})), file=sys.stderr)\n"
        "print('heavy:', *(name for name in ('argparse', 'dataclasses', 'inspect', 'subprocess', 'pathlib',\n"
        "    'tomllib', 'shutil', 'logging', 'threading') if name in sys.modules))\n"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", script],
        cwd=project,
        capture_output=True,
        text=True,
        check=True,
    )
    foreign = set(done.stderr.split()) - set(sys.stdlib_module_names) - {"__main__"}
    # What a virtual environment's own start-up files load is not ours.
    foreign -= {
        name for name in foreign if name.startswith(("_virtualenv", "__editable__", "_distutils"))
    }
    assert foreign == {"apsw", "recollect", "simsimd"}, foreign
    assert "a fact" in done.stdout
    assert done.stdout.splitlines()[-1].split() == ["heavy:"], done.stdout


def test_an_import_without_new_messages_says_so(run: Run, project: Path) -> None:
    assert "no transcripts found" in run("import").stdout
    talk = project / "talk.jsonl"
    talk.write_text(json.dumps({"role": "user", "content": "hello"}) + "\n")
    words = ("import", str(talk), "--agent", "messages")
    assert "Read 1 conversation (1 new message)" in run(*words).stdout
    assert run(*words).stdout.strip() == "nothing new in 1 transcript"


def test_every_option_in_a_hint_exists() -> None:
    """A hint that sends somebody to an option which does not exist is worse than none."""
    known = {"--help", "--json", "--project", "--incognito", "--no-ltm"}
    for operation in map(commands.load_command, commands.COMMANDS):
        for parameter in operation.parameters:
            known.update(commands.option_flags(parameter))
    hints = [
        (path.name, text.value)
        for path in Path(recollect.__file__).parent.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.keyword) and node.arg == "hint"
        for text in ast.walk(node.value)
        if isinstance(text, ast.Constant) and isinstance(text.value, str)
    ]
    assert len(hints) > 50
    named = [
        (name, option) for name, text in hints for option in re.findall(r"--[a-z][a-z-]*", text)
    ]
    assert [one for one in named if one[1] not in known] == []


def test_an_empty_search_of_notes_suggests_recall(run: Run) -> None:
    run("learn", "Integration tests need Redis on port 6380")
    assert "Search everything: recollect recall" in run("scratch", "search", "redis").stdout
    assert "Integration tests need Redis" in run("search", "redis").stdout
