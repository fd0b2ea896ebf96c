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
from ..session_names import session_id
from .find_io import files, stays, transcript
from .message_lists import stem
from .normalise import IMPORT, as_number, as_text, entries, title_of
from .reader_io import Found, Item, Skipped, Transcript, digest, follow, moment

HOST = "specstory"
_SESSION = re.compile(r"<!--\s*(.+?) Session ([\w-]+) \((.+?)\)\s*-->")
_TITLE = re.compile(r"# (.+?)(?: \(\d{4}-\d\d-\d\d.*\))?\s*$")
_TURN = re.compile(r"_\*\*(User|Agent|Assistant|Human)\b(?: \(([^*]*)\))?\*\*_\s*$")
_RULE = re.compile(r"\s*---\s*$")


def read(path: str, cursor: Mapping[str, Json] | None = None, session: str = "") -> Iterator[Item]:
    """The turns of an export after the cursor."""
    return follow(path, cursor, _Reader(path))


def discover(home: str, roots: tuple[str, ...], env: Mapping[str, str]) -> list[Transcript]:
    """The exports in each root."""
    return [
        transcript(HOST, path, cwd=root)
        for root in roots
        for path in files(os.path.join(root, ".specstory", "history"), ".md")
        if stays(path, root)
    ]


class _Reader:
    """Gathers the lines of a turn. In `state`: the session, the role, the time, how many turns."""

    def __init__(self, path: str) -> None:
        self.state: dict[str, Json] = {}
        self.fallback = session_id(HOST, stem(path))
        self.lines: list[str] = []

    @property
    def busy(self) -> bool:
        return bool(self.lines)

    def take(self, line: bytes, number: int, offset: int) -> Iterable[Item]:
        text = line.decode("utf-8-sig" if offset == 0 else "utf-8", "replace")
        turn = _TURN.match(text)
        if turn:
            done = list(self.flush())
            role = "user" if turn[1] in ("User", "Human") else "assistant"
            when = moment((turn[2] or "").replace("Z", "+00:00"))
            self.state.update(role=role, at=when or self.state.get("at", 0))
            return done
        if "role" not in self.state:
            return list(self._preamble(text, number))
        self.lines.append(text)
        return ()

    def flush(self) -> Iterator[Item]:
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
        key = f"{session}:{turns}:{digest(text)}"
        at = as_number(self.state.get("at"))
        yield from entries(session, [Message(role, text, at=at, key=key)], IMPORT)

    def _preamble(self, text: str, number: int) -> Iterator[Item]:
        if about := _SESSION.match(text):
            agent = about[1].strip().lower().replace(" ", "-")
            session = session_id(HOST, about[2])
            when = re.sub(r"_(\d\d)-(\d\d)(?:-(\d\d))?Z", r" \1:\2Z", about[3])
            self.state.update(session=session, at=moment(when.replace("Z", "+00:00")))
            yield Found(session, name=as_text(self.state.get("title")), agent=f"{HOST}/{agent}")
        elif title := _TITLE.match(text):
            self.state["title"] = title_of(title[1])
            if self.state.get("session"):
                yield Found(as_text(self.state["session"]), name=title_of(title[1]))
        elif text.strip():
            yield Skipped(number, "preamble")
