"""SpecStory's exports: `.specstory/history/*.md`, one Markdown file a session.

A comment names the agent and its session, `_**User**_` and `_**Assistant**_` lines begin turns,
tool uses stand in `<details>` or after `Tool use:`. The words are kept, tool uses stay part of
the answer they stand in: the export does not tell calls from results reliably. The files lie in
the project and are often committed: an import.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping

from ...types.records import Json, Message
from ..session_names import make_session_id
from .find_io import is_inside, make_transcript, walk_files
from .message_lists import file_stem
from .normalise import IMPORT_ORIGIN, as_number, as_text, make_entries, make_title
from .reader_io import (
    SessionDetails,
    SkippedRecord,
    Transcript,
    TranscriptItem,
    follow_file,
    parse_time,
    short_digest,
)

HOST = "specstory"
_SESSION = re.compile(r"<!--\s*(.+?) Session ([\w-]+) \((.+?)\)\s*-->")
_TITLE = re.compile(r"# (.+?)(?: \(\d{4}-\d\d-\d\d.*\))?\s*$")
_TURN = re.compile(r"_\*\*(User|Agent|Assistant|Human)\b(?: \(([^*]*)\))?\*\*_\s*$")
_RULE = re.compile(r"\s*---\s*$")


def read(
    path: str, cursor: Mapping[str, Json] | None = None, session: str = ""
) -> Iterator[TranscriptItem]:
    """The turns of an export after the cursor."""
    return follow_file(path, cursor, _SpecStoryReader(path))


def discover(home: str, roots: tuple[str, ...], env: Mapping[str, str]) -> list[Transcript]:
    """The exports in each root."""
    return [
        make_transcript(HOST, path, cwd=root)
        for root in roots
        for path in walk_files(os.path.join(root, ".specstory", "history"), ".md")
        if is_inside(path, root)
    ]


class _SpecStoryReader:
    """Gathers the lines of a turn. In `state`: the session, the role, the time, how many turns."""

    def __init__(self, path: str) -> None:
        self.state: dict[str, Json] = {}
        self.fallback = make_session_id(HOST, file_stem(path))
        self.lines: list[str] = []

    @property
    def busy(self) -> bool:
        return bool(self.lines)

    def take(self, line: bytes, number: int, offset: int) -> Iterable[TranscriptItem]:
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
            session = make_session_id(HOST, about[2])
            when = re.sub(r"_(\d\d)-(\d\d)(?:-(\d\d))?Z", r" \1:\2Z", about[3])
            self.state.update(session=session, at=parse_time(when.replace("Z", "+00:00")))
            yield SessionDetails(
                session, name=as_text(self.state.get("title")), agent=f"{HOST}/{agent}"
            )
        elif title := _TITLE.match(text):
            self.state["title"] = make_title(title[1])
            if self.state.get("session"):
                yield SessionDetails(as_text(self.state["session"]), name=make_title(title[1]))
        elif text.strip():
            yield SkippedRecord(number, "preamble")
