"""Helpers of the reader tests: write small transcripts and read them back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from recollect.agents import registry
from recollect.agents.transcripts.reader_io import (
    CursorMark,
    SessionDetails,
    SkippedRecord,
    TranscriptEntry,
    TranscriptItem,
)
from recollect.types.records import Json, Message

SAMPLES = Path(__file__).parent.parent / "fixtures" / "samples"


class Told(NamedTuple):
    """A transcript, sorted into what it told."""

    found: list[SessionDetails]
    entries: list[TranscriptEntry]
    skipped: list[SkippedRecord]
    cursor: Mapping[str, Json]

    @property
    def messages(self) -> list[Message]:
        return [entry.message for entry in self.entries]

    @property
    def lines(self) -> list[tuple[str, str, str]]:
        """Who, in which role, in which words: the gist of each entry."""
        return [(e.origin, e.message.role, words(e.message)) for e in self.entries]

    @property
    def damage(self) -> list[str]:
        return [skipped.reason for skipped in self.skipped if not skipped.expected]

    def about(self, session: str = "") -> SessionDetails:
        """All that was said about a session, the later word winning; the first by default."""
        known = SessionDetails(session or self.found[0].session)
        for found in self.found:
            if found.session == known.session:
                known = known._replace(**{k: v for k, v in found._asdict().items() if v})
        return known

    def spent(self) -> dict[str, int]:
        total: dict[str, int] = {}
        for message in self.messages:
            for name, count in (message.usage or {}).items():
                total[name] = total.get(name, 0) + count
        return total


def words(message: Message) -> str:
    if isinstance(message.content, str):
        return message.content
    return " ".join(str(block.get("text", block["type"])) for block in message.content)


def sorted_items(items: Iterable[TranscriptItem]) -> Told:
    told = Told([], [], [], {})
    for item in items:
        if isinstance(item, SessionDetails):
            told.found.append(item)
        elif isinstance(item, TranscriptEntry):
            told.entries.append(item)
        elif isinstance(item, SkippedRecord):
            told.skipped.append(item)
        else:
            assert isinstance(item, CursorMark)
            told = told._replace(cursor=json.loads(json.dumps(item.cursor)))
    return told


def read(
    host: str, path: Path | str, cursor: Mapping[str, Json] | None = None, session: str = ""
) -> Told:
    return sorted_items(registry.load_transcripts(host).read(str(path), cursor, session))


def write(path: Path, records: Iterable[Json]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records), "utf-8")
    return path
