"""CLIO's sessions: `.clio/sessions/<id>.json`, the whole history in one file.

Takes `history` (every message, in OpenAI's form or an older one), the name, the directory and
the time; the short-term window and the thread archive in the same file repeat the history.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from ..types import Json
from .disk import files, first, transcript
from .messages import listed, stem
from .naming import session_id
from .shapes import as_dict, as_list, title_of, usage_of
from .stream import Entry, Found, Item, Transcript, document_of, moment, whole

HOST = "clio"


def read(path: str, cursor: Mapping[str, Json] | None = None, session: str = "") -> Iterator[Item]:
    """The messages of a session file; nothing if it is as it was at the cursor."""
    value, mark = document_of(path)
    return whole(path, cursor, _items(as_dict(value), path), mark)


def discover(home: str, roots: tuple[str, ...], env: Mapping[str, str]) -> list[Transcript]:
    """The sessions inside the projects themselves; CLIO keeps no list of projects."""
    return [
        transcript(HOST, path, cwd=root)
        for root in roots
        for path in files(os.path.join(root, ".clio", "sessions"), ".json")
    ]


def _items(value: dict[str, Json], path: str) -> Iterator[Item]:
    name = first(value, "session_id", "id") or stem(path)
    about = Found(
        session_id(HOST, name),
        name=title_of(first(value, "session_name", "name", "title")),
        cwd=first(value, "working_directory", "cwd"),
        agent=HOST,
    )
    began = moment(value.get("created_at"))
    counts = [usage_of(record) for record in as_list(as_dict(value.get("billing")).get("requests"))]
    answers = 0
    for item in listed(value.get("history"), about):
        if isinstance(item, Entry):
            message = item.message._replace(at=item.message.at or began)
            # Requests are billed in order, one for each answer.
            if message.role == "assistant":
                if answers < len(counts) and not message.usage:
                    message = message._replace(usage=counts[answers] or None)
                answers += 1
            item = item._replace(message=message)
        yield item
