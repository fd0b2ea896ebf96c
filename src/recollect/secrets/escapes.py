"""Terminal escape sequences and escaped characters, which can hide secrets.

In `ESC[31mghp_…` the letter of the sequence looks like the start of the token's word, and in
`\\u003dghp_…` a digit does. The search (`secrets.search`) scans such a text twice more: with spaces
in place of the sequences, and without them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate

from . import rules

_ESC = (
    r"(?:\x1b|\u241b|\^\[(?=\[(?:\d[\d;:]*[A-Za-z]|[mKJH])|\(B)"
    r"|\\{1,8}(?:[xX]1[bB]|0?33|e(?=[\[\]()])|u001[bB]|u241[bB]|U0000001[bB]|u\{0{0,4}1[bB]\}))"
)
_CSI = rf"(?:{_ESC}\[|\x9b|\\{{1,8}}(?:u009|x9)[bB])"
_BELL = r"(?:\x07|\\{1,8}(?:a|x07|0?07|u0007))"
_SEQUENCE = (
    rf"{_CSI}[0-?]{{0,64}}[ -/]{{0,4}}[@-~]"
    rf"|{_ESC}\](?:[^\x07\x1b\n\\]|\\(?![aexuU0\\])){{0,2048}}+(?:{_BELL}|{_ESC}\\{{1,4}})"
    rf"|{_ESC}[ -/]{{1,3}}[0-~]"
    rf"|{_ESC}[78=>cDEHMNOZ]"
    rf"|{_ESC}"
    r"|\[\d{1,3}(?:[;:]\d{1,3}){0,8}m"
)
"""CSI (colours, cursor), OSC (titles, links), character sets, two-character sequences; ESC raw or
escaped. Colours also without ESC: some logs drop unprintable characters."""

_WRITTEN_ESC = r"\\[xXuUe03](?:(?:00|000000|\{0*)?[19][bB]|241[bB]|3|(?<=0)33|(?<=e)[\[\]()])"
"""Every sequence with an escaped ESC contains one of these."""

_BEHIND = r"(?=[\w.:~$/!-]{16})"
_WRITTEN = (
    r"\\(?:x[\da-fA-F]{2}|u[\da-fA-F]{4}|U[\da-fA-F]{8}|u\{[\da-fA-F]{1,6}\}|[0-3][0-7]{2}|[abefv])"
    + _BEHIND
)
_ENCODED = r"%[\da-fA-F]{2}" + _BEHIND
"""An escaped character directly before a possible token."""

_REACH = 400
"""Characters around a sequence that may belong to the same secret."""

Extent = tuple[int, int]
"""Start and end of a part of a text."""


class Unescaped:
    """A text without its escape sequences, with a map back to the original positions."""

    def __init__(self, text: str, kept: list[Extent]) -> None:
        self.text = "".join([text[start:end] for start, end in kept])
        self._kept = kept
        self._begins = [0, *accumulate(end - start for start, end in kept)]

    def place(self, at: int) -> int:
        """Return the original index of a character."""
        from bisect import bisect_right  # most texts have no sequences

        piece = bisect_right(self._begins, at) - 1
        return self._kept[piece][0] + at - self._begins[piece]


def find_sequences(text: str) -> list[Extent]:
    """Return the escape sequences of a text."""
    if not (
        "\x1b" in text
        or ("[" in text and rules.contains(r"\[\d[\d;:]{0,40}m", text))
        or ("\\" in text and rules.contains(_WRITTEN_ESC, text))
        or ("^" in text and ("^[[" in text or "^[(" in text))
        or (not text.isascii() and ("\x9b" in text or "\u241b" in text))
    ):
        return []
    found: list[Extent] = []
    sequence = rules.compile_pattern(_SEQUENCE).match
    end = 0
    for sign in rules.compile_pattern(r"[\x1b\x9b\u241b^\\\[]").finditer(text):
        if sign.start() >= end and (match := sequence(text, sign.start())):
            found.append(match.span())
            end = match.end()
    return found


def strip_sequences(text: str, sequences: list[Extent]) -> Iterator[Unescaped]:
    """Yield the text around its sequences, without them: a long text with one colour is not
    searched twice."""
    first = 0
    for at in range(1, len(sequences) + 1):
        if at < len(sequences) and sequences[at][0] - sequences[at - 1][1] < 2 * _REACH:
            continue
        near = sequences[first:at]
        edges = [_begin(text, near[0][0]), *(edge for piece in near for edge in piece)]
        edges.append(min(near[-1][1] + _REACH, len(text)))
        kept = zip(edges[::2], edges[1::2], strict=True)
        yield Unescaped(text, [(start, end) for start, end in kept if start < end])
        first = at


def _begin(text: str, sequence: int) -> int:
    """Return the start of the search before a sequence: not inside a word, whose rest would look
    like one."""
    start = max(sequence - _REACH, 0)
    space = rules.compile_pattern(r"\s").search(text, start, sequence) if start else None
    return space.start() if space else start


def mask_sequences(text: str, sequences: list[Extent]) -> str:
    """Replace escape sequences and escaped characters by spaces of the same length."""
    if sequences:
        ends = [0, *(end for _, end in sequences)]
        starts = [*(start for start, _ in sequences), len(text)]
        widths = [*(end - start for start, end in sequences), 0]
        kept = zip(ends, starts, widths, strict=True)
        text = "".join([text[end:start] + " " * width for end, start, width in kept])
    for sign, written in (("\\", _WRITTEN), ("%", _ENCODED)):
        if sign in text:
            text = rules.compile_pattern(written).sub(lambda match: " " * len(match[0]), text)
    return text
