"""The items that transcript readers yield, and reading a file on from a cursor.

A reader turns an agent's files into a stream of `SessionDetails`, `TranscriptEntry` (a message),
`SkippedRecord` (not a message, or damaged) and `CursorMark` (everything before it was yielded). The
importer saves the entries of a batch together with the mark after them, and later reads on from it.

Keys are unique across sessions: they come from the agent's own ids, or from the session, the
position and the text. A message that an agent copied into a second file (a fork, a resumed session)
keeps its key, so a key that is in the archive already is not recorded again.

This module handles lines, offsets and fingerprints; it knows no agent's format.
"""

from __future__ import annotations

import codecs
import errno
import json
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache

from ...errors import InvalidInput, NotFound, Unavailable
from ...fast_typing import TYPE_CHECKING, NamedTuple
from ...types.records import Json, Message

if TYPE_CHECKING:
    from datetime import datetime
    from io import BufferedIOBase
    from typing import IO

LONGEST_LINE = 64 * 1024 * 1024
LARGEST_DOCUMENT = 256 * 1024 * 1024
LARGEST_UNPACKED = 4 * 1024 * 1024 * 1024
LINES_PER_MARK = 2_000
BYTES_PER_MARK = 8 * 1024 * 1024
_CURSOR_VERSION = 1
_DECODER = json.JSONDecoder()
_BUFFER = 256 * 1024
"""Lines are long: a smaller buffer needs several reads for most of them."""
_FINGERPRINT = 4096


class SessionDetails(NamedTuple):
    """Facts about a session; an empty field adds nothing."""

    session: str
    name: str = ""
    cwd: str = ""
    branch: str = ""
    agent: str = ""
    parent: str = ""


class TranscriptEntry(NamedTuple):
    """A message of a session with its origin.

    `pasted` are the spans of a prompt (as `text.messages.plain_text` returns it) that were not
    typed: they are trusted like a tool's result.
    """

    session: str
    message: Message
    origin: str
    pasted: tuple[tuple[int, int], ...] = ()


class SkippedRecord(NamedTuple):
    """A record without a message. `expected` distinguishes bookkeeping from damage."""

    line: int
    reason: str
    expected: bool = True


class CursorMark(NamedTuple):
    """A cursor to read on from. `done` of `total` bytes are read."""

    cursor: Mapping[str, Json]
    done: int
    total: int


TranscriptItem = SessionDetails | TranscriptEntry | SkippedRecord | CursorMark


class Transcript(NamedTuple):
    """A transcript on this machine. `session` selects one in a file that holds several."""

    host: str
    path: str
    session: str = ""
    cwd: str = ""
    size: int = 0
    modified: int = 0


class RecordReader:
    """Reads the records of one agent; `state` is JSON and is saved in the cursor."""

    def __init__(self) -> None:
        self.state: dict[str, Json] = {}

    @property
    def has_pending(self) -> bool:
        """Check whether items are held back: a mark must not be set here."""
        return False

    def read_line(self, line: bytes, number: int, offset: int) -> Iterable[TranscriptItem]:
        """Return the items of one line; ValueError before any item if it is incomplete."""
        return self.read_record(parse_record(line), number) if line.strip() else ()

    def read_record(self, record: dict[str, Json], number: int) -> Iterable[TranscriptItem]:
        """Return the items of the JSON object in one line."""
        raise NotImplementedError

    def flush(self) -> Iterable[TranscriptItem]:
        """Return the items that were held back."""
        return ()


def follow_file(
    path: str, cursor: Mapping[str, Json] | None, reader: RecordReader
) -> Iterator[TranscriptItem]:
    """Yield the items after the cursor. An incomplete last line is left for the next time."""
    with open_transcript(path) as stream:
        size = os.fstat(stream.fileno()).st_size
        offset, number, note = _resume(stream, cursor, size, reader)
        if note:
            yield note
        marked, marked_line = offset, number
        for raw, length in _read_lines(stream):
            try:
                if length > len(raw):
                    raise ValueError(f"longer than {LONGEST_LINE:,} bytes")
                yield from reader.read_line(raw.rstrip(b"\r\n"), number + 1, offset)
            except ValueError as error:
                if length == len(raw) and not raw.endswith(b"\n"):
                    break
                yield SkippedRecord(number + 1, f"damaged: {error}", expected=False)
            offset, number = offset + length, number + 1
            due = number - marked_line >= LINES_PER_MARK or offset - marked > BYTES_PER_MARK
            if due and not reader.has_pending:
                yield CursorMark(
                    _make_cursor(stream, offset, number, reader), offset, max(size, offset)
                )
                marked, marked_line = offset, number
        yield from reader.flush()
        yield CursorMark(_make_cursor(stream, offset, number, reader), offset, max(size, offset))


def parse_record(line: bytes) -> dict[str, Json]:
    """Return the JSON object on a line; ValueError if there is none.

    Texts may contain half a surrogate pair (an emoji cut in two): they are replaced when the
    message is stored, because a search in every line costs more.
    """
    text = line.removeprefix(codecs.BOM_UTF8).decode("utf-8", "replace").strip()
    try:
        record, end = _DECODER.raw_decode(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if end < len(text):
        raise json.JSONDecodeError("Extra data", text, end)
    if not isinstance(record, dict):
        raise ValueError(f"a JSON {type(record).__name__} in place of an object")
    return record


def _replace_surrogates(value: dict[str, Json]) -> dict[str, Json]:
    """Replace half surrogate pairs (an emoji cut in two): databases refuse them."""
    written = json.dumps(value, ensure_ascii=False)
    try:
        written.encode()
    except UnicodeEncodeError:
        replaced: dict[str, Json] = json.loads(written.encode("utf-8", "replace"))
        return replaced
    return value


def load_document(path: str) -> tuple[Json, str]:
    """Return a whole JSON file and its digest, for formats that are rewritten, not appended to."""
    with open_transcript(path) as stream:
        if os.fstat(stream.fileno()).st_size > LARGEST_DOCUMENT:
            raise InvalidInput(
                f"the file is larger than {LARGEST_DOCUMENT // 1024 // 1024} MB",
                where=path,
                hint="Convert it to JSON Lines, which have no limit.",
            )
        raw = stream.read()
    try:
        value = json.loads(raw.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"not a JSON file: {error}", where=path) from error
    if rb"\ud" in raw:
        value = _replace_surrogates({"value": value})["value"]
    return value, short_digest(raw)


def yield_document(
    path: str, cursor: Mapping[str, Json] | None, items: Iterable[TranscriptItem], digest: str
) -> Iterator[TranscriptItem]:
    """Yield the items of a whole document; none if it is unchanged since the cursor."""
    size = os.stat(path).st_size
    if not (cursor and cursor.get("digest") == digest):
        yield from items
    yield CursorMark({"v": _CURSOR_VERSION, "digest": digest}, size, size)


def short_digest(*parts: str | bytes) -> str:
    """Return a short digest of texts, the same on every machine."""
    import hashlib

    hashed = hashlib.sha256()
    for part in parts:
        raw = part.encode("utf-8", "replace") if isinstance(part, str) else part
        hashed.update(b"%d:" % len(raw))
        hashed.update(raw)
    return hashed.hexdigest()[:20]


def parse_time(value: Json) -> int:
    """Parse an ISO time, or seconds or milliseconds since 1970, to microseconds; 0 if invalid."""
    if isinstance(value, str):
        try:
            when = _load_time_parser()(value)
        except ValueError:
            return 0
        if when.tzinfo is None:
            from datetime import UTC

            when = when.replace(tzinfo=UTC)
        return round(when.timestamp() * 1_000_000)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e17:
        return 0
    # Seconds stay under 1e11 until the year 5138, milliseconds under 1e14.
    return round(value * (1_000_000 if value < 1e11 else 1_000 if value < 1e14 else 1))


@cache
def _load_time_parser() -> Callable[[str], datetime]:
    """Import `datetime` once, when the first time is parsed."""
    from datetime import datetime

    return datetime.fromisoformat


def open_transcript(path: str) -> IO[bytes]:
    """Open a transcript, decompressed if it ends with .zst."""
    try:
        if path.endswith(".zst"):
            return _open_unpacked(path)
        return open_regular_file(path)
    except FileNotFoundError as error:
        raise NotFound("no such transcript", where=path) from error
    except OSError as error:
        raise Unavailable(f"cannot be read: {error.strerror}", where=path) from error


def open_regular_file(path: str) -> IO[bytes]:
    """Open a regular file; OSError for a pipe or device, which could block for ever."""
    return open(path, "rb", _BUFFER, opener=_open_only_files)


def _open_only_files(path: str, flags: int) -> int:
    handle = os.open(path, flags | os.O_NONBLOCK)
    mode = os.fstat(handle).st_mode
    if stat.S_ISREG(mode):
        return handle
    os.close(handle)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    raise OSError(errno.EINVAL, "not a regular file", path)


def _open_unpacked(path: str) -> IO[bytes]:
    """Decompress a file to a temporary copy: only old transcripts are compressed."""
    import tempfile

    copy = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    try:
        with open_regular_file(path) as packed:
            _unpack(packed, copy, path)
    except BaseException:
        copy.close()
        raise
    copy.seek(0)
    return copy


def _unpack(packed: IO[bytes], copy: IO[bytes], path: str) -> None:
    stream, damage = _open_decompressor(packed, path)
    try:
        while chunk := stream.read(1 << 20):
            copy.write(chunk)
            if copy.tell() > LARGEST_UNPACKED:
                raise InvalidInput(
                    f"more than {LARGEST_UNPACKED // 1024**3} GB when decompressed",
                    where=path,
                    hint="Decompress it with `unzstd` and import the result.",
                )
    except EOFError:
        return  # still being written: its complete lines are there
    except damage as error:
        raise InvalidInput(f"cannot be decompressed: {error}", where=path) from error


def _open_decompressor(packed: IO[bytes], path: str) -> tuple[BufferedIOBase, type[Exception]]:
    """Return a decompressing stream and the exception it raises on damage."""
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
    except ImportError as error:
        raise Unavailable(
            "the transcript is compressed with Zstandard",
            where=path,
            hint="pip install backports.zstd, or decompress the file with `unzstd`",
        ) from error
    return zstd.open(packed), zstd.ZstdError


def follows_on(cursor: Mapping[str, Json]) -> bool:
    """Check whether a cursor is the place in a file from which this version reads on."""
    return cursor.get("v") == _CURSOR_VERSION and "offset" in cursor


def _resume(
    stream: IO[bytes], cursor: Mapping[str, Json] | None, size: int, reader: RecordReader
) -> tuple[int, int, SkippedRecord | None]:
    if not cursor or not follows_on(cursor):
        return 0, 0, None
    offset = int(cursor["offset"])
    if size >= offset and _fingerprint(stream, offset) == cursor.get("print"):
        reader.state = dict(cursor.get("state") or {})
        stream.seek(offset)
        return offset, int(cursor["line"]), None
    stream.seek(0)
    return 0, 0, SkippedRecord(0, "the file was rewritten: read again from its start")


def _make_cursor(
    stream: IO[bytes], offset: int, number: int, reader: RecordReader
) -> dict[str, Json]:
    place = stream.tell()
    mark = {
        "v": _CURSOR_VERSION,
        "offset": offset,
        "line": number,
        "print": _fingerprint(stream, offset),
        "state": json.loads(json.dumps(reader.state)),
    }
    stream.seek(place)
    return mark


def _fingerprint(stream: IO[bytes], offset: int) -> str:
    """Return a digest of the file's start and of the bytes before the offset.

    Appending changes neither."""
    stream.seek(0)
    head = stream.read(min(_FINGERPRINT, offset))
    stream.seek(max(0, offset - _FINGERPRINT))
    return short_digest(head, stream.read(min(_FINGERPRINT, offset)))


def _read_lines(stream: IO[bytes]) -> Iterator[tuple[bytes, int]]:
    """Yield lines with their lengths, also those written meanwhile; an over-long one is cut."""
    while raw := stream.readline(LONGEST_LINE):
        length = len(raw)
        if length == LONGEST_LINE and not raw.endswith(b"\n"):
            while chunk := stream.readline(1 << 20):
                length += len(chunk)
                if chunk.endswith(b"\n"):
                    break
            else:
                return
            raw = raw[:100]
        yield raw, length
