"""Export a session: read it page by page, render it, hand it on piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from ..errors import InvalidInput
from ..recall import steps_show as recall_steps_show
from ..storage.database import Tx
from ..types.records import Session, Stored
from . import export_html, export_text, sql
from .steps import stored

_AT_ONCE = 200

FORMS: dict[str, Callable[[Session, Iterable[Stored]], Iterator[str]]] = {
    "html": export_html.page,
    "md": export_text.markdown,
    "jsonl": export_text.jsonl,
}
_OTHER_ENDINGS = {"htm": "html", "markdown": "md", "json": "jsonl", "ndjson": "jsonl"}


class Exported(NamedTuple):
    """Where a session was written."""

    session: str
    path: str
    form: str
    messages: int
    bytes: int


def form_of(path: str, form: str) -> str:
    """The form that is asked for by name, or by the ending of the path."""
    asked = form or path.rpartition(".")[2].lower()
    asked = _OTHER_ENDINGS.get(asked, asked)
    if asked not in FORMS:
        raise InvalidInput(
            f"{form!r} is not a form" if form else "the path's ending names no form",
            where=form or path,
            hint=f"one of: {', '.join(FORMS)}",
        )
    return asked


def export(tx: Tx, name: str, form: str, write: Callable[[str], object]) -> Session:
    """Write a session in a form; it is never in memory as a whole."""
    session = recall_steps_show.existing(tx, name)
    for piece in FORMS[form](session, _messages(tx, session)):
        write(piece)
    return session


def _messages(tx: Tx, session: Session) -> Iterator[Stored]:
    for first in range(1, session.messages + 1, _AT_ONCE):
        for row in sql.messages(tx, session.id, first, first + _AT_ONCE - 1):
            yield stored(row)
