"""Markdown logs: Aider's chat history and SpecStory's exports.

Both lie in the project and may have come with the repository, so their messages are imports.

Aider appends to `.aider.chat.history.md`: `# aider chat started at …` begins a session, `#### `
lines are the user's, `> ` lines are Aider's own, everything else is the model's. Aider ends its own
lines with two spaces; headings written by the model do not, so they are not mistaken for prompts.
The file holds no tool calls and no token counts.

SpecStory writes one file a session to `.specstory/history/*.md`: a comment names the agent and its
session, `_**User**_` and `_**Assistant**_` lines begin turns. Tool uses (in `<details>` or after
`Tool use:`) stay part of the answer: the export does not separate calls from results reliably.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping

from ...types.records import Json, Message
from ..registry import make_session_id
from .find_io import file_stem, is_inside, make_transcript, walk_files
from .normalise import IMPORT_ORIGIN, as_number, as_text, make_entries, make_title
from .reader_io import (
    RecordReader,
    SessionDetails,
    SkippedRecord,
    Transcript,
    TranscriptItem,
    follow_file,
    parse_time,
    short_digest,
)

AIDER, SPECSTORY = "aider", "specstory"
AIDER_FILE = ".aider.chat.history.md"
_START = re.compile(r"# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)")
_MODEL = re.compile(r"(?:Main model|Model): (\S+)")
_ROLES = {"user": "user", "tool": "system", "assistant": "assistant"}
_SAFE = str.maketrans(" :", "T-")
_SESSION = re.compile(r"<!--\s*(.+?) Session ([\w-]+) \((.+?)\)\s*-->")
_TITLE = re.compile(r"# (.+?)(?: \(\d{4}-\d\d-\d\d.*\))?\s*$")
_TURN = re.compile(r"_\*\*(User|Agent|Assistant|Human)\b(?: \(([^*]*)\))?\*\*_\s*$")
_RULE = re.compile(r"\s*---\s*$")


def read_aider(
    path: str, cursor: Mapping[str, Json] | None = None, session: str = ""
) -> Iterator[TranscriptItem]:
    """Yield the messages of all chats in the file after the cursor."""
    return follow_file(path, cursor, _AiderReader(path))


def discover_aider(home: str, roots: tuple[str, ...], env: Mapping[str, str]) -> list[Transcript]:
    """Return the history file of each root."""
    paths = [(root, os.path.join(root, AIDER_FILE)) for root in roots]
    return [
        make_transcript(AIDER, path, cwd=root)
        for root, path in paths
        if os.path.isfile(path) and is_inside(path, root)
    ]


def read_specstory(
    path: str, cursor: Mapping[str, Json] | None = None, session: str = ""
) -> Iterator[TranscriptItem]:
    """Yield the turns of an export after the cursor."""
    return follow_file(path, cursor, _SpecStoryReader(path))


def discover_specstory(
    home: str, roots: tuple[str, ...], env: Mapping[str, str]
) -> list[Transcript]:
    """Return the exports below each root."""
    return [
        make_transcript(SPECSTORY, path, cwd=root)
        for root in roots
        for path in walk_files(os.path.join(root, ".specstory", "history"), ".md")
        if is_inside(path, root)
    ]


class _AiderReader(RecordReader):
    """Collects consecutive lines of one speaker. `state`: the session, its time, the model."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self.path = os.path.realpath(path)
        self.lines: list[str] = []
        self.voice = ""
        self.offset = 0
        self.fenced = False
        self.unended = False

    @property
    def has_pending(self) -> bool:
        return bool(self.lines)

    def read_line(self, line: bytes, number: int, offset: int) -> Iterable[TranscriptItem]:
        text = line.decode("utf-8", "replace")
        start = _START.match(text)
        if start:
            return [*self.flush(), *self._start(start[1])]
        voice, words = self._voice(text)
        if not text.strip() and self.voice != "assistant" and not self.unended:
            # A blank line ends a prompt or a notice.
            return list(self.flush())
        done = list(self.flush()) if voice != self.voice else []
        if not self.lines:
            self.voice, self.offset = voice, offset
        self.lines.append(words)
        return done

    def flush(self) -> Iterator[TranscriptItem]:
        text = "\n".join(self.lines).strip()
        voice, self.lines, self.voice = self.voice, [], ""
        self.fenced = False
        if not text:
            return
        session = as_text(self.state.get("session"))
        session = session or make_session_id(AIDER, short_digest(self.path)[:8])
        if voice == "tool" and (model := _MODEL.search(text)):
            self.state["model"] = model[1]
        if voice == "user" and not self.state.get("named"):
            self.state["named"] = True
            yield SessionDetails(session, name=make_title(text))
        message = Message(
            _ROLES[voice],
            text,
            name="host" if voice == "tool" else "",
            model=as_text(self.state.get("model")) if voice == "assistant" else "",
            at=as_number(self.state.get("at")),
            key=f"{session}:{self.offset}:{short_digest(text)}",
        )
        yield from make_entries(session, [message], IMPORT_ORIGIN)

    def _voice(self, line: str) -> tuple[str, str]:
        """Return the speaker of a line, and the line without its mark."""
        if line.startswith("#### ") and line.endswith("  "):
            self.unended = False
            return "user", line[4:].strip()
        if self.voice == "tool" and self.unended:
            self.unended = not line.endswith("  ")
            return "tool", line.strip()
        if line.lstrip().startswith("```"):
            self.fenced = not self.fenced
        if line.startswith(">") and not (self.fenced and self.voice == "assistant"):
            self.unended = not line.endswith("  ")
            return "tool", line[1:].strip()
        return "assistant", line

    def _start(self, when: str) -> Iterator[TranscriptItem]:
        self.unended = False
        name = f"{short_digest(self.path)[:8]}-{when.translate(_SAFE)}"
        session = make_session_id(AIDER, name)
        self.state = {"session": session, "at": parse_time(when)}
        yield SessionDetails(session, cwd=os.path.dirname(self.path), agent=AIDER)


class _SpecStoryReader(RecordReader):
    """Collects the lines of a turn. `state`: the session, the role, the time, the turn count."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self.fallback = make_session_id(SPECSTORY, file_stem(path))
        self.lines: list[str] = []

    @property
    def has_pending(self) -> bool:
        return bool(self.lines)

    def read_line(self, line: bytes, number: int, offset: int) -> Iterable[TranscriptItem]:
        text = line.decode("utf-8-sig" if offset == 0 else "utf-8", "replace")
        turn = _TURN.match(text)
        if turn:
            done = list(self.flush())
            role = "user" if turn[1] in ("User", "Human") else "assistant"
            when = parse_time((turn[2] or "").replace("Z", "+00:00"))
            self.state.update(role=role, at=when or self.state.get("at", 0))
            return done
        if "role" not in self.state:
            return list(self._preamble(text, number))
        self.lines.append(text)
        return ()

    def flush(self) -> Iterator[TranscriptItem]:
        lines, self.lines = self.lines, []
        while lines and (not lines[-1].strip() or _RULE.match(lines[-1])):
            lines.pop()
        text = "\n".join(lines).strip()
        if not text:
            return
        session = as_text(self.state.get("session")) or self.fallback
        turns = as_number(self.state.get("turns"))
        self.state["turns"] = turns + 1
        role = as_text(self.state.get("role"))
        key = f"{session}:{turns}:{short_digest(text)}"
        at = as_number(self.state.get("at"))
        yield from make_entries(session, [Message(role, text, at=at, key=key)], IMPORT_ORIGIN)

    def _preamble(self, text: str, number: int) -> Iterator[TranscriptItem]:
        if about := _SESSION.match(text):
            agent = about[1].strip().lower().replace(" ", "-")
            session = make_session_id(SPECSTORY, about[2])
            when = re.sub(r"_(\d\d)-(\d\d)(?:-(\d\d))?Z", r" \1:\2Z", about[3])
            self.state.update(session=session, at=parse_time(when.replace("Z", "+00:00")))
            name = as_text(self.state.get("title"))
            yield SessionDetails(session, name=name, agent=f"{SPECSTORY}/{agent}")
        elif title := _TITLE.match(text):
            self.state["title"] = make_title(title[1])
            if self.state.get("session"):
                yield SessionDetails(as_text(self.state["session"]), name=make_title(title[1]))
        elif text.strip():
            yield SkippedRecord(number, "preamble")
