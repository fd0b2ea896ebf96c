"""Read a file on from a cursor: pieces, incomplete lines, rewriting, damage, size."""

from __future__ import annotations

import json
import os
import sys
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.agents.transcripts import message_lists, reader_io
from recollect.agents.transcripts.find_io import detect_transcript, read_head
from recollect.agents.transcripts.reader_io import CursorMark, TranscriptEntry, parse_time
from recollect.errors import InvalidInput, NotFound, Unavailable
from tests.agents.reading import SAMPLES, read, words, write

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    import backports.zstd as zstd


def spoken(number: int) -> dict[str, str]:
    return {"role": "user", "content": f"message {number}"}


def test_reading_on_from_a_mark_gives_only_what_is_new(tmp_path: Path) -> None:
    path = write(tmp_path / "log.jsonl", map(spoken, range(3)))
    first = read("messages", path)
    with path.open("a") as grown:
        grown.write(json.dumps(spoken(3)) + "\n")
    second = read("messages", path, first.cursor)
    assert [words(m) for m in second.messages] == ["message 3"]
    assert read("messages", path, second.cursor).entries == []


def test_lines_written_during_reading_are_read(tmp_path: Path) -> None:
    path = write(tmp_path / "log.jsonl", map(spoken, range(3)))
    told = []
    for item in message_lists.read(str(path)):
        if isinstance(item, TranscriptEntry):
            told.append(words(item.message))
            if len(told) < 10:
                with path.open("a") as grown:
                    grown.write(json.dumps(spoken(len(told) + 2)) + "\n")
    assert told == [f"message {number}" for number in range(12)]
    assert isinstance(item, CursorMark)
    assert item.done == item.total == path.stat().st_size


@settings(deadline=None)
@given(st.integers(0, 400), st.integers(0, 400))
def test_a_file_read_in_pieces_gives_the_same_items(one: int, two: int) -> None:
    """Cut anywhere, also inside a line or a letter: nothing is lost and nothing is doubled."""
    whole = b"".join(
        json.dumps({"role": "user", "content": f"né {n}"}, ensure_ascii=False).encode() + b"\n"
        for n in range(10)
    )
    with TemporaryFile() as path:
        told = []
        cursor = None
        for cut in (*sorted((one, two)), len(whole)):
            path.write_bytes(whole[:cut])
            piece = read("messages", path, cursor)
            told += [entry.message.key for entry in piece.entries]
            assert piece.damage == []
            cursor = piece.cursor
        assert told == [entry.message.key for entry in read("messages", path).entries]
        assert len(set(told)) == 10


class TemporaryFile:
    """A path for a property test, which cannot use the per-test fixture."""

    def __enter__(self) -> Path:
        import tempfile

        self.folder = tempfile.TemporaryDirectory()
        return Path(self.folder.name) / "log.jsonl"

    def __exit__(self, *_: object) -> None:
        self.folder.cleanup()


def test_a_half_written_last_line_is_left_for_the_next_time(tmp_path: Path) -> None:
    path = write(tmp_path / "log.jsonl", [spoken(1)])
    with path.open("a") as grown:
        grown.write('{"role": "user", "content": "mess')
    first = read("messages", path)
    assert [words(m) for m in first.messages] == ["message 1"] and first.damage == []
    with path.open("a") as grown:
        grown.write('age 2"}\n')
    assert [words(m) for m in read("messages", path, first.cursor).messages] == ["message 2"]


def test_a_complete_last_line_without_a_line_break_is_read_once(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps(spoken(1)))
    first = read("messages", path)
    assert [words(m) for m in first.messages] == ["message 1"]
    with path.open("a") as grown:
        grown.write("\n" + json.dumps(spoken(2)) + "\n")
    assert [words(m) for m in read("messages", path, first.cursor).messages] == ["message 2"]


@pytest.mark.parametrize("rewritten", [[spoken(7)], [spoken(n) for n in range(50, 70)]])
def test_a_rewritten_file_is_read_again_from_its_start(
    tmp_path: Path, rewritten: list[dict[str, str]]
) -> None:
    path = write(tmp_path / "log.jsonl", map(spoken, range(5)))
    cursor = read("messages", path).cursor
    write(path, rewritten)
    again = read("messages", path, cursor)
    assert [words(m) for m in again.messages] == [r["content"] for r in rewritten]
    assert "rewritten" in again.skipped[0].reason


def test_damaged_lines_are_reported_and_the_rest_is_read(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    good = json.dumps(spoken(1)).encode()
    path.write_bytes(
        b"\n".join([b"{broken", good, b"[1]", b"", b'{"role": "user", "content": 3}', good + b"\n"])
    )
    told = read("messages", path)
    assert [words(m) for m in told.messages] == ["message 1", "message 1"]
    assert len({m.key for m in told.messages}) == 2
    assert [s.line for s in told.skipped if not s.expected] == [1, 3, 5]


def test_invalid_utf8_and_half_surrogate_pairs_lose_no_message(
    tmp_path: Path,
) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(
        b'{"role": "user", "content": "bad \xff byte"}\n'
        b'{"role": "user", "content": "half \\ud83d emoji"}\n'
    )
    told = read("messages", path)
    assert len(told.entries) == 2 and told.damage == []
    for message in told.messages:
        words(message).encode("utf-8")


def test_an_over_long_line_is_skipped_with_a_notice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader_io, "LONGEST_LINE", 2_000)
    long = {"role": "user", "content": "x" * 50_000}
    path = write(tmp_path / "log.jsonl", [spoken(1), long, spoken(2)])
    told = read("messages", path)
    assert [words(m) for m in told.messages] == ["message 1", "message 2"]
    assert [s.line for s in told.skipped if not s.expected] == [2]


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    line = json.dumps({"role": "user", "content": "y" * 2_000}) + "\n"
    path.write_text(line * 3_000)
    tracemalloc.start()
    try:
        marks = sum(isinstance(item, CursorMark) for item in message_lists.read(str(path)))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert marks > 1
    assert peak < path.stat().st_size / 4


def test_reading_can_continue_from_every_mark(tmp_path: Path) -> None:
    path = write(tmp_path / "log.jsonl", map(spoken, range(5_000)))
    items = list(message_lists.read(str(path)))
    place = next(n for n, item in enumerate(items) if isinstance(item, CursorMark))
    mark = items[place]
    assert isinstance(mark, CursorMark) and 0 < mark.done < mark.total
    rest = [
        item
        for item in message_lists.read(str(path), mark.cursor)
        if not isinstance(item, CursorMark)
    ]
    assert rest == [item for item in items[place + 1 :] if not isinstance(item, CursorMark)]


def test_a_missing_file_and_a_folder_are_different_errors(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        read("codex", tmp_path / "none.jsonl")
    with pytest.raises(Unavailable):
        read("codex", tmp_path)


def test_a_document_that_is_not_json_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "export.json"
    path.write_text("{")
    with pytest.raises(InvalidInput):
        read("messages", path)


def test_a_compressed_rollout_without_the_library_names_the_package_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("compression", "backports"):
        monkeypatch.setitem(sys.modules, name, None)
    path = tmp_path / "rollout-1.jsonl.zst"
    path.write_bytes(b"(\xb5/\xfd")
    with pytest.raises(Unavailable, match=r"pip install backports\.zstd"):
        read("codex", path)


def test_a_compressed_rollout_is_decompressed_and_read(tmp_path: Path) -> None:
    whole = (SAMPLES / "codex-0.166.0.rollout.jsonl").read_bytes()
    path = tmp_path / "rollout-1.jsonl.zst"
    # Two frames: Codex may append one.
    path.write_bytes(zstd.compress(whole[:1000]) + zstd.compress(whole[1000:]))
    told = read("codex", path)
    assert told.entries == read("codex", SAMPLES / "codex-0.166.0.rollout.jsonl").entries
    assert read("codex", path, told.cursor).entries == []


def test_a_damaged_or_endless_compressed_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rollout-1.jsonl.zst"
    path.write_bytes(b"packed")
    with pytest.raises(InvalidInput, match="cannot be decompressed: "):
        read("codex", path)
    monkeypatch.setattr(reader_io, "LARGEST_UNPACKED", 3 << 20)
    path.write_bytes(zstd.compress(bytes(4 << 20)))
    with pytest.raises(InvalidInput, match="when decompressed"):
        read("codex", path)


@pytest.mark.parametrize("name", ["t.jsonl", "t.jsonl.zst", "t.md", "t.json"])
def test_a_pipe_in_place_of_a_file_is_not_waited_for(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    with pytest.raises(Unavailable, match="not a regular file"):
        read("codex", tmp_path / name)
    assert list(read_head(str(tmp_path / name))) == []
    if not name.endswith("zst"):
        with pytest.raises(Unavailable, match="not a regular file"):
            detect_transcript(str(tmp_path / name))


def test_a_device_in_place_of_a_file_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").symlink_to("/dev/zero")
    with pytest.raises(Unavailable, match="not a regular file"):
        read("claude-code", tmp_path / "t.jsonl")


def test_a_long_first_record_is_read_whole(tmp_path: Path) -> None:
    record = {"message": "x" * 1_000_000, "cwd": "/w"}
    path = write(tmp_path / "t.jsonl", [record, {"cwd": "/later"}])
    assert list(read_head(str(path))) == [record]


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("1970-01-01T00:00:01Z", 1),
        ("1970-01-01T01:00:01.5+01:00", 1.5),
        ("1970-01-01 00:00:02", 2),
        (1_700_000_000, 1_700_000_000),
        (1_700_000_000.25, 1_700_000_000.25),
        (1_700_000_000_000, 1_700_000_000),
        ("yesterday", 0),
        (None, 0),
        (True, 0),
        (-5, 0),
        ([], 0),
    ],
)
def test_all_time_formats_become_microseconds(value: object, seconds: float) -> None:
    assert parse_time(value) == round(seconds * 1_000_000)
