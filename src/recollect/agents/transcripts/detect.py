"""Tells which agent wrote a transcript, by its name and its first records."""

from __future__ import annotations

import os

from ...errors import InvalidInput, NotFound
from ...types.records import Json
from .find_io import head
from .normalise import as_dict, as_text

_MARKDOWN = 4096


def sniff(path: str) -> str:
    """The agent's name; InvalidInput if the file is no transcript that we can read."""
    name = os.path.basename(path)
    if not os.path.exists(path):
        raise NotFound("there is no such file", where=path)
    if name.endswith(".db") or os.path.isdir(os.path.join(path, "message")):
        return "opencode"
    if name.endswith(".md"):
        host = _markdown(path)
    elif name.endswith(".zst"):
        host = "codex"
    else:
        host = next(filter(None, map(_record, head(path))), "") or _document(path)
    if not host:
        raise InvalidInput(
            "not a transcript that we can read",
            where=path,
            hint="Say which agent wrote it with --agent.",
        )
    return host


def _markdown(path: str) -> str:
    from .reader_io import open_lines

    with open_lines(path) as stream:
        start = stream.read(_MARKDOWN)
    if b"# aider chat started at" in start:
        return "aider"
    return "specstory" if b"SpecStory" in start or b"_**User" in start else ""


def _record(record: dict[str, Json]) -> str:
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


def _document(path: str) -> str:
    from .reader_io import document_of

    try:
        value, _ = document_of(path)
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
