"""Hostile transcripts: reading ends with messages, skipped records and a mark."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.archive import steps as archive_steps
from recollect.types.records import ROLES, Json, Message
from tests.agents.reading import SAMPLES, read

LINES = [
    line
    for name in (
        "claude-code-2.1.325.parallel-tools.jsonl",
        "claude-code-2.1.325.subagent-compact.jsonl",
        "codex-0.166.0.rollout.jsonl",
    )
    for line in (SAMPLES / name).read_text().splitlines()
]
READERS = ("claude-code", "codex", "gemini", "copilot", "cursor", "messages")
odd = st.sampled_from(
    [None, True, 0, -1, 1.5, "", "x", [], [1], [None], {}, {"a": 1}, "<a>", "\ud83d"]
)


@st.composite
def bent(draw: st.DrawFn) -> str:
    """A real record in which a value somewhere is not what it should be."""
    record = json.loads(draw(st.sampled_from(LINES)))
    for _ in range(draw(st.integers(1, 4))):
        at: Json = record
        while True:
            if isinstance(at, dict) and at:
                key: Json = draw(st.sampled_from(sorted(at)))
            elif isinstance(at, list) and at:
                key = draw(st.integers(0, len(at) - 1))
            else:
                break
            if not isinstance(at[key], dict | list) or draw(st.booleans()):
                at[key] = json.loads(json.dumps(draw(odd)))
                break
            at = at[key]
    return json.dumps(record)


@settings(max_examples=150, deadline=None)
@given(st.lists(bent() | st.sampled_from(LINES) | st.text(max_size=20), max_size=8))
@pytest.mark.parametrize("host", READERS)
def test_malformed_records_are_read_or_reported_the_same_way_each_time(
    host: str, lines: list[str]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.jsonl"
        path.write_bytes("\n".join(lines).encode("utf-8", "replace") + b"\n")
        told = read(host, path)
        assert told == read(host, path)
        assert told.cursor
        for entry in told.entries:
            assert entry.session and entry.message.key
            assert entry.message.role in ROLES and isinstance(entry.message, Message)
            assert entry.origin in ("user", "agent", "tool", "import")
            ready = archive_steps.prepare(
                archive_steps.Incoming(entry.message, entry.origin, entry.pasted), 1
            )
            for kept in (ready.body, ready.key, *ready.words):
                kept.encode("utf-8")


@settings(max_examples=50, deadline=None)
@given(st.binary(max_size=400))
@pytest.mark.parametrize("host", [*READERS, "aider", "specstory"])
def test_arbitrary_bytes_cause_no_crash(host: str, raw: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.jsonl"
        path.write_bytes(raw)
        assert read(host, path).cursor


def test_endless_nesting_is_reported_as_a_damaged_line(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text("[" * 200_000 + "\n" + '{"a":' * 200_000 + "\n")
    told = read("codex", path)
    assert len(told.damage) == 2


@pytest.mark.parametrize("id", [[], [{}], {"a": 1}, 5, None])
def test_an_id_of_any_type_causes_no_crash(tmp_path: Path, id: Json) -> None:
    gemini = tmp_path / "session-1.jsonl"
    told = [{"sessionId": "g"}, {"id": id, "type": "user", "content": "a"}, {"id": id}]
    gemini.write_text("".join(json.dumps(record) + "\n" for record in told))
    assert read("gemini", gemini).cursor
    clio = tmp_path / "session.json"
    message = {"id": id, "role": "user", "content": "a"}
    clio.write_text(json.dumps({"history": [message], "yarn": {"t": [message]}, "stm": {}}))
    assert len(read("clio", clio).messages) == 1
