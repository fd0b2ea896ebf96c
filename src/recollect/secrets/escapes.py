"""Undo what can hide a secret: escape sequences, escaped and invisible characters, concatenation.

In `ESC[31mghp_…` the letter of the sequence looks like the start of the token's word, in
`\\x67hp_…` its first letter is escaped, and in `"ghp_" + "…"` it is in two literals. The search
(`secrets.search`) scans such a text twice more: with spaces in place of the sequences, and as a
normalised view, whose positions map back to the text.
"""

from __future__ import annotations

from binascii import a2b_base64
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

Edit = tuple[int, int, str]
"""Start and end of a part of a text, and the text that it stands for."""

UNSEEN = "\u00ad\u200b\u200c\u200d\u2060\ufeff"
"""Invisible characters that may stand between those of a secret."""

_HEX = r"[\da-fA-F]"
_CHARACTERS = (
    (
        "\\",
        rf"\\\\{{0,3}}(?:x({_HEX}{{2}})|u00({_HEX}{{2}})|u\{{({_HEX}{{2}})\}}|U000000({_HEX}{{2}}))",
        16,
    ),
    ("\\", r"\\([01][0-7]{2})", 8),
    ("%", rf"%([2-7]{_HEX})", 16),
    ("&#x", rf"&#x({_HEX}{{2}});", 16),
    ("&#", r"&#(\d{2,3});", 10),
)
"""A text that must be present, a character that is written as its code, and the base of the code.
One sign is found ten times as fast as two, and a pattern that begins with one fixed character
several times as fast as with a set."""

_OPERATOR = r"(?:[+.&]|\.\.|\|\|)"
_JOINTS = tuple(
    (
        quote,
        rf"{quote}(?<=[\w~.+/=\\-].)(?:[ \t]{{0,8}}{_OPERATOR}\s{{0,60}}"
        rf"|[ \t]{{0,8}}\\?\r?\n\s{{0,60}}(?:{_OPERATOR}[ \t]{{0,8}})?)"
        rf"[bruf]?\\{{0,4}}{quote}(?=[\w~.+/=-])",
        rf"{quote}(?<=[\w~.+/=-].)\s{{0,40}},\s{{0,40}}{quote}(?=[\w~.+/=-])",
    )
    for quote in "\"'`"
)
"""A quote, and two patterns: the end of a literal, an operator or a line end, and the start of the
next literal; the same with a comma, as in a list that is joined."""


class NormalisedView:
    """A part of a text after edits, with a map back to the original positions."""

    def __init__(self, text: str, start: int, end: int, edits: list[Edit]) -> None:
        pieces: list[str] = []
        self._places: list[Extent] = []  # of each piece
        self._edited: list[bool] = []
        for cut, stop, new in (*edits, (end, end, "")):
            if start < cut:
                pieces.append(text[start:cut])
                self._places.append((start, cut))
                self._edited.append(False)
            if new:
                pieces.append(new)
                self._places.append((cut, stop))
                self._edited.append(True)
            start = stop
        self.text = "".join(pieces)
        self._begins = [0, *accumulate(map(len, pieces))]

    def place(self, start: int, end: int) -> Extent:
        """Return the original extent of a part of the view."""
        from bisect import bisect_right  # most texts have no edits

        first, last = (bisect_right(self._begins, at) - 1 for at in (start, end - 1))
        begin, stop = self._places[first][0], self._places[last][1]
        if not self._edited[first]:
            begin += start - self._begins[first]
        if not self._edited[last]:
            stop = self._places[last][0] + end - self._begins[last]
        return begin, stop


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


def find_edits(text: str, sequences: list[Extent]) -> list[Edit]:
    """Return the parts that a normalised view omits or decodes, in order and without overlaps."""
    found: list[Edit] = [(start, end, "") for start, end in sequences]
    if not text.isascii() and any(character in text for character in UNSEEN):
        unseen = rules.compile_pattern(f"[{UNSEEN}]+").finditer(text)
        found += [(*match.span(), "") for match in unseen]
    found += _characters(text)
    joined = ".join(" in text
    for quote, pattern, listed in _JOINTS:
        if quote in text:
            found += _joints(text, pattern)
            found += _joints(text, listed) if joined else ()
    found.sort(key=lambda edit: (edit[0], -edit[1]))  # of two, the longer one
    kept: list[Edit] = []
    for edit in found:
        if not kept or edit[0] >= kept[-1][1]:
            kept.append(edit)
    return kept


def _characters(text: str) -> Iterator[Edit]:
    """Yield characters that are written as their codes."""
    for sign, pattern, base in _CHARACTERS:
        for match in rules.compile_pattern(pattern).finditer(text) if sign in text else ():
            code = int(match[match.lastindex or 0], base)
            yield *match.span(), chr(code) if 32 < code < 127 else " "


def _joints(text: str, pattern: str) -> Iterator[Edit]:
    """Yield what stands between two literals whose sum may be a secret: there is a digit."""
    for match in rules.compile_pattern(pattern).finditer(text):
        start, end = match.span()
        before = text[max(0, start - 40) : start].rstrip("\\")
        near = before[-24:] + text[end : end + 24]
        if rules.contains("[0-9_$]|[a-z][A-Z]", near):
            yield start - min(start, 40) + len(before), end, ""


def views(text: str, edits: list[Edit]) -> Iterator[NormalisedView]:
    """Yield the text around its edits: a long text with one colour is not searched twice."""
    first = 0
    for at in range(1, len(edits) + 1):
        if at < len(edits) and edits[at][0] - edits[at - 1][1] < 2 * _REACH:
            continue
        near = edits[first:at]
        end = min(near[-1][1] + _REACH, len(text))
        yield NormalisedView(text, _begin(text, near[0][0]), end, near)
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


# ---------------------------------------------------------------------------------------------
# Base 64 and hexadecimal

_ALPHABET = bytes.maketrans(b"-_", b"+/")
_PRINTABLE = bytes((9, 10, 13, *range(32, 127)))


def decode_run(run: str) -> str:
    """Return the ASCII text that a run encodes; empty if it encodes none."""
    if _is_text_bytes(data := _from_base64(run[:24])):
        data = _from_base64(run)
        data = data.rstrip(b"\0")  # the last bits of a run that was cut
    elif rules.contains(r"^(?:[2-7][\da-fA-F]){16,}$", run):
        data = bytes.fromhex(run)
    return data.decode("ascii") if _is_text_bytes(data) else ""


def _is_text_bytes(data: bytes) -> bool:
    return data.isascii() and not data.translate(None, _PRINTABLE)


def _from_base64(run: str) -> bytes:
    joined = b"".join(run.encode().split()).rstrip(b"=").translate(_ALPHABET)
    return a2b_base64(joined[: len(joined) // 4 * 4 + (len(joined) % 4 > 1) * 4] + b"==")
