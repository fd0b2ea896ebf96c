"""Find the transcripts of a project on this machine, and detect which agent wrote a file.

Unreadable files and folders, such as those of another user, are skipped.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from itertools import islice

from ...context import Context
from ...errors import InvalidInput, NotFound, RecollectError, Unavailable
from ...project import find_project, first_line
from ...types.records import Json
from .. import registry
from .normalise import as_dict, as_text
from .reader_io import (
    LONGEST_LINE,
    Transcript,
    load_document,
    open_regular_file,
    open_transcript,
    parse_record,
)

_HEAD_ITEMS = 50
_HEAD_BYTES = 256 * 1024
_MARKDOWN_BYTES = 4096
_SIDECAR_BYTES = 1024 * 1024
_MOST_READ = 8_000_000


def list_names(folder: str) -> list[str]:
    """Return the sorted names in a folder; none if it cannot be read."""
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def walk_files(folder: str, *endings: str, since: float = 0) -> Iterator[str]:
    """Yield the files below a folder with one of the endings, sorted within each folder.

    since: seconds; only files that changed then or later
    """
    for base, folders, found in os.walk(folder):
        folders.sort()
        for name in sorted(found):
            path = os.path.join(base, name)
            if name.endswith(endings) and (not since or _changed_at(path) >= since):
                yield path


def _changed_at(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0


def file_stem(path: str) -> str:
    """Return the name of a file up to its first dot."""
    return os.path.basename(path).partition(".")[0]


def is_inside(path: str, root: str) -> bool:
    """Check that a path below a root does not leave it: a repository can contain links."""
    return os.path.realpath(path).startswith(os.path.join(os.path.realpath(root), ""))


def is_at_or_below(path: str, roots: tuple[str, ...]) -> bool:
    """Check whether a directory is one of the roots or below one; true without roots."""
    return not roots or any(
        path == root or path.startswith(root.rstrip("/") + "/") for root in roots
    )


def read_head(path: str) -> Iterator[dict[str, Json]]:
    """Yield the first records of a JSON Lines file.

    Each is read whole: a prompt with an image in it is long.
    """
    try:
        with open_regular_file(path) as stream:
            while stream.tell() < _HEAD_BYTES and (line := stream.readline(LONGEST_LINE)):
                try:
                    yield parse_record(line)
                except ValueError:
                    continue
    except OSError:
        return


def read_sidecar(path: str) -> dict[str, Json]:
    """Return the JSON object in a small file beside a transcript; empty if there is none."""
    try:
        with open_regular_file(path) as stream:
            return parse_record(stream.read(_SIDECAR_BYTES))
    except (OSError, ValueError):
        return {}


def find_named_files(path: str, folder: str) -> frozenset[str]:
    """Return the files below a folder that a transcript names, as paths from that folder."""
    try:
        with open_regular_file(path) as file:
            text = file.read(_MOST_READ).decode("utf-8", "replace")
    except OSError:
        return frozenset()
    below = re.escape(folder.rstrip("/")) + r"/((?:[\w@+-][\w.@+-]*/)+[\w@+-]+\.\w{1,8})\b"
    return frozenset(re.findall(below, text))


def make_transcript(host: str, path: str, session: str = "", cwd: str = "") -> Transcript:
    """Return a transcript with the size and modification time of its file."""
    try:
        about = os.stat(path)
    except OSError:
        return Transcript(host, path, session, cwd)
    return Transcript(
        host=host,
        path=path,
        session=session,
        cwd=cwd,
        size=about.st_size,
        modified=about.st_mtime_ns // 1000,
    )


# ---------------------------------------------------------------- of a project


def discover(
    context: Context,
    agent: str,
    skipped: dict[str, str],
    everywhere: bool = False,
    since: float = 0,
) -> Iterator[Transcript]:
    """Yield the transcripts of this project, or with `everywhere` of this machine.

    skipped: receives the agents whose files cannot be read, each with the error
    since: seconds; only transcripts that changed then or later, of an agent with hooks
    """
    more = {"since": since} if since else {}
    home = context.environment.get("HOME") or os.path.expanduser("~")
    roots = () if everywhere else _roots(context.project.root, context.project.start)
    for host in (agent,) if agent else registry.AGENT_NAMES:
        reader = registry.load_transcripts(host)
        try:
            yield from reader.discover(home, roots, context.environment, **more)
        except (InvalidInput, NotFound, Unavailable, OSError) as error:
            skipped[host] = str(error)


class ProjectRoots(dict[str, str]):
    """The project root of each directory that was asked for; empty if it does not exist. Many
    transcripts have one directory, and finding its repository reads several files."""

    def __missing__(self, cwd: str) -> str:
        self[cwd] = root = find_project(cwd).root if os.path.isdir(cwd) else ""
        return root


def select_of_project(context: Context, found: Iterable[Transcript]) -> list[Transcript]:
    """Return the transcripts that belong to this project, not to a repository inside it."""
    roots = ProjectRoots()
    return [item for item in found if roots[find_cwd(item)] == context.project.root]


def list_given(path: str, agent: str, skipped: dict[str, str]) -> Iterator[Transcript]:
    """Yield the transcripts at a path that the user named; `skipped` receives unreadable files."""
    if not os.path.exists(path):
        raise NotFound("there is no such file or folder", where=path)
    is_single = not os.path.isdir(path) or os.path.isdir(os.path.join(path, "message"))
    for file in [path] if is_single else walk_files(path, ""):
        try:
            yield make_transcript(agent or detect_transcript(file), file)
        except (InvalidInput, Unavailable, OSError) as error:
            if is_single:
                raise
            skipped[file] = getattr(error, "message", str(error))


def has_known_project(item: Transcript, place: str) -> bool:
    """Check whether the project of a transcript is known, for one in a folder that the user named.

    Aider's logs do not record it: the project is known if their folder is one, below the named one.
    """
    if item.path == place:
        return False
    cwd, folder = find_cwd(item), os.path.dirname(item.path)
    if cwd != folder:
        return True
    return folder != place and find_project(folder).how != "directory"


def find_cwd(transcript: Transcript) -> str:
    """Return the working directory of a transcript, read from its first records if necessary."""
    if transcript.cwd:
        return transcript.cwd
    reader = registry.load_transcripts(transcript.host)
    try:
        items = islice(reader.read(transcript.path, None, transcript.session), _HEAD_ITEMS)
        return next((cwd for item in items if (cwd := getattr(item, "cwd", ""))), "")
    except RecollectError:
        return ""


def _roots(root: str, start: str) -> tuple[str, ...]:
    """Return the project's directories: its root, the working directory, its worktrees."""
    found = {root: None, start: None}
    linked = os.path.join(root, ".git", "worktrees")
    for name in list_names(linked):
        if gitdir := first_line(os.path.join(linked, name, "gitdir")):
            found[os.path.dirname(gitdir)] = None
    return tuple(found)


# ---------------------------------------------------------------- formats


def detect_transcript(path: str) -> str:
    """Return the agent that wrote a transcript; InvalidInput if the format is unknown."""
    name = os.path.basename(path)
    if not os.path.exists(path):
        raise NotFound("no such file", where=path)
    if name.endswith(".db") or os.path.isdir(os.path.join(path, "message")):
        return "opencode"
    if name.endswith(".md"):
        host = _detect_markdown(path)
    elif name.endswith(".zst"):
        host = "codex"
    else:
        known = filter(None, map(_detect_record, read_head(path)))
        host = next(known, "") or _detect_document(path)
    if not host:
        raise InvalidInput(
            "unknown transcript format",
            where=path,
            hint="Name the agent that wrote it with --agent.",
        )
    return host


def _detect_markdown(path: str) -> str:
    with open_transcript(path) as stream:
        start = stream.read(_MARKDOWN_BYTES)
    if b"# aider chat started at" in start:
        return "aider"
    return "specstory" if b"SpecStory" in start or b"_**User" in start else ""


def _detect_record(record: dict[str, Json]) -> str:
    """Return the agent that writes such a JSON line; "" if several could."""
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
    """Check for the output of `opencode export`: one session with its messages."""
    about = as_dict(record.get("info"))
    return isinstance(record.get("messages"), list) and {"id", "directory"} <= about.keys()


def _detect_document(path: str) -> str:
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
