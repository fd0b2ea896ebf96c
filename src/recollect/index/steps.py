"""Index a text under its entry, inside the transaction that writes it."""

from __future__ import annotations

from ..secrets import word_scan
from ..storage.database import Tx
from ..text import display, terms
from ..types.records import Document
from ..work import notes
from . import sql

PART_TERMS = 10_000
"""Terms in one part of an entry: PostgreSQL keeps 16,383 positions and a megabyte for each."""


_CHECKPOINTS = "memory://scratch/session_progress"
"""Where the checkpoints of `window.steps_compact` lie."""

Words = tuple[str, ...]
"""The stems of each part of a text."""


def words_of(*texts: str) -> Words:
    """What texts are found by together."""
    spaced = " ".join(filter(None, map(_spaced, texts))) if len(texts) != 1 else _spaced(texts[0])
    if len(spaced) < 2 * PART_TERMS or spaced.count(" ") < PART_TERMS:
        return (spaced,)
    stems = spaced.split(" ")
    return tuple(
        " ".join(stems[start : start + PART_TERMS]) for start in range(0, len(stems), PART_TERMS)
    )


def _spaced(text: str) -> str:
    """A terminal's colours are not part of the words they surround."""
    if "\x1b" in text:
        text = display.without_escapes(text)
    seen = word_scan.glance(text)
    return seen.stems if seen else terms.spaced_stems(text)


def add(tx: Tx, entry: sql.Entry, text: str) -> None:
    """Make a thing findable by its words."""
    sql.put(tx, entry, words_of(text))


def document(kept: Document) -> tuple[sql.Entry, str] | None:
    """What a document is found by: its title and its text. A page that we made from memories and
    messages is found by what a person wrote into it, if anything: the others are there already."""
    text = _by_hand(kept) if is_made(kept) else f"{kept.title}\n{kept.text}"
    if not text.strip():
        return None
    entry = sql.Entry(
        "document",
        kept.address,
        kept.type,
        kept.layer,
        kept.owner,
        kept.status,
        kept.label,
        0,
        kept.valid_from,
    )
    return entry, text


def is_made(kept: Document) -> bool:
    """Whether a document is a page that we made."""
    return kept.type == "continuity" or kept.address.startswith(_CHECKPOINTS)


def _by_hand(kept: Document) -> str:
    if kept.type != "continuity":
        return ""
    written = notes.parse_continuity(kept.text)
    return "\n".join([*written.relevant, *written.avoid, *written.more])


def put_document(tx: Tx, kept: Document) -> None:
    """Make a document findable by its words of now."""
    found = document(kept)
    if found:
        replace(tx, *found)
    else:
        sql.remove(tx, "document", kept.address)


def replace(tx: Tx, entry: sql.Entry, text: str) -> None:
    """The same for a thing whose words may have changed."""
    sql.replace(tx, entry, words_of(text))
