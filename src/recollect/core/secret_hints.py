"""Where in a text the fixed words stand that may announce a secret.

A pattern is tried only where its hint stands, so most of the cost of a text without secrets is
looking for the hints. Few of them are looked for one by one; over a lot of text, one pattern finds
all of them in one pass: it stops only at the rarest letter of each hint. It does not know what a
hint announces.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

Places = dict[bytes, list[int]]
"""Each hint that stands in the text, and where, in order."""

_RARE = b"$=kq:bpghclf"
"""Characters that are rare in text and code, the rarest first; every hint has one of them."""

_WARM = 50_000
"""So many characters are searched hint by hint before the pattern is worth its compilation: the
prompt of a hook is not."""


class Hints:
    """Words in lower case that are looked for together."""

    def __init__(self, hints: Iterable[bytes]) -> None:
        self._hints = frozenset(hints)
        self._left = _WARM
        self._by_letter: dict[int, list[tuple[bytes, int]]] = {}
        self._pattern: re.Pattern[bytes] | None = None

    def places(self, lower: bytes) -> Places:
        """Where each hint stands in the text, given in lower case."""
        self._left -= len(lower)
        if self._left > 0:
            return {hint: list(all_of(lower, hint)) for hint in self._hints if hint in lower}
        return self.places_in_one_pass(lower)

    def places_in_one_pass(self, lower: bytes) -> Places:
        """The same, by the one pattern."""
        if self._pattern is None:
            self._pattern = self._compiled()
        found: Places = {}
        for match in self._pattern.finditer(lower):
            at = match.start()
            for hint, before in self._by_letter[lower[at]]:
                if at >= before and lower.startswith(hint, at - before):
                    found.setdefault(hint, []).append(at - before)
        return found

    def _compiled(self) -> re.Pattern[bytes]:
        """A branch for each rare letter. It never takes another of them, as hints may overlap."""
        branches: dict[int, list[bytes]] = {letter: [] for letter in reversed(_RARE)}
        for hint in self._hints:
            letter = next(letter for letter in _RARE if letter in hint)
            before = hint.index(letter)
            self._by_letter.setdefault(letter, []).append((hint, before))
            if not any(other in hint and letter in other for other in self._hints - {hint}):
                behind, after = re.escape(hint[: before + 1]), re.escape(hint[before + 1 :])
                if not frozenset(_RARE).isdisjoint(after):
                    after = b"(?=%b)" % after
                branches[letter].append(b"(?<=%b)%b" % (behind, after) if before else after)
        return re.compile(
            b"|".join(
                b"%b(?:%b)" % (re.escape(bytes([letter])), b"|".join(rest))
                for letter, rest in branches.items()
                if rest
            )
        )


def all_of(haystack: bytes, needle: bytes) -> Iterator[int]:
    """Every place of one text in another, also where they overlap."""
    at = haystack.find(needle)
    while at >= 0:
        yield at
        at = haystack.find(needle, at + 1)
