"""Finds transcript files on this machine: lists folders, looks at the first records of a file.

It knows folders and files, not what any agent writes into them. What cannot be read is passed
over: a folder of somebody else is no reason to fail.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from ...errors import InvalidInput, NotFound
from ...types.records import Json
from .normalise import as_dict, as_text
from .reader_io import LONGEST_LINE, Transcript, open_regular_file, parse_record

_HEAD = 256 * 1024


def list_names(folder: str) -> list[str]:
    """What is in a folder, sorted; nothing if there is none."""
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def walk_files(folder: str, *endings: str) -> Iterator[str]:
    """All files below a folder with one of the endings, sorted within each folder."""
    for base, folders, found in os.walk(folder):
        folders.sort()
        for name in sorted(found):
            if name.endswith(endings):
                yield os.path.join(base, name)


def is_inside(path: str, root: str) -> bool:
    """Whether a file below a root is really there: a repository can bring a link to anywhere."""
    return os.path.realpath(path).startswith(os.path.join(os.path.realpath(root), ""))


def is_at_or_below(path: str, roots: tuple[str, ...]) -> bool:
    """Whether a directory is one of the roots or below one; without roots, always."""
    return not roots or any(
        path == root or path.startswith(root.rstrip("/") + "/") for root in roots
    )


def read_head(path: str) -> Iterator[dict[str, Json]]:
    """The first records of a JSON Lines file, each whole: a prompt with a picture in it is long."""
    try:
        with open_regular_file(path) as stream:
            while stream.tell() < _HEAD and (line := stream.readline(LONGEST_LINE)):
                try:
                    yield parse_record(line)
                except ValueError:
                    continue
    except OSError:
        return


def make_transcript(host: str, path: str, session: str = "", cwd: str = "") -> Transcript:
    """The file as a transcript, with its size and time."""
    try:
        about = os.stat(path)
    except OSError:
        return Transcript(host, path, session, cwd)
    return Transcript(host, path, session, cwd, about.st_size, about.st_mtime_ns // 1000)


_MARKDOWN = 4096


def detect_transcript(path: str) -> str:
    """The agent's name; InvalidInput if the file is no transcript that we can read."""
    name = os.path.basename(path)
    if not os.path.exists(path):
        raise NotFound("there is no such file", where=path)
    if name.endswith(".db") or os.path.isdir(os.path.join(path, "message")):
        return "opencode"
    if name.endswith(".md"):
        host = _detect_markdown(path)
    elif name.endswith(".zst"):
        host = "codex"
    else:
        host = next(filter(None, map(_detect_record, read_head(path))), "") or _detect_document(
            path
        )
    if not host:
        raise InvalidInput(
            "not a transcript that we can read",
            where=path,
            hint="Say which agent wrote it with --agent.",
        )
    return host


def _detect_markdown(path: str) -> str:
    from .reader_io import open_transcript

    with open_transcript(path) as stream:
        start = stream.read(_MARKDOWN)
    if b"# aider chat started at" in start:
        return "aider"
    return "specstory" if b"SpecStory" in start or b"_**User" in start else ""


def _detect_record(record: dict[str, Json]) -> str:
    """What one JSON line gives away; "" if it could be anybody's."""
    if _is_export(record):
        return "opencode"
    if "payload" in record and record.get("type") in ("session_meta", "response_item", "event_msg"):
        return "codex"
    if "sessionId" in record and ("projectHash" in record or "$set" in record):
        return "gemini"
    if isinstance(record.get("data"), dict) and as_text(record.get("type")).count(".") == 1:
        return "copilot"
    if "sessionId" in record or "parentUuid" in record or "leafUuid" in record:
        return "claude-code"
    if "role" in record and as_dict(record.get("message")).get("content") is not None:
        return "cursor"
    if "role" in record:
        return "messages"
    return ""


def _is_export(record: dict[str, Json]) -> bool:
    """Whether it is what `opencode export` writes: one session with its messages."""
    about = as_dict(record.get("info"))
    return isinstance(record.get("messages"), list) and {"id", "directory"} <= about.keys()


def _detect_document(path: str) -> str:
    from .reader_io import load_document

    try:
        value, _ = load_document(path)
    except InvalidInput:
        return ""
    if isinstance(value, dict):
        if _is_export(value):
            return "opencode"
        if "projectHash" in value and "messages" in value:
            return "gemini"
        if "history" in value and {"stm", "yarn", "billing", "working_directory"} & value.keys():
            return "clio"
        return "messages" if any(isinstance(v, list) for v in value.values()) else ""
    return "messages" if isinstance(value, list) else ""
