"""Find the secrets in a text.

Knows the places: long runs of token characters, broken lines, key blocks, headers and commands;
`secrets.assignments` finds values under a name. `secrets.formats` and `secrets.rules` decide what
is a secret in such a place, `secrets.redaction` removes it.

Text without secrets costs little: the search runs over an ASCII shadow of the text (one character
for each, so that offsets agree), and a pattern is tried only where one of its hints, a fixed text,
was found. Each place is tried a bounded number of times.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from functools import cache

from . import commands, escapes, formats, rules
from .assignments import NAME_ENDS, SECRET_TYPES, Places, Span, find_assigned

_BLOCK_HINTS = ("-----begin ", "private-lines: ")
_MANIFEST_HINT = "kind:"
_COOKIE_HINT = "cookie"
_HINTS = frozenset(
    (
        *(hint for _, hint, _ in commands.CONTEXTS),
        *commands.COMMANDS,
        *NAME_ENDS,
        *_BLOCK_HINTS,
        _MANIFEST_HINT,
        _COOKIE_HINT,
    )
)
"""Every rule begins with one of these texts, except for tokens and tables."""

_TOKEN = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-~"
_CLASS = {
    **dict.fromkeys(_TOKEN, "a"),
    **dict.fromkeys("`'\"?", "q"),
    **dict.fromkeys("\r\n\\", "n"),
    **dict.fromkeys(".+/=%!$:", "s"),
}
_CLASSES = bytes(ord(_CLASS.get(chr(code), " ")) for code in range(256))
"""Token characters, quotes (also the shadow of non-ASCII characters), line ends, and signs inside
tokens."""


def find_secrets(text: str) -> list[Span]:
    """Return the secrets in the text, in order and disjoint.

    Where rules overlap, their union is removed, under the type of the most specific rule.
    """
    found = [(start, end, rank, type_) for rank, (start, end, type_) in enumerate(_found(text))]
    if not found:
        return []
    merged: list[tuple[int, int, int, str]] = []
    for start, end, rank, type_ in sorted(found):
        if merged and start < merged[-1][1]:
            begun, ended, best, chosen = merged[-1]
            merged[-1] = (begun, max(ended, end), *min((best, chosen), (rank, type_)))
        else:
            merged.append((start, end, rank, type_))
    return [(start, end, type_) for start, end, _, type_ in merged]


def _found(text: str, depth: int = 0) -> Iterator[Span]:
    """Yield possible secrets, including those in encoded or hidden parts of the text."""
    runs = yield from _seen(text)
    sequences = escapes.find_sequences(text)
    masked = escapes.mask_sequences(text, sequences)
    if masked is not text:
        yield from _tokens(masked, _runs(masked, _shadow_and_classes(masked)[1]))
    for view in escapes.views(text, escapes.find_edits(text, sequences)):
        for start, end, type_ in _seen(view.text):
            yield *view.place(start, end), type_
    if depth < _DEEPEST and runs:
        yield from _encoded(text, runs, depth)


def _seen(text: str) -> Generator[Span, None, Collection[str]]:
    """Yield possible secrets in the plain text, the most specific rules first; return its long runs
    of token characters."""
    shadow, classes = _shadow_and_classes(text)
    lower = shadow.lower()
    places = _find_hints(lower)
    if not places.keys().isdisjoint(_BLOCK_HINTS):
        yield from _key_blocks(text, places)
    runs = _runs(text, classes)
    yield from _tokens(text, runs)
    yield from _broken_tokens(text, classes)
    if places:
        if _MANIFEST_HINT in places:
            yield from _manifests(text, places[_MANIFEST_HINT])
        yield from _in_contexts(text, lower, places)
        yield from find_assigned(text, lower, places)
        if _COOKIE_HINT in places:
            yield from _cookies(text, places[_COOKIE_HINT])
    if "|" in text and "--" in text:
        yield from _tables(text)
    return runs


def _shadow_and_classes(text: str) -> tuple[str, str]:
    """Return the text in ASCII, and the class of each of its characters."""
    shadow = text.encode("ascii", "replace")
    classes = shadow.translate(_CLASSES).decode("ascii")
    return text if text.isascii() else shadow.decode("ascii"), classes


def _find_hints(lower: str) -> Places:
    """Return where each hint occurs in a text in lower case."""
    places: Places = {}
    for end, hint in _hint_finder()(lower):
        places.setdefault(hint, []).append(end - len(hint) + 1)
    return places


@cache
def _hint_finder() -> Callable[[str], Iterator[tuple[int, str]]]:
    """Return a function that finds all hints in one pass (Aho-Corasick): each with the index of its
    last character."""
    from ahocorasick import Automaton

    automaton = Automaton()
    for hint in _HINTS:
        automaton.add_word(hint, hint)
    automaton.make_automaton()
    found: Callable[[str], Iterator[tuple[int, str]]] = automaton.iter
    return found


def _in_contexts(text: str, lower: str, places: Places) -> Iterator[Span]:
    """Yield the secrets in commands, headers and addresses."""
    for type_, hint, pattern in commands.CONTEXTS:
        for match in _matches(pattern, text, places[hint]) if hint in places else ():
            group = match.lastindex or 0
            if rules.is_secret_in(type_, match[group]):
                yield *match.span(group), type_
    for hint in places.keys() & commands.COMMANDS.keys():
        if not commands.names_program(lower, hint, places[hint]):
            continue
        for match in _matches(commands.COMMANDS[hint], text, places[hint]):
            group = match.lastindex or 0
            if rules.is_secret_argument(match[group]):
                yield *match.span(group), SECRET_TYPES["password"]


def _matches(pattern: str, text: str, places: Sequence[int]) -> Iterator[re.Match[str]]:
    """Yield the matches that begin at one of the places, without overlaps."""
    end = 0
    for at in places:
        if at >= end and (match := rules.compile_pattern(pattern).match(text, at)):
            yield match
            end = match.end()


# ---------------------------------------------------------------------------------------------
# Tokens

_RUN = "a" * 16 + "a{0,104}"
_BEFORE_RUN = 60  # a prefix, and the part before a sign
_TELLING = r"\d|[a-z][A-Z]|[A-Z][a-z]|A(?:KI|SI|BI|CC)A[A-Z]{16}"
_QUOTE_INSIDE = "qaaaa(?<=aaqaaaa)"  # the quote first: it is rare, and fast to find
_LINE_END = "a" * 12 + "n"
_BREAK = (
    r"[`'\"␀\u00ad\u200b-\u200d\u2060\ufeff](?=[\w~-]{4})"
    r"|(?:\\?\r?\n|(?:\\r)?\\n|\\)[ \t>]{0,40}(?=[\w-]{4})(?=[A-Za-z_-]{0,24}\d)"
)
_REACH = 400


def _runs(text: str, classes: str) -> Collection[str]:
    """Return the long runs of token characters, each with the text before it: a small part of most
    texts. Each token has one."""
    runs: set[str] = set()
    for match in rules.compile_pattern(_RUN).finditer(classes):
        start, end = match.span()
        if classes[start - 1 : start] in "as":  # at the start of the text nothing, which is in both
            before = classes[max(0, start - _BEFORE_RUN) : start]
            start -= len(before) - len(before.rstrip("as"))
        runs.add(text[max(0, start - 1) : end])  # with the backslash of an escaped line end
    telling = rules.compile_pattern(_TELLING).search
    return [run for run in runs if telling(run)]


def _tokens(text: str, runs: Collection[str]) -> Iterator[Span]:
    """Yield tokens with an issuer's prefix: only the runs are searched for the many prefixes."""
    if not runs:
        return
    long = "\n".join(runs)
    for prefix, type_, body in formats.find_prefixes(long):
        regex, at = rules.bounded_pattern(prefix, body), text.find(prefix)
        while at >= 0:
            match = regex.match(text, at)
            if match and rules.is_token(match[1], type_):
                yield at, at + len(match[0].rstrip(".")), type_
            at = text.find(prefix, match.end() if match else at + 1)
    for type_, part, shape, pattern in formats.SHAPED:
        if part in long and rules.contains(shape, long):
            for match in rules.bounded_pattern("", pattern).finditer(text):
                if rules.is_token(match[0]):
                    yield *match.span(), type_


def _broken_tokens(text: str, classes: str) -> Iterator[Span]:
    """Yield tokens with a quote, a backtick or a line end inside, found in the joined text."""
    places = [match.start() for match in rules.compile_pattern(_QUOTE_INSIDE).finditer(classes)]
    places += [at + 12 for at in _find_all(classes, _LINE_END)]
    if not places:
        return
    broken, openings = rules.compile_pattern(_BREAK).match, formats.token_openings()
    breaks = sorted(
        [
            match.span()
            for at in places
            if (match := broken(text, at)) and not text.startswith(openings, match.end())
        ]
    )
    if not breaks:
        return
    pieces: list[tuple[int, int, str]] = []  # start, end, replacement of the part left out after it
    end = 0
    for start, stop in (*breaks, (len(text), len(text))):
        if start - end > 2 * _REACH:
            pieces += (end, end + _REACH, " "), (start - _REACH, start, "")
        else:
            pieces.append((end, start, ""))
        end = max(end, stop)
    joined = "".join([text[start:stop] + gap for start, stop, gap in pieces])
    found = list(_tokens(joined, _runs(joined, _shadow_and_classes(joined)[1])))
    if found:
        kept = [at for start, stop, gap in pieces for at in range(start, stop + len(gap))]
        yield from _spread(found, kept)


def _find_all(haystack: str, needle: str) -> Iterator[int]:
    """Yield every index of one text in another, including overlaps."""
    at = haystack.find(needle)
    while at >= 0:
        yield at
        at = haystack.find(needle, at + 1)


def _spread(found: Iterable[Span], kept: Sequence[int]) -> Iterator[Span]:
    """Map secrets found in a text with characters left out back to the whole text, and yield those
    that span a gap: the others are found in the whole text. `kept` holds the place of each
    character that was not left out."""
    for start, end, type_ in found:
        if kept[end - 1] - kept[start] >= end - start:
            yield kept[start], kept[end - 1] + 1, type_


_DEEPEST = 2
"""How often encoded text may itself be encoded."""

_BASE64 = r"[\w+/-]{20,}+(?:\r?\n[ \t]{0,16}[\w+/-]{16,}+)*+={0,2}"
_ENCODED = (
    r"(?<![\w+/-])(?:(?:[A-Za-f][\w+/-]{3}){5,}[\w+/-]{0,3}|(?:[2-7][\da-fA-F]){16,})(?![\w+/-])"
)
"""What may decode to ASCII: in base 64 the first of four characters has a clear highest bit."""


def _encoded(text: str, runs: Collection[str], depth: int) -> Iterator[Span]:
    """Yield base 64 and hexadecimal runs that decode to a text with a secret."""
    pieces = rules.compile_pattern(_ENCODED).findall("\n".join(runs))
    for piece in {piece for piece in pieces if escapes.decode_run(piece[:40])}:
        at = text.find(piece)
        while at >= 0:
            match = rules.compile_pattern(_BASE64).match(text, at)
            end = match.end() if match else at + 1
            if match and (plain := escapes.decode_run(match[0])):
                type_ = next((type_ for _, _, type_ in _found(plain, depth + 1)), "")
                if type_:
                    yield at, end, type_
            at = text.find(piece, end)


# ---------------------------------------------------------------------------------------------
# Blocks

_BLOCK = (
    r"(?:-----BEGIN (?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)?-----|Private-Lines: \d{1,3})"
    r"(?:(?:[\s\"'`,+>|*#;]|\\{1,4}[nrt]|\d{1,6}[→|:\t]|\\\n){0,60}"
    r"(?:[\w+/=]{20,}|[A-Z][\w-]{2,20}: [^\n\\]{1,99}))*+"
)
_BLOCK_END = r"[^()\[\]{};]{0,400}?-----END [A-Z0-9 ]{1,60}-----"


def _key_blocks(text: str, places: Places) -> Iterator[Span]:
    """Yield private keys in PEM or PuTTY form, up to the END line or as far as the lines look like
    a key."""
    for hint in _BLOCK_HINTS:
        for block in _matches(_BLOCK, text, places.get(hint, ())):
            closed = rules.compile_pattern(_BLOCK_END).match(text, block.end())
            if closed or block.end() - block.start() > 60:
                yield block.start(), (closed or block).end(), "private-key"


def _manifests(text: str, places: Sequence[int]) -> Iterator[Span]:
    """Yield the data of a Kubernetes secret: arbitrary names, values only encoded."""
    if not any(_matches(r"kind:[ \t]{1,4}[\"']?Secret\b", text, places)):
        return
    block = r"(?m)^([ \t]*)(?:data|stringData):[ \t]*\n((?:\1[ \t]+\S[^\n]*\n?)+)"
    entry = r"(?m)^[ \t]*(?:[\w.-]{1,99}:[ \t]*[\"']?)?([^\s\"'|>#{$&*][^\s\"':]{3,})[\"']?[ \t]*$"
    for data in rules.compile_pattern(block).finditer(text):
        for match in rules.compile_pattern(entry).finditer(text, *data.span(2)):
            if not rules.is_filler(match[1]):
                yield *match.span(1), "kubernetes-secret"


_COOKIES = (
    r"(?i)cookie(?:\\*[\"']?\s{0,4}[:,]\s{0,4}|(?<=--cookie)[ =])\\*[\"']?([^\n\"'\\]{16,4000})"
)
_LONGEST_TABLE = 1000


def _cookies(text: str, places: Sequence[int]) -> Iterator[Span]:
    """Yield random values in a Cookie header, whatever their names."""
    for header in _matches(_COOKIES, text, places):
        pairs = rules.compile_pattern(r"[\w.-]{1,64}=([^\s;,]{16,})")
        for pair in pairs.finditer(text, *header.span(1)):
            if rules.is_random(pair[1], 16) and not rules.is_filler(pair[1]):
                yield *pair.span(1), "cookie"


def _tables(text: str) -> Iterator[Span]:
    """Yield the cells of a Markdown table in a column named password, token …"""
    end = 0
    for rule in rules.compile_pattern(r"\n[ \t|:-]{3,400}(?=\n)").finditer(text):
        if rule.start() < end or "|" not in rule[0]:
            continue
        heads = text[text.rfind("\n", 0, rule.start()) + 1 : rule.start()].split("|")
        kinds = [rules.classify_name(head.strip(" \t*`")) for head in heads]
        end = rule.end()
        for _ in range(_LONGEST_TABLE if any(kinds) else 0):
            start, end = end + 1, (text.find("\n", end + 1) + 1 or len(text) + 1) - 1
            if "|" not in text[start:end]:
                break
            for kind, cell in zip(kinds, text[start:end].split("|"), strict=False):
                value = cell.strip(" \t`*\"'\r")
                if kind and rules.is_secret(kind, value, quoted=True, loose=True):
                    at = start + cell.index(value)
                    yield at, at + len(value), SECRET_TYPES[kind]
                start += len(cell) + 1
