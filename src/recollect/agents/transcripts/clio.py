"""CLIO's sessions: `.clio/sessions/<id>.json`, the whole history in one file.

Takes `history` (every message, in OpenAI's form or an older one), what only the thread archive
in the same file still has, the name, the directory and the bill. The files lie in the project and
may have come with it: an import.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from ...types.records import Json
from ..session_names import make_session_id
from .find_io import is_inside, make_transcript, walk_files
from .message_lists import file_stem, read_message_list
from .normalise import as_dict, as_list, as_text, first_text, make_title, normalise_usage
from .reader_io import (
    SessionDetails,
    Transcript,
    TranscriptEntry,
    TranscriptItem,
    load_document,
    parse_time,
    yield_document,
)

HOST = "clio"


def read(
    path: str, cursor: Mapping[str, Json] | None = None, session: str = ""
) -> Iterator[TranscriptItem]:
    """The messages of a session file; nothing if it is as it was at the cursor."""
    value, mark = load_document(path)
    return yield_document(path, cursor, _items(as_dict(value), path), mark)


def discover(home: str, roots: tuple[str, ...], env: Mapping[str, str]) -> list[Transcript]:
    """The sessions inside the projects themselves; CLIO keeps no list of projects."""
    return [
        make_transcript(HOST, path, cwd=root)
        for root in roots
        for path in walk_files(os.path.join(root, ".clio", "sessions"), ".json")
        if is_inside(path, root)
    ]


def _items(value: dict[str, Json], path: str) -> Iterator[TranscriptItem]:
    name = first_text(value, "session_id", "id") or file_stem(path)
    about = SessionDetails(
        make_session_id(HOST, name),
        name=make_title(first_text(value, "session_name", "name", "title")),
        cwd=first_text(value, "working_directory", "cwd"),
        agent=HOST,
    )
    history = as_list(value.get("history"))
    began = parse_time(value.get("created_at"))
    for item in read_message_list(_trimmed(value, history), about):
        yield _dated(item, began)
    requests = [as_dict(one) for one in as_list(as_dict(value.get("billing")).get("requests"))]
    for item in read_message_list(history, about):
        item = _dated(item, began)
        if isinstance(item, TranscriptEntry) and item.message.role == "assistant" and requests:
            # Requests are billed in order, one for each answer.
            billed = requests.pop(0)
            usage = item.message.usage or normalise_usage(billed) or None
            model = item.message.model or first_text(billed, "model")
            item = item._replace(message=item.message._replace(usage=usage, model=model))
        yield item


def _trimmed(value: dict[str, Json], history: list[Json]) -> list[Json]:
    """Messages that only the thread archive still has: trimming took them out of the history."""
    kept = {as_text(as_dict(message).get("id")) for message in history}
    archived = [m for thread in as_dict(value.get("yarn")).values() for m in as_list(thread)]
    return [m for m in archived if as_text(as_dict(m).get("id")) not in kept | {""}]


def _dated(item: TranscriptItem, began: int) -> TranscriptItem:
    if isinstance(item, TranscriptEntry) and not item.message.at:
        return item._replace(message=item.message._replace(at=began))
    return item
