"""Operations on scratch: notes under a key, for the work at hand."""

from __future__ import annotations

from ..context import Context
from ..documents import steps_scratch as documents_steps_scratch
from ..types.records import Document


def store_scratch(context: Context, name: str, content: str, key: str = "") -> Document:
    """Keep a text under a name for the work at hand; a new text replaces the old one.

    name: a name, not a path: letters, digits, _ - . :
    content: the text; - reads stdin
    key: makes the call idempotent: the same key again changes nothing

    Example: recollect store auth_bug "token refresh returns inside the eval"
    """
    now = context.clock()
    return context.project_space.write(
        lambda tx: documents_steps_scratch.store(tx, name, content, context.origin, now, key)
    )


def retrieve_scratch(context: Context, name: str) -> Document:
    """The text that is stored under a name.

    name: the name it was stored under

    Example: recollect retrieve auth_bug
    """
    return context.project_space.read(lambda tx: documents_steps_scratch.retrieve(tx, name))


def search_scratch(context: Context, query: str, limit: int = 10) -> tuple[Document, ...]:
    """Stored texts that hold words of the query, best first.

    query: a few words
    limit: at most so many

    Example: recollect scratch search "token refresh"
    """
    return tuple(
        context.project_space.read(lambda tx: documents_steps_scratch.find(tx, query, limit))
    )


def list_scratch(context: Context, limit: int = 100) -> tuple[Document, ...]:
    """Everything that is stored under a name.

    limit: at most so many

    Example: recollect scratch list
    """
    return tuple(context.project_space.read(lambda tx: documents_steps_scratch.listing(tx, limit)))


def delete_scratch(context: Context, name: str) -> Document:
    """Take a stored text away: it is no longer found or listed.

    name: the name it was stored under

    Example: recollect delete auth_bug
    """
    now = context.clock()
    return context.project_space.write(lambda tx: documents_steps_scratch.delete(tx, name, now))
