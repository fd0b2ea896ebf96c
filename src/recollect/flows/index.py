"""Index a text under its entry, inside the transaction that writes it."""

from __future__ import annotations

from ..core import render, terms
from ..db.database import Tx
from ..store import search

PART_TERMS = 10_000
"""Terms in one part of an entry: PostgreSQL keeps 16,383 positions and a megabyte for each."""


Words = tuple[tuple[str, str], ...]
"""The terms and stems of each part of a text."""


def words_of(text: str) -> Words:
    """What a text is found by; a terminal's colours are not part of the words they surround."""
    if "\x1b" in text:
        text = render.without_escapes(text)
    found = terms.terms(text)
    if len(found) <= PART_TERMS:
        return ((" ".join(found), terms.spaced_stems(text)),)
    parts = []
    for start in range(0, len(found), PART_TERMS):
        here = found[start : start + PART_TERMS]
        parts.append((" ".join(here), " ".join(terms.stems(here))))
    return tuple(parts)


def add(tx: Tx, entry: search.Entry, text: str) -> None:
    """Make a thing findable by its words."""
    search.put(tx, entry, words_of(text))


def replace(tx: Tx, entry: search.Entry, text: str) -> None:
    """The same for a thing whose words may have changed."""
    search.remove(tx, entry.source, entry.ref, entry.seq)
    add(tx, entry, text)
