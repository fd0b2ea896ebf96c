"""One glance at a text: the stems that it is found by, and the secrets that its words may announce.

Both need the words of the text, and words repeat: each is judged once and remembered, so a glance
costs one look into a table for each word. The table starts empty, and a hook starts cold: a glance
is worth its cost in a long text, once a lot of text has been seen. It does not know what a secret
looks like (`secrets.search`), nor where in the text the words stand.
"""

from __future__ import annotations

import re
from _thread import _local
from collections.abc import Iterable
from functools import cache

from ..fast_typing import NamedTuple
from ..text import terms
from . import commands, formats, rules

NAME_ENDS = (
    *("pass", "pwd", "secret", "token", "key", "cred"),
    *("auth", "salt", "_pat", "login", "kennwort"),
)
"""What a name ends in that announces a secret, but for `NAME_REST`."""

NAME_REST = (
    r"(?:w(?:or)?[dt]|phrase|code|ential|e(?= ))?s?"
    r"(?:[_-]?\d{1,2}|(?:[_-][a-z0-9]{1,16}){0,2})(?![a-z0-9])"
)
UNSEEN = "\u00ad\u200b\u200c\u200d\u2060\ufeff"
"""Characters that nobody sees, between those of a secret."""

BLOCK_HINTS = ("-----begin ", "private-lines: ")
MANIFEST_HINT = "kind:"
COOKIE_HINT = "cookie"

HINTS = frozenset(
    (
        *(hint for _, hint, _ in formats.CONTEXTS),
        *NAME_ENDS,
        *BLOCK_HINTS,
        MANIFEST_HINT,
        COOKIE_HINT,
    )
)
"""Whatever any rule looks at begins with one of these texts, but for tokens, tables and command
lines: those are found by the names of their programs, which are whole words."""

ISSUED, BEHIND_SIGN = "a token's prefix", "what may follow a sign in a token"
HIDDEN = "an unseen character"
"""Clues that are no hints."""

_LONG, _WARM = 80, 50_000
"""Characters of a text, and of all texts so far, from which on a glance is taken."""

_MOST_HELD = 1_000_000
"""Characters of the texts whose glances are remembered: of a message, not of a transcript."""

_MOST_WORDS, _LONGEST_WORD = 100_000, 80
_IN_WORDS = r"(?a)[\w.-]+"
_CLUES = (*sorted(HINTS.union(commands.COMMANDS)), ISSUED, BEHIND_SIGN, HIDDEN)
_MARK = "\x7f"
SIGNS = tuple(hint for hint in HINTS if not any(map(str.isalnum, hint)))
"""Hints that stand between words, where no glance sees them."""

_NOT_ADDRESSES = tuple(hint for hint in SIGNS if hint != "://")

_BEFORE_NAMES = ("", "api-", "sonar-", "secret-")
"""A name may go on before its last word; these make the most of what that word says."""


Places = dict[str, list[int]]
"""Each hint that stands in a text, and where, in order."""


class Glance(NamedTuple):
    """The stems of a text, with a space between them, and the clues among its words."""

    stems: str
    clues: frozenset[str]


_left = _WARM
_recent: dict[int, tuple[str, Glance]] = {}
"""By the identity of the text: hashing a long one takes a tenth of a glance."""

_held = 0


def glance(text: str) -> Glance | None:
    """What the words of a text say; None when looking closely costs less."""
    global _left, _held
    if len(text) < _LONG:
        return None
    if _left > 0:
        _left -= len(text)
        return None
    known = _recent.get(id(text))
    if known and known[0] is text:
        return known[1]
    seen = look(text)
    _held += len(text)
    if _held > _MOST_HELD:
        _recent.clear()
        _held = len(text)
    if _held <= _MOST_HELD:
        _recent[id(text)] = text, seen
    return seen


def look(text: str) -> Glance:
    """What the words of a text say."""
    marked = "".join(map(_MARKED.__getitem__, terms.words_of(text)))
    clues = _clues_of_unknown() if _unknown.words else _NO_CLUES
    if _MARK not in marked:
        return Glance(marked[1:], clues)
    before, *behind = marked.split(_MARK)
    stems = before + "".join([part[1:] for part in behind])
    return Glance(stems[1:], clues.union([_CLUES[ord(mark)] for mark in {x[0] for x in behind}]))


def tokens_among(shadow: str, clues: frozenset[str]) -> bool:
    """Whether there may be tokens in a text with these clues, or with a sign inside, where no
    glance sees them."""
    return (
        ISSUED in clues
        or (BEHIND_SIGN in clues and (":A" in shadow or "1//0" in shadow))
        or ("~" in shadow and ("Q~" in shadow or "a256~" in shadow))
        or ("$" in shadow and ("tion$" in shadow or "box$" in shadow))
    )


def hints_of(seen: Glance | None, shadow: str) -> Iterable[str]:
    """The hints that are worth looking for in a text, after a glance at it or without one."""
    if seen is None:
        named = commands.programs()
        words = {word.decode() for word in terms.words_of(shadow.lower())}
        return HINTS.union([named[word] for word in words & named.keys()])
    # A password in an address stands before an `@`, which is looked for in no time.
    return seen.clues.union(SIGNS if "@" in shadow else _NOT_ADDRESSES)


def places_of(lower: str, hints: Iterable[str]) -> Places:
    """Where the hints stand in a text, given in lower case."""
    return {hint: all_of(lower, hint) for hint in hints if hint in lower}


def all_of(haystack: str, needle: str) -> list[int]:
    """Every place of one text in another, also where they overlap."""
    found = []
    at = haystack.find(needle)
    while at >= 0:
        found.append(at)
        at = haystack.find(needle, at + 1)
    return found


class _Unknown(_local):
    """The words of a text that no other text had, with their stems; each thread has its own."""

    def __init__(self) -> None:
        self.words: dict[bytes, str] = {}


class _Marked(dict[bytes, str]):
    """The stems of a word, with a space before each, and before them a mark for each clue."""

    def __missing__(self, word: bytes) -> str:
        # It is kept when its clues are known: they are looked for in all new words at once.
        found = _unknown.words[word] = terms.spaced_stems_of_word(word)
        return found


_unknown = _Unknown()
_MARKED = _Marked()
_NO_CLUES: frozenset[str] = frozenset()


def _clues_of_unknown() -> frozenset[str]:
    """The clues among the unknown words, which are known now."""
    unknown, _unknown.words = _unknown.words, {}
    words = [word.decode("utf-8", "replace") for word in unknown]
    telling = frozenset(_telling(words))
    found: set[str] = set()
    if len(_MARKED) + len(words) > _MOST_WORDS:
        _MARKED.clear()
    for word, (key, stems) in zip(words, unknown.items(), strict=True):
        if word in telling and (clues := clues_of(word)):
            found |= clues
            stems = "".join([_MARK + chr(_CLUES.index(clue)) for clue in clues]) + stems
        if len(key) <= _LONGEST_WORD:
            _MARKED[key] = stems
    return frozenset(found)


def _telling(words: list[str]) -> list[str]:
    """The words that may hold a clue. Few do, so all are searched at once before each."""
    whole = "\n".join(words)
    lower = whole.lower()
    parts = [part for part in _parts() if part in lower]
    parts += [sign for sign in UNSEEN if sign in lower] if not lower.isascii() else []
    long = [word for word in words if len(word) >= _SHORTEST_TOKEN]
    # The letter of an escaped line end does not belong to the token.
    begun = "\n".join([*long, *[word[1:] for word in long if word[0] in "nrt"]])
    tokens = [prefix for prefix, _, _ in formats.find_prefixes(begun)] if long else []
    tokens += [part for _, part, _, _ in formats.SHAPED if part in begun]
    found = [word for word in words if any(map(word.lower().__contains__, parts))] if parts else []
    programs = commands.programs().keys()
    if not programs.isdisjoint(lower.split("\n")):
        found += [word for word in words if word.lower() in programs]
    if not whole.isascii():
        parts_of = rules.compile_pattern(r"[\0-\x7f]+").findall
        found += [word for word in words if not programs.isdisjoint(parts_of(word.lower()))]
    cut = [prefix for prefix in _cut_short() if prefix in whole]
    found += [word for word in words if any(map(word.__contains__, cut))] if cut else []
    for word in long:
        if word[0] in _BEHIND_SIGN or any(map(word.__contains__, tokens)):
            found.append(word)
        elif not word.isascii() and rules.contains(_LONG_PART, word):
            found.append(word)  # a token may stand inside of it
    return found


@cache
def _parts() -> tuple[str, ...]:
    """One of these is in every word with a clue, but for tokens."""
    return (*NAME_ENDS, *(part for part, _, _, _ in _cores()))


def clues_of(word: str) -> set[str]:
    """Which hints a word may be part of, and whether it may be a token."""
    if word.isascii():
        return _clues_of_ascii(word)
    found: set[str] = set()
    if any(character in word for character in UNSEEN):
        found.add(HIDDEN)
    for part in rules.compile_pattern(r"[\0-\x7f]+").findall(word):
        found |= _clues_of_ascii(part)
    return found


def _clues_of_ascii(word: str) -> set[str]:
    lower = word.lower()
    found = {
        hint
        for core, begins, ends, hint in _cores()
        if core in lower
        and (not begins or lower.startswith(core))
        and (not ends or lower.endswith(core))
    }
    found.update(hint for hint in NAME_ENDS if hint in lower and _announces(word, lower, hint))
    if lower in commands.programs():
        found.add(commands.programs()[lower])
    if len(word) >= _SHORTEST_TOKEN or any(map(word.__contains__, _cut_short())):
        found.update((ISSUED,) if _may_be_token(word) else ())
    if len(word) > 30 and word[0] in _BEHIND_SIGN:
        found.add(BEHIND_SIGN)
    return found


@cache
def _cores() -> tuple[tuple[str, bool, bool, str], ...]:
    """The longest part of each hint that stands in one word, and whether it begins or ends it."""
    found = []
    for hint in HINTS.difference(NAME_ENDS, SIGNS):
        core = max(re.finditer(_IN_WORDS, hint), key=lambda part: part.end() - part.start())
        found.append((core[0], core.start() > 0, core.end() < len(hint), hint))
    return tuple(found)


def _announces(word: str, lower: str, hint: str) -> bool:
    """Whether a name that goes on to here, perhaps of several words, announces a secret."""
    rest = rules.compile_pattern(NAME_REST)
    lower += " "  # as if it stood in a sentence
    at = lower.find(hint)
    while 0 <= at < rules.LONGEST_NAME:
        end = rest.match(lower, at + len(hint))
        name = word[: end.end()] if end else ""
        if name and any(rules.classify_name(before + name) for before in _BEFORE_NAMES):
            return True
        at = lower.find(hint, at + 1)
    return False


_SHORTEST_TOKEN = 16
_LONG_PART = r"[\0-\x7f]{16}"
_BEHIND_SIGN = "0A"
"""What stands behind the sign in Google's and Telegram's tokens."""


def _may_be_token(word: str) -> bool:
    """Whether a token may begin in a word, or be one."""
    # The letter of an escaped line end does not belong to the token.
    for given in (word, word[1:]) if word[0] in "nrt" else (word,):
        for prefix, _, body in formats.find_prefixes(given):
            if _leaves_words(body) or rules.bounded_pattern(prefix, body).search(given):
                return True
        for _, part, shape, pattern in formats.SHAPED:
            if part in given and (_leaves_words(pattern) or rules.contains(shape, given)):
                return True
    return False


@cache
def _cut_short() -> tuple[str, ...]:
    """What tokens begin with that may hold such signs: the word may end right behind it."""
    return tuple(prefix for prefix, _, body in formats.token_prefixes() if _leaves_words(body))


@cache
def _leaves_words(pattern: str) -> bool:
    """Whether a token of this pattern may hold signs that stand between words."""
    signs = re.sub(r"\(\?<?[:=!]", "", pattern)
    return not frozenset("+/%=!$~:").isdisjoint(signs)
