"""Leave out what the instruction files already say that the agent loads by itself.

A command is said when its canonical form stands in a file. A statement is said when one paragraph
holds nearly all of its words. Context that repeats the repository's own instructions costs tokens
and helps nobody.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache

from ..text.terms import query_terms, stem

SAID_SHARE = 0.85
"""A paragraph that holds so many of a statement's words says it."""

SHORTEST = 2
"""A statement of fewer words is compared whole."""


class Instructions:
    """The text of the instruction files, by name. Read when first asked: most hooks never ask."""

    def __init__(self, read: Callable[[], Sequence[tuple[str, str]]] = tuple) -> None:
        self._read = read
        self._held: Sequence[tuple[str, str]] | None = None
        self._paragraphs: list[tuple[str, str, frozenset[str]]] | None = None

    @property
    def _files(self) -> Sequence[tuple[str, str]]:
        if self._held is None:
            self._held = self._read()
        return self._held

    def where(self, statement: str) -> str:
        """Return the file that says a statement; empty when none does."""
        if not self._files:
            return ""
        wanted = _stems(statement)
        if not wanted:
            return ""
        for name, text, stems in self._split():
            if len(wanted) < SHORTEST:
                if _flat(statement) in text:
                    return name
            elif len(wanted & stems) >= SAID_SHARE * len(wanted):
                return name
        return ""

    def where_command(self, form: str) -> str:
        """Return the file that names a command in this form; empty when none does."""
        pattern = re.compile(rf"(?<![\w./:-]){re.escape(_flat(form))}(?![\w:/-])")
        for name, text in self._files:
            if pattern.search(_flat(text)):
                return name
        return ""

    def _split(self) -> list[tuple[str, str, frozenset[str]]]:
        if self._paragraphs is None:
            self._paragraphs = [
                (name, _flat(part), _stems(part))
                for name, text in self._files
                for part in _parts().split(text)
                if part.strip()
            ]
        return self._paragraphs


NOTHING = Instructions()


@cache
def _parts() -> re.Pattern[str]:
    """Where a new statement begins: an empty line, a list item, a heading."""
    return re.compile(r"\n\s*\n|\n(?=\s*(?:[-*+]|\d+[.)]|#{1,6})\s)")


def _stems(text: str) -> frozenset[str]:
    return frozenset(stem(term) for term in query_terms(text))


def _flat(text: str) -> str:
    return " ".join(text.replace("`", " ").casefold().split())
