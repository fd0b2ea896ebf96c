"""Aider's chat history: `.aider.chat.history.md`, Markdown that is only ever appended to.

`# aider chat started at …` begins a session, `#### ` lines are the user's, `> ` lines are the
program's own, everything else is the model's. Aider ends what it writes itself with two spaces;
the model's headings do not, and so are not taken for the user's words. Nothing else is told: no
calls, no token counts. The file lies in the project and may have come with it: an import.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping

from ...types.records import Json, Message
from ..session_names import make_session_id
from .find_io import is_inside, make_transcript
from .normalise import IMPORT_ORIGIN, as_number, as_text, make_entries, make_title
from .reader_io import (
    SessionDetails,
    Transcript,
    TranscriptItem,
    follow_file,
    parse_time,
    short_digest,
)

HOST = "aider"
NAME = ".aider.chat.history.md"
_START = re.compile(r"# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)")
_MODEL = re.compile(r"(?:Main model|Model): (\S+)")
_ROLES = {"user": "user", "tool": "system", "assistant": "assistant"}


def read(
    path: str, cursor: Mapping[str, Json] | None = None, session: str = ""
) -> Iterator[TranscriptItem]:
    """The messages of all chats in the file after the cursor."""
    return follow_file(path, cursor, _AiderReader(path))


def discover(home: str, roots: tuple[str, ...], env: Mapping[str, str]) -> list[Transcript]:
    """The history file in each root."""
    paths = [(root, os.path.join(root, NAME)) for root in roots]
    return [
        make_transcript(HOST, path, cwd=root)
        for root, path in paths
        if os.path.isfile(path) and is_inside(path, root)
    ]


class _AiderReader:
    """Gathers lines of one voice. In `state`: the session, its time, the model."""

    def __init__(self, path: str) -> None:
        self.state: dict[str, Json] = {}
        self.path = os.path.realpath(path)
        self.lines: list[str] = []
        self.voice = ""
        self.offset = 0
        self.fenced = False
        self.unended = False

    @property
    def busy(self) -> bool:
        return bool(self.lines)

    def take(self, line: bytes, number: int, offset: int) -> Iterable[TranscriptItem]:
        text = line.decode("utf-8", "replace")
        start = _START.match(text)
        if start:
            return [*self.flush(), *self._start(start[1])]
        voice, words = self._voice(text)
        if not text.strip() and self.voice != "assistant" and not self.unended:
            # A blank line ends a prompt or a notice, and says nothing.
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
        session = as_text(self.state.get("session")) or make_session_id(
            HOST, short_digest(self.path)[:8]
        )
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
        session = make_session_id(HOST, f"{short_digest(self.path)[:8]}-{when.translate(_SAFE)}")
        self.state = {"session": session, "at": parse_time(when)}
        yield SessionDetails(session, cwd=os.path.dirname(self.path), agent=HOST)


_SAFE = str.maketrans(" :", "T-")
