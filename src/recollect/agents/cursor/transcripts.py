"""Cursor's agent transcripts: `~/.cursor/projects/<slug>/agent-transcripts/**/<id>.jsonl`.

One message a line, `role` beside `message.content`; the prompt stands in `<user_query>`. No
times and no counts. The editor's own database is not read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping

from ...types.records import Json
from ..session_names import session_id
from ..transcripts.find_io import files, names, transcript
from ..transcripts.message_lists import Lines, stem
from ..transcripts.normalise import as_dict, as_list, as_text
from ..transcripts.reader_io import Item, Transcript, follow

HOST = "cursor"
_QUERY, _CLOSED = "<user_query>", "</user_query>"
_NOTIFIED = "<system_notification>"


def read(path: str, cursor: Mapping[str, Json] | None = None, session: str = "") -> Iterator[Item]:
    """The messages of a transcript after the cursor."""
    return follow(path, cursor, _Reader(session_id(HOST, stem(path)), HOST, origin=""))


def discover(home: str, roots: tuple[str, ...], env: Mapping[str, str]) -> list[Transcript]:
    """The transcripts of projects whose folder is named after one of the roots."""
    base = os.path.join(home, ".cursor", "projects")
    slugs = {re.sub(r"[^A-Za-z0-9]+", "-", root).strip("-"): root for root in roots}
    found = []
    for folder in names(base):
        if slugs and folder not in slugs:
            continue
        for path in files(os.path.join(base, folder, "agent-transcripts"), ".jsonl"):
            if "subagents" not in path.split(os.sep):
                found.append(transcript(HOST, path, cwd=slugs.get(folder, "")))
    return found


class _Reader(Lines):
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
