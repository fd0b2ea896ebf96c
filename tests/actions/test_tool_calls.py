"""What tool calls did, in the shapes of the agents that make them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.actions.command_output import GitCommit, find_commits
from recollect.actions.shell import parse_script
from recollect.actions.tool_calls import (
    TodoEntry,
    describe_target,
    is_failed,
    read_effects,
    read_question,
    read_todos,
    unwrap_output,
)
from recollect.types.records import Message, ToolCall
from recollect.window.thread_facts import extract_facts
from tests.builders.sessions import number

PATCH = """*** Begin Patch
*** Update File: src/a.py
*** Move to: src/moved.py
@@
-x
+y
*** Add File: docs/new.md
+hello
*** Delete File: old.txt
*** End Patch"""


def call(name: str, **arguments: Any) -> ToolCall:
    return ToolCall("c", name, json.dumps(arguments))


@pytest.mark.parametrize(
    ("made", "written"),
    [
        (call("Write", file_path="/w/a.py", content="x"), ["/w/a.py"]),
        (call("Edit", file_path="a.py", old_string="x", new_string="y"), ["a.py"]),
        (call("MultiEdit", file_path="a.py", edits=[{"old_string": "x"}]), ["a.py"]),
        (call("NotebookEdit", notebook_path="n.ipynb", new_source="x"), ["n.ipynb"]),
        (call("apply_patch", input=PATCH), ["src/a.py", "src/moved.py", "docs/new.md", "old.txt"]),
        (
            ToolCall("c", "apply_patch", PATCH),
            ["src/a.py", "src/moved.py", "docs/new.md", "old.txt"],
        ),
        (
            call("shell", command=["apply_patch", PATCH]),
            ["src/a.py", "src/moved.py", "docs/new.md", "old.txt"],
        ),
        (
            call("exec_command", cmd=f"apply_patch <<'EOF'\n{PATCH}\nEOF"),
            ["src/a.py", "src/moved.py", "docs/new.md", "old.txt"],
        ),
        (call("write", filePath="src/b.ts", content="x"), ["src/b.ts"]),
        (call("edit", filePath="src/b.ts", oldString="x"), ["src/b.ts"]),
        (call("patch", patchText="--- a/x.ts\n+++ b/x.ts\n@@ -1 +1 @@"), ["x.ts"]),
        (call("write_file", file_path="./g.py", content="x"), ["g.py"]),
        (call("replace", file_path="g.py", instruction="x"), ["g.py"]),
        (call("edit_file", target_file="cur.py", code_edit="x"), ["cur.py"]),
        (call("search_replace", file_path="cur.py", old_string="x"), ["cur.py"]),
        (call("StrReplace", path="cur.py"), ["cur.py"]),
        (call("file_operations", operation="create_file", path="lib/A.pm"), ["lib/A.pm"]),
        (call("file_operations", operation="rename_file", old_path="a", new_path="b"), ["a", "b"]),
        (
            call(
                "file_operations",
                operation="multi_replace_string",
                replacements=[{"path": "x"}, {"path": "y"}],
            ),
            ["x", "y"],
        ),
        (call("str_replace_based_edit_tool", command="create", path="/r/f.py"), ["/r/f.py"]),
        (call("mcp__filesystem__write_file", path="m.md"), ["m.md"]),
        (call("Bash", command="cat > out.txt <<'EOF'\necho > not_this.txt\nEOF"), ["out.txt"]),
        (
            call("Bash", command="sed -i 's/a/b/' one.py two.py && touch three.py"),
            ["one.py", "two.py", "three.py"],
        ),
        (call("run_shell_command", command="make 2>/dev/null | tee build.log"), ["build.log"]),
    ],
)
def test_files_that_were_written_are_found(made: ToolCall, written: list[str]) -> None:
    assert list(read_effects(made).writes) == written
    assert read_effects(made).reads == ()


@pytest.mark.parametrize(
    ("made", "read"),
    [
        (call("Read", file_path="a.py", offset=3), ["a.py"]),
        (call("read_file", absolute_path="/w/a.py"), ["/w/a.py"]),
        (call("read_many_files", paths=["a.py", "b.py"]), ["a.py", "b.py"]),
        (call("read", filePath="a.ts"), ["a.ts"]),
        (call("file_operations", operation="read_file", path="lib/A.pm"), ["lib/A.pm"]),
        (call("text_editor", command="view", path="a.py"), ["a.py"]),
        (call("shell", command=["bash", "-lc", "sed -n '1,200p' src/main.rs"]), ["src/main.rs"]),
        (
            call("exec_command", cmd="cd /w && cat a.md | head -5; tail -n 20 b.md"),
            ["a.md", "b.md"],
        ),
        (call("Bash", command="cat notes.md # git commit"), ["notes.md"]),
        (call("local_shell", action={"type": "exec", "command": ["cat", "a.md"]}), ["a.md"]),
    ],
)
def test_files_that_were_read_are_found(made: ToolCall, read: list[str]) -> None:
    assert list(read_effects(made).reads) == read
    assert read_effects(made).writes == ()


@pytest.mark.parametrize(
    "made",
    [
        call("Grep", pattern="x", path="src"),
        call("list_dir", path="src"),
        call("create_directory", path="src/new"),
        call("file_operations", operation="grep_search", path="src"),
        call("TodoWrite", todos=[{"content": "write a.py", "status": "pending"}]),
        call("Bash", command="echo 'cat secret.txt > x'"),
        call("Bash", command="ls -la 2>&1 >/dev/null"),
        call("Task", prompt="read src/a.py"),
        ToolCall("c", "Write", "not json"),
        ToolCall("c", "", "[]"),
    ],
)
def test_what_touches_no_file_shows_none(made: ToolCall) -> None:
    assert (read_effects(made).reads, read_effects(made).writes) == ((), ())


@pytest.mark.parametrize(
    ("script", "commands"),
    [
        ("git commit -m 'a; git log'", [("commit", "-m", "a; git log")]),
        ("cd x && git -C y --no-pager log --oneline -5", [("log", "--oneline", "-5")]),
        ("bash -lc 'git add . && git commit -qm x'", [("add", "."), ("commit", "-qm", "x")]),
        ("GIT_PAGER=cat git show abc", [("show", "abc")]),
        ("echo git commit", []),
        ("cat notes # git commit", []),
    ],
)
def test_git_is_recognised_only_where_it_is_run(
    script: str, commands: list[tuple[str, ...]]
) -> None:
    assert list(parse_script(script).git) == commands


def test_commits_are_read_from_what_git_says_when_it_commits() -> None:
    output = (
        "[main abc1234] Fix the parser\n 2 files changed\n[topic (root-commit) 0123abcd] First\n"
    )
    assert find_commits([("commit", "-m", "x")], output) == [
        GitCommit("0123abcd", "First", True),
        GitCommit("abc1234", "Fix the parser", True),
    ]


def test_commits_are_read_from_logs() -> None:
    short = "* abc1234 (HEAD -> main) Fix the parser\n| * def5678 Add a test\n"
    assert find_commits([("log", "--oneline", "--graph")], short) == [
        GitCommit("abc1234", "Fix the parser", False),
        GitCommit("def5678", "Add a test", False),
    ]
    long = (
        f"commit {'a' * 40} (HEAD)\nAuthor: A <a@b>\nDate:   Mon\n\n    Fix it\n\n    deadbeef more\n"
        f"\ncommit {'b' * 40}\nAuthor: A <a@b>\nDate:   Mon\n\n    Begin\n"
    )
    assert [c.subject for c in find_commits([("log", "-2")], long)] == ["Fix it", "Begin"]


def test_a_line_that_merely_starts_with_hex_digits_is_not_a_commit() -> None:
    output = "deadbeef is a word\nabc1234 0x10 register dump\n[info 1234567] not git\n"
    assert find_commits([("status",)], output) == []
    assert find_commits([("log", "-2")], output) == []
    assert find_commits([], output) == []
    assert read_effects(call("Bash", command="cat hashes.txt")).git == ()


def test_a_version_control_tool_is_git() -> None:
    assert (
        read_effects(call("version_control", operation="commit", message="x")).git[0][0] == "commit"
    )
    assert read_effects(call("mcp__git__git_log", repo_path=".")).git[0][0] == "log"


def test_todo_lists_are_read_in_every_shape() -> None:
    expected = (
        TodoEntry("fix it", "Fix it", "in progress"),
        TodoEntry("test it", "Test it", "pending"),
    )
    shapes = [
        call(
            "TodoWrite",
            todos=[
                {"content": "Fix it", "status": "in_progress"},
                {"content": "Test it", "status": "pending"},
            ],
        ),
        call(
            "update_plan",
            plan=[
                {"step": "Fix it", "status": "in_progress"},
                {"step": "Test it", "status": "pending"},
            ],
        ),
        call(
            "write_todos",
            todos=[
                {"description": "Fix it", "status": "in_progress"},
                {"description": "Test it", "status": "pending"},
            ],
        ),
        call(
            "todowrite",
            todos=[
                {"content": "Fix it", "status": "in_progress"},
                {"content": "Test it", "status": "pending"},
            ],
        ),
    ]
    for shape in shapes:
        assert read_todos(shape) == (True, expected)


def test_changes_of_single_todos_are_read_too() -> None:
    updated = read_todos(
        call("todo_operations", operation="update", todoUpdates=[{"id": 2, "status": "completed"}])
    )
    assert updated == (False, (TodoEntry("2", "", "done"),))
    blocked = read_todos(
        call(
            "todo_operations",
            operation="write",
            todoList=[{"id": 1, "title": "A", "status": "blocked", "blockedReason": "no key"}],
        )
    )
    assert blocked == (True, (TodoEntry("1", "A", "blocked: no key"),))
    created = read_todos(
        call("TaskCreate", subject="Fix it"), "Task #3 created successfully: Fix it"
    )
    assert created == (False, (TodoEntry("3", "Fix it", ""),))
    assert read_todos(call("TaskUpdate", taskId="3", status="completed")) == (
        False,
        (TodoEntry("3", "", "done"),),
    )
    assert read_todos(call("Task", prompt="x")) is None


@pytest.mark.parametrize(
    "made",
    [
        call("user_collaboration", operation="request_input", message="Which one?"),
        call("AskUserQuestion", questions=[{"question": "Which one?", "header": "h"}]),
        call("ask_followup_question", question="Which one?"),
        call("request_user_input", questions=[{"question": "Which one?"}]),
    ],
)
def test_questions_to_the_user_are_recognised(made: ToolCall) -> None:
    assert read_question(made) == "Which one?"
    assert read_question(call("Bash", command="ask")) == ""


def test_wrapped_output_is_unwrapped_and_failures_are_seen() -> None:
    assert (
        unwrap_output(Message("tool", json.dumps({"output": "a\nb", "metadata": {"exit_code": 0}})))
        == "a\nb"
    )
    assert unwrap_output(Message("tool", "{not json")) == "{not json"
    assert is_failed(Message("tool", "x", is_error=True))
    assert is_failed(Message("tool", "Wall time: 1\nProcess exited with code 2\nOutput:\n"))
    assert is_failed(Message("tool", json.dumps({"output": "x", "metadata": {"exit_code": 1}})))
    assert not is_failed(Message("tool", "Process exited with code 0"))


def test_the_target_of_a_call_is_its_file_or_the_start_of_its_command() -> None:
    assert describe_target(call("Edit", file_path="a.py")) == "a.py"
    assert describe_target(call("Bash", command="pytest -q tests/x.py")) == "pytest -q"
    assert describe_target(call("mcp__x__y", n=1)) == ""


anything = st.recursive(
    st.none()
    | st.integers()
    | st.text(max_size=20)
    | st.sampled_from([PATCH, "git log", "a'b\"c"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "command",
                    "cmd",
                    "action",
                    "path",
                    "file_path",
                    "todos",
                    "plan",
                    "questions",
                    "input",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=10,
)
tools = st.sampled_from(
    ["Bash", "Write", "TodoWrite", "AskUserQuestion", "git_log", "TaskUpdate", ""]
)


@settings(deadline=None, max_examples=300)
@given(tools, anything, st.text(max_size=200))
def test_no_call_and_no_output_breaks_the_reading(name: str, value: Any, output: str) -> None:
    made = ToolCall("c", name, json.dumps(value))
    facts = extract_facts(
        number([Message("assistant", "", (made,)), Message("tool", output, call_id="c")])
    )
    assert dict(facts.tools) == {name: 1}
    assert all(isinstance(path, str) for path in read_effects(made).writes)
    assert isinstance(describe_target(made) + read_question(made), str)
    for commands in ([("log", "--oneline")], [("commit",)]):
        for commit in find_commits(commands, output):
            assert commit.subject


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("Exit code 2\nno such file", True),
        ("Process exited with code 1\nOutput:\nboom", True),
        ("Process exited with code 0\nOutput:\nfine", False),
        ("boom\n<exited with exit code 1>", True),
        ("fine\n<exited with exit code 0>", False),
        ("<shellId: 7 completed with exit code 3>", True),
        ("Output: boom\nError: (none)\nExit Code: 1\nSignal: 0", True),
        ("Output: fine\nExit Code: 0", False),
        ("[Command finished with exit code 4]", True),
        ('{"output": "x", "metadata": {"exit_code": 2}}', True),
        ("the docs say: exit codes are 0 or 1", False),
    ],
)
def test_every_agents_way_to_tell_an_exit_status_is_understood(text: str, wrong: bool) -> None:
    assert is_failed(Message("tool", text, call_id="c")) is wrong
