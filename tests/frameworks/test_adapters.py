"""Adapters of other frameworks, used through the frameworks' own classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from anthropic.lib.tools import ToolError
from hypothesis import given
from hypothesis import strategies as st

import recollect
from recollect.frameworks import anthropic_memory
from recollect.frameworks.anthropic_memory import MemoryTool

Call = Callable[..., str]
PLAN = "/memories/plan.md"


@pytest.fixture
def call(mem: recollect.Recollect) -> Call:
    """A command as the API sends it."""
    tool = MemoryTool(mem)

    def send(command: str, **given: Any) -> str:
        return str(tool.call({"command": command, **given}))

    return send


def test_a_file_is_created_viewed_changed_renamed_and_deleted(call: Call) -> None:
    assert call("create", path=PLAN, file_text="one\ntwo\nthree") == (
        f"File created successfully at: {PLAN}"
    )
    assert call("view", path=PLAN) == (
        f"Here's the content of {PLAN} with line numbers:\n     1\tone\n     2\ttwo\n     3\tthree"
    )
    assert call("view", path=PLAN, view_range=[2, 2]).endswith(":\n     2\ttwo")
    assert call("view", path=PLAN, view_range=[2, -1]).endswith("\n     3\tthree")
    edited = call("str_replace", path=PLAN, old_str="two", new_str="2")
    assert edited.startswith("The memory file has been edited.")
    assert edited.endswith("     1\tone\n     2\t2\n     3\tthree")
    assert call("insert", path=PLAN, insert_line=0, insert_text="zero\n") == (
        f"The file {PLAN} has been edited."
    )
    assert call("view", path=PLAN).count("\n") == 5
    assert call("rename", old_path=PLAN, new_path="/memories/done/plan.md") == (
        f"Successfully renamed {PLAN} to /memories/done/plan.md"
    )
    assert "/memories/done/plan.md" in call("view", path="/memories")
    assert call("delete", path="/memories/done") == "Successfully deleted /memories/done"
    with pytest.raises(ToolError, match="does not exist"):
        call("view", path="/memories/done/plan.md")


def test_an_empty_memory_is_an_empty_folder(call: Call) -> None:
    assert call("view", path="/memories").endswith("node_modules:\n0B\t/memories")


def test_a_folder_shows_two_levels_and_nothing_hidden(call: Call) -> None:
    for path in ("a.txt", "x/b.txt", "x/y/c.txt", ".hidden", "node_modules/d.js"):
        call("create", path=f"/memories/{path}", file_text="12345")
    listed = call("view", path="/memories").splitlines()[2:]
    assert listed == ["5B\t/memories/a.txt", "10B\t/memories/x/", "5B\t/memories/x/b.txt", "5B\t/memories/x/y/"]  # fmt: skip


@pytest.mark.parametrize(
    ("command", "given", "told"),
    [
        ("view", {"path": "/memories/none"}, "does not exist. Please provide a valid path"),
        ("create", {"path": PLAN, "file_text": "x"}, f"File {PLAN} already exists"),
        ("create", {"path": f"{PLAN}/below", "file_text": "x"}, "is a file, not a directory"),
        ("str_replace", {"path": PLAN, "old_str": "no", "new_str": ""}, "did not appear verbatim"),
        ("str_replace", {"path": PLAN, "old_str": "same"}, "in lines: 1, 2. Please ensure"),
        ("str_replace", {"path": "/memories", "old_str": "x"}, "is not a file"),
        ("insert", {"path": PLAN, "insert_line": 9, "insert_text": "x"}, r"\[0, 2\]"),
        ("insert", {"path": PLAN, "insert_line": -1, "insert_text": "x"}, r"\[0, 2\]"),
        ("delete", {"path": "/memories/none"}, "does not exist"),
        ("delete", {"path": "/memories"}, "Cannot delete"),
        ("delete", {"path": "/memories/"}, "Cannot delete"),
        ("rename", {"old_path": "/memories/no", "new_path": "/memories/x"}, "does not exist"),
        ("rename", {"old_path": PLAN, "new_path": PLAN}, "already exists"),
        ("rename", {"old_path": "/memories", "new_path": "/memories/x"}, "Cannot rename"),
    ],
)
def test_errors_have_the_wording_of_the_protocol(
    call: Call, command: str, given: dict[str, Any], told: str
) -> None:
    call("create", path=PLAN, file_text="same\nsame")
    with pytest.raises(ToolError, match=told):
        call(command, **given)
    assert call("view", path=PLAN).endswith("     1\tsame\n     2\tsame")


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "/memories/../secret",
        "/memories/a/../../b",
        "/memories/%2e%2e/b",
        "/memories\\..\\b",
        "/memoriesx/a",
        "memories/a",
        "",
    ],
)
def test_no_path_leads_out_of_the_memory(call: Call, path: str) -> None:
    for command, sent in (
        ("view", {"path": path}),
        ("create", {"path": path, "file_text": "x"}),
        ("delete", {"path": path}),
        ("rename", {"old_path": path, "new_path": "/memories/x"}),
    ):
        with pytest.raises(ToolError, match=r"would escape|must start with"):
            call(command, **sent)


def test_secrets_are_not_kept_and_files_are_found_by_search(
    mem: recollect.Recollect, call: Call
) -> None:
    key = "AKIA" + "Q3J5K7M2N4P6R8T1"
    call("create", path=PLAN, file_text=f"the gearbox key is {key}")
    assert key not in call("view", path=PLAN)
    assert [item.text for item in mem.scratch.search("gearbox")] == [mem.scratch.list()[0].text]


def test_files_and_other_notes_are_separate(mem: recollect.Recollect, call: Call) -> None:
    mem.scratch.store("mine", "a note of mine")
    call("create", path=PLAN, file_text="x")
    assert MemoryTool(mem).clear_all_memory() == "All memory cleared"
    assert [item.title for item in mem.scratch.list()] == ["mine"]


@given(st.text(min_size=1, max_size=30).filter(lambda text: "/" not in text))
def test_a_path_is_restored_from_its_document_name(part: str) -> None:
    place = f"x/{part}/y"
    assert anthropic_memory._decode_name(anthropic_memory._encode_name(place)) == place
