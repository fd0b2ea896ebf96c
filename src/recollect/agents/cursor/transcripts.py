"""Cursor's agent transcripts: `~/.cursor/projects/<slug>/agent-transcripts/**/<id>.jsonl`.

One message a line, `role` beside `message.content`; the prompt stands in `<user_query>`. No
times and no counts. The editor's own database is not read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping

from ...types.records import Json
from ..session_names import make_session_id
from ..transcripts.find_io import list_names, make_transcript, walk_files
from ..transcripts.message_lists import MessageLineReader, file_stem
from ..transcripts.normalise import as_dict, as_list, as_text
from ..transcripts.reader_io import Transcript, TranscriptItem, follow_file

HOST = "cursor"
_QUERY, _CLOSED = "<user_query>", "</user_query>"
_NOTIFIED = "<system_notification>"


def read(
    path: str, cursor: Mapping[str, Json] | None = None, session: str = ""
) -> Iterator[TranscriptItem]:
    """The messages of a transcript after the cursor."""
    return follow_file(
        path, cursor, _CursorReader(make_session_id(HOST, file_stem(path)), HOST, origin="")
    )


def discover(home: str, roots: tuple[str, ...], env: Mapping[str, str]) -> list[Transcript]:
    """The transcripts of projects whose folder is named after one of the roots."""
    base = os.path.join(home, ".cursor", "projects")
    slugs = {re.sub(r"[^A-Za-z0-9]+", "-", root).strip("-"): root for root in roots}
    found = []
    for folder in list_names(base):
        if slugs and folder not in slugs:
            continue
        for path in walk_files(os.path.join(base, folder, "agent-transcripts"), ".jsonl"):
            if "subagents" not in path.split(os.sep):
                found.append(make_transcript(HOST, path, cwd=slugs.get(folder, "")))
    return found


class _CursorReader(MessageLineReader):
    def shaped(self, record: dict[str, Json]) -> dict[str, Json]:
        """The prompt without what the editor wrapped around it; where the editor tells of a task
        that is done, the query is its own too."""
        if record.get("role") != "user":
            return record
        said = as_dict(record.get("message")) or record
        blocks = said.get("content")
        texts = [as_text(as_dict(block).get("text")) for block in as_list(blocks)]
        if any(_NOTIFIED in text for text in [as_text(blocks), *texts]):
            return {"role": "system", "content": as_text(blocks) or "\n".join(texts)}
        if isinstance(blocks, str):
            return {"role": "user", "content": _query(blocks)}
        kept = [
            {**block, "text": _query(as_text(block.get("text")))}
            if as_dict(block).get("type") == "text"
            else block
            for block in as_list(blocks)
        ]
        return {"role": "user", "content": kept}


def _query(text: str) -> str:
    """The query. It stands last: what is attached before it may look like one."""
    start = text.rfind(_QUERY)
    end = text.find(_CLOSED, start)
    return text[start + len(_QUERY) : end].strip() if 0 <= start < end else text
