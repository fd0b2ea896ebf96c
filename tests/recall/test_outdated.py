"""`outdated_by` names a statement that replaces another, not one that only shares words."""

from __future__ import annotations

import json

import pytest

import recollect
from recollect.recall import outdated
from recollect.recall.outdated import DatedText
from tests.conftest import Clock

Mem = recollect.Recollect


def marks(mem: Mem, question: str, **filters: str) -> dict[str, str]:
    """Return the marked texts, each with the text that replaces it."""
    found = mem.recall(question, **filters)  # type: ignore[arg-type]
    texts = {hit.address: hit.text for hit in found}
    return {
        hit.text: texts.get(hit.outdated_by, hit.outdated_by) for hit in found if hit.outdated_by
    }


@pytest.mark.parametrize("session", ["a", "b"])
def test_the_users_older_statement_names_the_newer_one_also_in_one_session(
    mem: Mem, clock: Clock, session: str
) -> None:
    old, new = "Redis listens on port 6380", "Fine. Redis listens on port 6381 now. Go on."
    mem.record("a", old)
    clock.advance(seconds=300)
    mem.record(session, new)
    assert marks(mem, "which port has redis") == {old: new}


def test_the_newest_of_several_is_named(mem: Mem, clock: Clock) -> None:
    said = [f"We are on PostgreSQL {version}" for version in (14, 15, 16)]
    for number, text in enumerate(said):
        mem.record(f"s{number}", text)
        clock.advance(days=10)
    assert marks(mem, "which postgresql are we on") == dict.fromkeys(said[:2], said[2])


def test_a_memory_replaces_what_was_said_before(mem: Mem, clock: Clock) -> None:
    mem.record("s", "The main branch is called master")
    clock.advance(days=10)
    mem.learn("The main branch is called main")
    assert marks(mem, "main branch") == {
        "The main branch is called master": "The main branch is called main"
    }


def test_a_superseded_version_names_the_one_in_force(mem: Mem, clock: Clock) -> None:
    mem.learn("Redis listens on port 6380")
    clock.advance(days=10)
    new = mem.learn("Redis listens on port 6381")
    assert marks(mem, "redis port") == {}
    assert marks(mem, "redis port", as_of="5d") == {"Redis listens on port 6380": new.address}


@pytest.mark.parametrize(
    ("role", "old", "new"),
    [
        ("user", "Fix the flaky login test in CI", "The login test is flaky again, fix it"),
        ("user", "The login test fails on port 80", "Does the login test run on port 81?"),
        ("user", "Is the login test on port 80?", "Is the login test on port 81?"),
        ("user", "If the login test is on port 80, stop", "If the login test is on port 81, stop"),
        ("user", "Add a login test for admins", "Add a login test for guests"),
        ("user", "The login test lives in tests/a.py", "The login test imports tests/b.py"),
        ("user", "Run the login test 3 times", "Look at step 4 of the login test"),
        ("assistant", "The login test is on port 80", "The login test is on port 81"),
        ("tool", "The login test is on port 80", "The login test is on port 81"),
    ],
)
def test_what_merely_shares_words_is_not_marked(
    mem: Mem, clock: Clock, role: str, old: str, new: str
) -> None:
    mem.record("a", old, role=role)
    clock.advance(days=40)
    mem.record("b", new, role=role)
    assert len(mem.recall("login test port")) == 2
    assert marks(mem, "login test port") == {}


def test_what_the_user_pasted_is_not_theirs(mem: Mem, clock: Clock) -> None:
    mem.record("a", "Redis listens on port 6380")
    clock.advance(days=1)
    mem.record("b", "Look at this:\n```\nRedis listens on port 6381\n```")
    assert marks(mem, "redis port") == {}


def test_two_memories_are_never_compared() -> None:
    texts = [DatedText("The port is 80", 1, True), DatedText("The port is 81", 2, True)]
    assert outdated.find_outdated(texts, {"port"}) == {}
    assert outdated.find_outdated([texts[0], texts[1]._replace(settled=False)], {"port"}) == {0: 1}
    assert outdated.find_outdated([texts[0], texts[1]._replace(settled=False)], {"redis"}) == {}


def call(mem: Mem, id: str, name: str, given: dict[str, str], output: str) -> None:
    """Record a call and its result."""
    made = {"id": id, "function": {"name": name, "arguments": json.dumps(given)}}
    mem.record("s", {"role": "assistant", "content": None, "tool_calls": [made]})
    mem.record("s", {"role": "tool", "tool_call_id": id, "content": output})


def test_the_result_of_a_command_replaces_the_earlier_one(mem: Mem) -> None:
    call(mem, "c1", "bash", {"command": "make lint", "description": "lint"}, "2 problems in a.py")
    call(mem, "c2", "bash", {"command": "make lint", "description": "again"}, "all fine")
    assert marks(mem, "did make lint work?") == {"2 problems in a.py": "all fine"}
    assert mem.recall("did make lint work?")[0].text == "all fine"


def test_an_edit_replaces_the_lines_that_it_takes_out(mem: Mem) -> None:
    old, new = "upload_timeout = 30  # seconds", "upload_timeout = 90  # seconds"
    call(mem, "c1", "bash", {"command": "cat limits.py"}, f"{old}\nretries = 3\n")
    call(mem, "c2", "bash", {"command": "cat other.py"}, "upload_timeout is read in limits\n")
    given = {"file_path": "limits.py", "old_string": old, "new_string": new}
    call(mem, "c3", "Edit", given, "done")
    found = {hit.id: hit.outdated_by for hit in mem.recall("upload_timeout seconds")}
    assert found["s:2"] == "memory://session/s/messages/5-5"
    assert list(found).index("s:5") < list(found).index("s:2")
    assert not any(mark for id, mark in found.items() if id != "s:2")


def test_an_edit_replaces_what_a_search_showed_and_no_report_that_quotes_it(mem: Mem) -> None:
    old, new = "upload_timeout = 30  # seconds", "upload_timeout = 90  # seconds"
    call(mem, "c1", "bash", {"command": "rg upload"}, f"api/limits.py:4: {old}\n")
    report = f"The cause is in `api/limits.py`:\n{old}\nThirty seconds are too few."
    prompt = "Read `api/limits.py` and find out why uploads fail. " * 12
    call(mem, "c2", "Task", {"prompt": prompt}, report)
    given = {"file_path": "/p/api/limits.py", "old_string": old, "new_string": new}
    call(mem, "c3", "Edit", given, "done")
    found = {hit.id: hit.outdated_by for hit in mem.recall("upload_timeout seconds")}
    assert found["s:2"] and not found["s:4"]


def test_an_edit_that_only_adds_lines_replaces_nothing(mem: Mem) -> None:
    old = "upload_timeout = 30  # seconds"
    call(mem, "c1", "bash", {"command": "cat limits.py"}, f"{old}\n")
    given = {"file_path": "a.py", "old_string": old, "new_string": f"{old}\nupload_retries = 3"}
    call(mem, "c2", "Edit", given, "done")
    assert marks(mem, "upload_timeout seconds") == {}


def test_an_edit_replaces_nothing_in_another_file(mem: Mem) -> None:
    old, new = "upload_timeout = 30  # seconds", "upload_timeout = 90  # seconds"
    call(mem, "c1", "Read", {"file_path": "/p/web/limits.py"}, f"{old}\nretries = 3\n")
    given = {"file_path": "/p/web/limits.py", "old_string": "size = 1", "new_string": old}
    call(mem, "c2", "Edit", given, "done")
    given = {"file_path": "/p/api/limits.py", "old_string": old, "new_string": new}
    call(mem, "c3", "Edit", given, "done")
    assert marks(mem, "upload_timeout seconds") == {}
    call(mem, "c4", "Edit", given | {"file_path": "/p/web/limits.py"}, "done")
    found = {hit.id: hit.outdated_by for hit in mem.recall("upload_timeout seconds")}
    marked = dict.fromkeys(("s:2", "s:3"), "memory://session/s/messages/7-7")
    assert {id: mark for id, mark in found.items() if mark} == marked


def test_a_common_line_of_a_long_edit_replaces_nothing_elsewhere_in_the_file(mem: Mem) -> None:
    line = "upload_timeout = default_timeout()"
    first = [f"value_of_the_first_case_{number} = {number}" for number in range(6)]
    second = [f"value_of_the_second_case_{number} = {number}" for number in range(6)]
    given = {"file_path": "/p/a.py", "old_string": "pass", "new_string": "\n".join([line, *first])}
    call(mem, "c1", "Edit", given, "done")
    given = {"file_path": "/p/a.py", "old_string": "\n".join([line, *second]), "new_string": "pass"}
    call(mem, "c2", "Edit", given, "done")
    assert marks(mem, "upload_timeout default") == {}


def test_an_edit_of_similar_code_elsewhere_in_the_file_replaces_nothing(mem: Mem) -> None:
    setup = "    upload_dir = tmp_path / 'upload'\n    upload_dir.mkdir(parents=True)\n"
    first, second = f"def test_first_upload(tmp_path):\n{setup}", f"def test_second():\n{setup}"
    short = "def test_second(upload_dir):\n"
    given = {"file_path": "/p/t.py", "old_string": "pass", "new_string": f"{first}    send()"}
    call(mem, "c1", "Edit", given, "done")
    given = {"file_path": "/p/t.py", "old_string": f"{second}    get()", "new_string": short}
    call(mem, "c2", "Edit", given, "done")
    assert marks(mem, "upload_dir mkdir") == {}
    # From inside the first one to the next: what is taken out begins as the first one ends.
    across = f"{setup}    send()\n\n\n{short}"
    call(mem, "c3", "Edit", given | {"old_string": across, "new_string": short}, "done")
    found = {hit.id: hit.outdated_by for hit in mem.recall("upload_dir mkdir")}
    assert found["s:1"] == "memory://session/s/messages/5-5"


def test_the_run_that_failed_says_why_and_not_the_one_that_passed_later(mem: Mem) -> None:
    failed = "make lint failed: the linter found an unused name in main.go"
    call(mem, "c1", "bash", {"command": "make lint"}, failed)
    call(mem, "c2", "bash", {"command": "make lint"}, "the linter of make lint found no issues")
    found = [hit.text for hit in mem.recall("why did the linter fail") if hit.role == "tool"]
    assert found[0] == failed
