"""Match a prompt with earlier sentences, and memories with the instruction files.

Shared words alone are no match: thirteen of thirteen such matches were false. Two texts match if
both have the same name (path, symbol, error, ticket, quoted phrase), or if they share two words
that are rare in this project.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import combinations

from ..fast_typing import NamedTuple
from ..text import terms

MOST_WORDS = 24
"""The most words of a prompt that are looked up; a longer prompt is mostly pasted text."""

SHORTEST_SENTENCE, LONGEST_SENTENCE = 20, 320
RARE_SHARE, RARE_IN_FEW, RARE_AT_MOST = 0.01, 3, 1_000
"""A word is rare if at most 1 % of all passages hold it, or at most 3; in a large store, at most a
thousand: all of them would be scored."""

LEAST_RARE = 2
"""The rare words that two texts must share to match."""


class PromptWords(NamedTuple):
    """The searchable parts of a prompt: exact names, and the stems of its content words."""

    names: tuple[str, ...]
    stems: tuple[str, ...]

    @property
    def is_empty(self) -> bool:
        return not self.names and len(self.stems) < LEAST_RARE


class Passage(NamedTuple):
    """A sentence that matches the prompt, with the reason."""

    text: str
    why: str
    score: float


def words_of(prompt: str) -> PromptWords:
    """Return the names and content words of a prompt; “ok” and “go on” have none."""
    names = tuple(dict.fromkeys(_names(prompt)))[:MOST_WORDS]
    return PromptWords(names, tuple(content_stems(prompt)[:MOST_WORDS]))


_WORDS = """
actually add again already also always another any anything better bit but call can change
check clean code come continue could currently does doing done else even everything explain
feel file files find fine first fix get give going good got great have help here idea implement
instead issue just keep know last let lets like little look looks lot make maybe mean more much
must need needs never new next nice nothing now okay once only other please point probably
problem properly put question ready really run same see seems should
show something sorry start still stop sure take task tell than thank thanks thing things
think this though time today together true try trying understand until update use used using very
wait want way well what when where which while why will without work working works would write wrong
yes yet
"""
_FILLER_WORDS = frozenset(_WORDS.split())
"""Words that occur in requests of any kind. In a small store they are rare, but mean nothing."""


def _names(prompt: str) -> Iterable[str]:
    for found in re.finditer(_NAME, prompt):
        text = (found["quoted"] or found["code"] or found[0]).strip("\"'`“”.,:;()[]")
        if found["quoted"] and len(text.split()) < 2:
            continue
        if 3 <= len(text) <= 120 and not text.isdigit():
            yield text.casefold()


_NAME = r"""(?x)`(?P<code>[^`\n]{3,120})`
        |["“](?P<quoted>[^"“”\n]{8,120})["”]
        |(?<![\w/])(?:[\w.@+-]+/)+[\w.@+-]+          # a path
        |\b[\w-]+\.(?:py|go|ts|tsx|js|jsx|mjs|rs|java|kt|rb|c|cc|cpp|h|hpp|cs|swift|sh|sql|md|ya?ml
           |toml|json|css|html|vue|svelte|tf|proto|gradle|lock)\b
        |\b[a-z]+(?:[A-Z][a-z0-9]+)+\b               # camelCase
        |\b(?:[A-Z][a-z0-9]+){2,}\b                  # PascalCase
        |\b[A-Za-z0-9]+(?:_[A-Za-z0-9]+)+\b          # snake_case
        |(?<!\w)--[a-z][a-z-]{2,}\b                  # a flag
        |\b[A-Z]{2,6}-?\d{2,6}\b                     # a ticket, an error code
        |\bE[A-Z]{4,}\b"""


def is_rare(holding: int, passages: int) -> bool:
    """Check whether a word is rare.

    holding: the number of passages with the word
    """
    return 0 < holding <= max(RARE_IN_FEW, min(int(passages * RARE_SHARE), RARE_AT_MOST))


def best_passage(
    text: str, words: PromptWords, holding: Mapping[str, int], passages: int
) -> Passage | None:
    """Return the sentence of a text that matches the prompt best, or None."""
    found = [
        passage
        for sentence in sentences(text)
        if (passage := match_sentence(sentence, words, holding, passages))
    ]
    return max(found, key=lambda one: (one.score, -len(one.text), one.text)) if found else None


def match_sentence(
    sentence: str, words: PromptWords, holding: Mapping[str, int], passages: int
) -> Passage | None:
    """Return the sentence as a passage when it shares a name or two rare words."""
    small = sentence.casefold()
    stems = set(terms.query_stems(sentence))
    shared = [one for one in words.stems if one in stems]
    rare = [one for one in shared if is_rare(holding.get(one, 0), passages)]
    named = [
        name
        for name in words.names
        if _contains_name(small, name) and _is_specific(name, holding, passages)
    ]
    if named:
        return Passage(sentence, f"names {named[0]}", 10.0 * len(named) + len(shared))
    if len(rare) >= LEAST_RARE:
        return Passage(sentence, f"shares the rare words {', '.join(rare[:3])}", float(len(shared)))
    return None


class StemNeeds(NamedTuple):
    """The stems that an entry must hold so that `match_sentence` can find anything in it: two rare
    words of the prompt, or all words of a name. Most entries with a rare word hold no other, and
    need not be loaded."""

    rare: frozenset[str]
    named: tuple[frozenset[str], ...]

    def are_met(self, stems: str) -> bool:
        """Check the stems of an entry."""
        held = frozenset(stems.split())
        return len(self.rare & held) >= LEAST_RARE or any(name <= held for name in self.named)

    def as_groups(self) -> list[list[str]]:
        """Return groups of stems of which an entry must hold one whole."""
        pairs = map(sorted, combinations(sorted(self.rare), LEAST_RARE))
        return [*pairs, *map(sorted, self.named)]


def find_needs(words: PromptWords, holding: Mapping[str, int], passages: int) -> StemNeeds:
    """Return the stems that an entry must have to match a prompt."""
    rare = [one for one in words.stems if is_rare(holding.get(one, 0), passages)]
    named = [name for name in words.names if _is_specific(name, holding, passages)]
    # A name in a text is indexed by each of its words.
    split = [re.findall(r"[^\W_]+", name) if name.isascii() else [] for name in named]
    stems = [frozenset([terms.stem(one[: terms.LONGEST_TERM]) for one in name]) for name in split]
    return StemNeeds(frozenset(rare), tuple(stems))


STATEMENT_SHARE = 0.25
"""The share of a statement's words that a prompt must hold. At 0.2, lines were added to up to 18 %
of the prompts of another project, and no more rules came in time."""


def shared_by_statements(
    words: PromptWords, statements: Mapping[str, frozenset[str]]
) -> dict[str, Passage]:
    """Return by id the user's statements that match the prompt: they share two words with it that
    few other statements hold, and these are a quarter of their own words.

    statements: the stems, by id, of all statements that share a word with the prompt
    """
    holding: dict[str, int] = {}
    for stems in statements.values():
        for one in stems:
            holding[one] = holding.get(one, 0) + 1
    found = {}
    for id, stems in statements.items():
        shared = [one for one in words.stems if one in stems and holding[one] <= RARE_IN_FEW]
        if len(shared) >= LEAST_RARE and len(shared) >= STATEMENT_SHARE * len(stems):
            why = f"shares {', '.join(shared[:3])}"
            found[id] = Passage("", why, 5.0 * len(shared) / len(stems))
    return found


def content_stems(text: str) -> list[str]:
    """Return the stems of a text's content words, each once."""
    words = [one for one in terms.query_terms(text) if len(one) > 2 and one not in _FILLER_WORDS]
    return list(dict.fromkeys(map(terms.stem, words)))


def _is_specific(name: str, holding: Mapping[str, int], passages: int) -> bool:
    """Check whether a word of a name is rare: `README.md` and `main` occur everywhere."""
    return any(is_rare(holding.get(part, 0), passages) for part in terms.query_stems(name))


def _contains_name(text: str, name: str) -> bool:
    """Check whether a text contains a name as whole words."""
    at = text.find(name)
    while at >= 0:
        before, after = text[at - 1 : at], text[at + len(name) : at + len(name) + 1]
        if not (before.isalnum() or before == "_") and not (after.isalnum() or after == "_"):
            return True
        at = text.find(name, at + 1)
    return False


def sentences(text: str) -> list[str]:
    """Return the sentences of a text that make sense alone; questions and lead-ins of lists do
    not."""
    found = []
    for line in text.splitlines():
        for part in re.split(_ENDS, line.strip().lstrip("-*•> ")):
            part = " ".join(part.split())
            if SHORTEST_SENTENCE <= len(part) <= LONGEST_SENTENCE and part[-1] not in "?:？：":
                found.append(part)
    return found


_ENDS = r"(?<=[.!?。！？])\s+(?=[\w`\"'(])"


def is_alike(one: str, others: Sequence[str]) -> bool:
    """Check whether a text shares 70 % of the words of the shorter one with any of the others.

    This also drops a long passage that repeats a short line; `selection._are_similar`, for the
    lines of a start block, asks for nearly the same text, because two rules may differ in a word.
    """
    words = set(terms.query_terms(one))
    for other in others:
        other_words = set(terms.query_terms(other))
        if words and len(words & other_words) >= 0.7 * min(len(words), len(other_words) or 1):
            return True
    return False


# ---------------------------------------------------------------- instruction files

SAME_SHARE = 0.85
"""The share of a statement's words with which a paragraph says the same."""


class Instructions:
    """The text of the instruction files, by name. Read at the first use: most hooks need none."""

    def __init__(self, read: Callable[[], Sequence[tuple[str, str]]] = tuple) -> None:
        self._read = read

    @cached_property
    def _files(self) -> Sequence[tuple[str, str]]:
        return self._read()

    @cached_property
    def paragraphs(self) -> list[tuple[str, str, frozenset[str]]]:
        """Return the paragraphs and list items of the files: the file's name, the text and its
        stems."""
        return [
            (name, _normalise(part), frozenset(terms.query_stems(part)))
            for name, text in self._files
            for part in re.split(_BREAKS, text)
            if part.strip()
        ]

    def find_statement(self, statement: str) -> str:
        """Return the file that says the same as a statement; empty when none does."""
        if not self._files:
            return ""
        # "Always" or "please" in front does not change a statement.
        statement = re.sub(_LEAD, "", statement)
        words = frozenset(terms.query_stems(statement))
        for name, text, stems in self.paragraphs if words else ():
            if len(words) == 1:
                if _normalise(statement) in text:
                    return name
            elif len(words & stems) >= SAME_SHARE * len(words):
                return name
        return ""

    def find_command(self, form: str) -> str:
        """Return the file that names a command in this form; empty when none does."""
        pattern = re.compile(rf"(?<![\w./:-]){re.escape(_normalise(form))}(?![\w:/-])")
        for name, text in self._files:
            if pattern.search(_normalise(text)):
                return name
        return ""


_LEAD = r"(?i)^(?:(?:please|always|from now on|going forward|as a rule|again)\b[,:]?\s*)+"
NOTHING = Instructions()
_BREAKS = r"\n\s*\n|\n(?=\s*(?:[-*+]|\d+[.)]|#{1,6})\s)"
"""Match the start of a paragraph: an empty line, a list item, a heading."""


def _normalise(text: str) -> str:
    return " ".join(text.replace("`", " ").casefold().split())
