"""Cursor's agent transcripts: `~/.cursor/projects/<slug>/agent-transcripts/**/<id>.jsonl`.

One message a line with `role` and `message.content`; the prompt is inside `<user_query>`. There are
no times and no token counts. The editor's own database is not read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping

from ...types.records import Json
from ..registry import make_session_id
from ..transcripts.find_io import file_stem, list_names, make_transcript, walk_files
from ..transcripts.message_lists import MessageLineReader
from ..transcripts.normalise import as_dict, as_list, as_text
from ..transcripts.reader_io import Transcript, TranscriptItem, follow_file

HOST = "cursor"
_QUERY, _CLOSED = "<user_query>", "</user_query>"
_NOTIFIED = "<system_notification>"


def read(
    path: str, cursor: Mapping[str, Json] | None = None, session: str = ""
) -> Iterator[TranscriptItem]:
    """Yield the messages of a transcript after the cursor."""
    return follow_file(
        path, cursor, _CursorReader(make_session_id(HOST, file_stem(path)), HOST, origin="")
    )


def discover(
    home: str, roots: tuple[str, ...], env: Mapping[str, str], since: float = 0
) -> list[Transcript]:
    """Return the transcripts of projects whose folder is named after one of the roots."""
    base = os.path.join(home, ".cursor", "projects")
    slugs = {re.sub(r"[^A-Za-z0-9]+", "-", root).strip("-"): root for root in roots}
    found = []
    for folder in list_names(base):
        if slugs and folder not in slugs:
            continue
        for path in walk_files(
            os.path.join(base, folder, "agent-transcripts"), ".jsonl", since=since
        ):
            if "subagents" not in path.split(os.sep):
                found.append(make_transcript(HOST, path, cwd=slugs.get(folder, "")))
    return found


class _CursorReader(MessageLineReader):
    def convert(self, record: dict[str, Json]) -> dict[str, Json]:
        """Return the prompt without the editor's wrapping; a notification is the editor's own."""
        if record.get("role") != "user":
            return record
        inner = as_dict(record.get("message")) or record
        blocks = inner.get("content")
        texts = [as_text(as_dict(block).get("text")) for block in as_list(blocks)]
        if any(_NOTIFIED in text for text in [as_text(blocks), *texts]):
            return {"role": "system", "content": as_text(blocks) or "\n".join(texts)}
        if isinstance(blocks, str):
            return {"role": "user", "content": _extract_query(blocks)}
        kept = [
            {**block, "text": _extract_query(as_text(block.get("text")))}
            if as_dict(block).get("type") == "text"
            else block
            for block in as_list(blocks)
        ]
        return {"role": "user", "content": kept}


def _extract_query(text: str) -> str:
    """Return the last query: an attachment before it may contain another."""
    start = text.rfind(_QUERY)
    end = text.find(_CLOSED, start)
    return text[start + len(_QUERY) : end].strip() if 0 <= start < end else text
