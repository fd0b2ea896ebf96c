"""The door of the Python API: what is passed wrongly is answered with `InvalidInput`, and nothing
else happens."""

from __future__ import annotations

import os
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect.interfaces import commands
from recollect.operation_table import OPERATIONS

Mem = recollect.Recollect
SECRET = "AKIA" + "Q3J5K7M2N4P6R7T2"


@pytest.fixture
def engine() -> str:
    return "sqlite"


@pytest.mark.parametrize(
    ("method", "values", "named", "says"),
    [
        ("learn", ("x",), {"kidn": "fact"}, "did you mean 'kind'"),
        ("learn", ("x",), {"kind": 5}, "kind must be a text"),
        ("learn", (), {}, "text is missing"),
        ("learn", ("x",), {"text": "y"}, "text was given twice"),
        ("learn", ("x", "fact", False, "y"), {}, "at most 3 positional"),
        ("learn", ("x",), {"confidence": "high"}, "confidence must be a number"),
        ("learn", ("x",), {"confidence": True}, "confidence must be a number"),
        ("learn", ("x",), {"confidence": float("nan")}, "confidence must be a number"),
        ("learn", ("x",), {"tags": [1]}, "tags must be a list of texts"),
        ("learn", ("x",), {"tags": b"ab"}, "tags must be a list of texts"),
        ("learn", ("x",), {"detail": ["a"]}, "detail must be an object"),
        ("learn", ("x",), {"subject": None}, "subject must be a text, not nothing"),
        ("learn", (b"x",), {}, "text must be a text, not a bytes"),
        ("recall", (None,), {}, "query must be a text"),
        ("recall", ("x",), {"limit": "5"}, "limit must be a whole number"),
        ("recall", ("x",), {"limit": 10**30}, "limit must be a whole number"),
        ("recall", ("x",), {"since": 5}, "since must be a text"),
        ("list", (), {"limit": -1}, "limit must be a whole number, 0 or more"),
        ("list", (), {"offset": -1}, "offset must be a whole number, 0 or more"),
        ("sessions.show", ("s",), {"first": -1}, "first must be a whole number, 0 or more"),
        ("record", ("s", []), {}, "message must be"),
        ("record", ("s", 5), {}, "message must be"),
        ("record", (5, "x"), {}, "session must be a text"),
        ("record", ("s", "x"), {"origin": "system"}, "is not an origin"),
        ("record", ("s", "x"), {"origin": "teammate"}, "is not an origin"),
        ("record", ("s", recollect.Message("boss", "x")), {}, "is not a role"),
        ("record", ("s", recollect.Message("user", 5)), {}, "content must be"),  # type: ignore[arg-type]
        ("record", ("s", recollect.Message("user", "x", calls=(1,))), {}, "calls"),  # type: ignore[arg-type]
        ("scratch.store", ("n", 5), {}, "content must be a text"),
        ("show", (7,), {}, "address must be a text"),
        ("store.stats", (1,), {}, "at most 0 positional"),
    ],
)
def test_what_is_passed_wrongly_is_said_to_be_wrong(
    mem: Mem, method: str, values: tuple[Any, ...], named: dict[str, Any], says: str
) -> None:
    with pytest.raises(recollect.InvalidInput, match=says):
        attrgetter(method)(mem)(*values, **named)
    assert mem.list() == ()
    assert mem.sessions.list() == ()


def test_one_text_stands_for_a_list_of_one(mem: Mem) -> None:
    learned = mem.learn("a fact", tags="db")
    assert learned.memory.tags == ("db",)


def test_every_operation_checks_what_it_is_called_with(mem: Mem) -> None:
    for operation in OPERATIONS.values():
        with pytest.raises(recollect.InvalidInput, match="no field 'nonsense'"):
            attrgetter(operation.name)(mem)(nonsense=1)


def test_a_wrong_value_of_any_parameter_is_refused(mem: Mem) -> None:
    wrong = object()
    for words in OPERATIONS:
        operation = commands.load_command(words)
        for parameter in operation.parameters:
            given = {item.name: "1" for item in operation.parameters if item.required}
            with pytest.raises(recollect.InvalidInput):
                attrgetter(operation.name)(mem)(**{**given, parameter.name: wrong})


@pytest.mark.parametrize("origin", ["system", "", "boss"])
def test_nobody_opens_a_memory_as_the_system(project: Path, origin: str) -> None:
    with pytest.raises(recollect.InvalidInput, match="is not an origin"):
        recollect.open(project, origin=origin)


def everything_on_disk(folder: Path) -> bytes:
    return b"".join(
        (Path(place) / name).read_bytes() for place, _, names in os.walk(folder) for name in names
    )


def test_no_secret_reaches_the_disk_in_a_key_or_an_agents_name(mem: Mem, tmp_path: Path) -> None:
    assert mem.learn("one fact", key=SECRET).action == "created"
    assert mem.record("s", "hello", key=SECRET, agent=f"codex {SECRET}").new
    assert not mem.record("s", "hello", key=SECRET).new
    mem.scratch.store("note", "text", key=SECRET)
    mem.close()
    assert SECRET.encode() not in everything_on_disk(tmp_path)


def test_no_secret_is_kept_in_a_sessions_directory_or_branch(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    git = tmp_path / f"work-{SECRET}" / ".git"
    git.mkdir(parents=True)
    (git / "HEAD").write_text(f"ref: refs/heads/fix-{SECRET}\n")
    with recollect.open(git.parent, environment=environment) as memory:
        memory.record("s", "hello")
        session = memory.sessions.list()[0]
    assert session.branch == "fix-[REDACTED:aws-key]"
    assert session.cwd.endswith("/work-[REDACTED:aws-key]")


def test_a_session_whose_id_holds_a_secret_is_refused(mem: Mem) -> None:
    with pytest.raises(recollect.Refused, match="holds a secret"):
        mem.record(SECRET, "hello")


def test_a_key_brings_the_same_message_again_or_is_a_conflict(mem: Mem) -> None:
    mem.record("s", "hello", key="k")
    assert not mem.record("s", "hello", key="k").new
    with pytest.raises(recollect.Conflict, match="another message"):
        mem.record("s", "goodbye", key="k")


@pytest.mark.parametrize(
    ("opener", "role", "origin", "kept"),
    [
        ("user", "user", "", "user"),
        ("user", "assistant", "", "agent"),
        ("user", "tool", "", "tool"),
        ("user", "system", "", "user"),
        ("user", "user", "tool", "tool"),
        ("user", "tool", "user", "tool"),
        ("agent", "user", "", "agent"),
        ("agent", "user", "user", "agent"),
        ("agent", "system", "user", "agent"),
        ("agent", "user", "import", "import"),
        ("tool", "user", "user", "tool"),
    ],
)
def test_what_is_said_of_an_origin_only_lowers_trust(
    project: Path, environment: dict[str, str], opener: str, role: str, origin: str, kept: str
) -> None:
    with recollect.open(project, environment=environment, origin=opener) as memory:
        memory.record("s", "hello", role=role, origin=origin)
        assert [item.origin for item in memory.sessions.show("s").messages] == [kept]
