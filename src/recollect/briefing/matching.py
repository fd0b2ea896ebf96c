"""Match a prompt with earlier sentences, and memories with the instruction files.

Shared words alone are no match: thirteen of thirteen such matches were false. Two texts match when
the same name (path, symbol, error, ticket, quoted phrase) stands in both, or when one sentence has
two words that are rare in this project.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from ..fast_typing import NamedTuple
from ..text import terms

MOST_WORDS = 24
"""So many words of a prompt are looked up; a longer prompt is pasted text for the most part."""

SHORTEST_SENTENCE, LONGEST_SENTENCE = 20, 320
RARE_SHARE, RARE_IN_FEW, RARE_AT_MOST = 0.01, 3, 1_000
"""A word is rare when it stands in at most 1 % of all passages, or in at most 3; in a large store,
in at most a thousand: more of them tell nothing, and a prompt would score them all."""

LEAST_RARE = 2


class PromptWords(NamedTuple):
    """What can be looked up of a prompt: exact names, and the stems of its content words."""

    names: tuple[str, ...]
    stems: tuple[str, ...]

    @property
    def is_empty(self) -> bool:
        return not self.names and len(self.stems) < LEAST_RARE


class Passage(NamedTuple):
    """A sentence that contains a name from the prompt."""

    text: str
    why: str
    score: float


def words_of(prompt: str) -> PromptWords:
    """Return the names in a prompt; “ok” and “go on” have none."""
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
_MANNER = frozenset(_WORDS.split())
"""Words by which people ask for anything. In a small store they are rare, and say nothing."""


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
    """Check whether a word is rare, by the number of passages with it."""
    return 0 < holding <= max(RARE_IN_FEW, min(int(passages * RARE_SHARE), RARE_AT_MOST))


def best_passage(
    text: str, words: PromptWords, holding: Mapping[str, int], passages: int
) -> Passage | None:
    """Return the sentence of a text that names what the prompt names, or None."""
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
    named = [name for name in words.names if _stands_in(name, small)]
    held = set(terms.query_stems(sentence))
    shared = [one for one in words.stems if one in held]
    rare = [one for one in shared if is_rare(holding.get(one, 0), passages)]
    telling = [name for name in named if _is_telling(name, holding, passages)]
    if telling:
        return Passage(sentence, f"names {telling[0]}", 10.0 * len(telling) + len(shared))
    if len(rare) >= LEAST_RARE:
        return Passage(sentence, f"shares the rare words {', '.join(rare[:3])}", float(len(shared)))
    return None


STATEMENT_SHARE = 0.25
"""At 0.2 it spoke on up to 18 % of the prompts of another project, for as many rules in time."""


def shared_by_statements(
    words: PromptWords, statements: Mapping[str, frozenset[str]]
) -> dict[str, Passage]:
    """Return the statements of the user that share two words with the prompt which few other
    statements hold, and a quarter of their own words.

    statements: stems by id, of all statements that share a word with the prompt
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
    told = [term for term in terms.query_terms(text) if len(term) > 2 and term not in _MANNER]
    return list(dict.fromkeys(map(terms.stem, told)))


def _is_telling(name: str, holding: Mapping[str, int], passages: int) -> bool:
    """Check whether any word of a name is rare: `README.md` and `main` are names of everything."""
    return any(is_rare(holding.get(part, 0), passages) for part in terms.query_stems(name))


def _stands_in(name: str, text: str) -> bool:
    at = text.find(name)
    while at >= 0:
        before, after = text[at - 1 : at], text[at + len(name) : at + len(name) + 1]
        if not (before.isalnum() or before == "_") and not (after.isalnum() or after == "_"):
            return True
        at = text.find(name, at + 1)
    return False


def sentences(text: str) -> list[str]:
    """Return the sentences of a text that can be read alone. A question or the announcement of a
    list says nothing without what came after it."""
    found = []
    for line in text.splitlines():
        for part in re.split(_ENDS, line.strip().lstrip("-*•> ")):
            part = " ".join(part.split())
            if SHORTEST_SENTENCE <= len(part) <= LONGEST_SENTENCE and part[-1] not in "?:？：":
                found.append(part)
    return found


_ENDS = r"(?<=[.!?。！？])\s+(?=[\w`\"'(])"


def is_alike(one: str, others: Sequence[str]) -> bool:
    """Check whether a text says nearly the same as one of the others."""
    words = set(terms.query_terms(one))
    for other in others:
        held = set(terms.query_terms(other))
        if words and len(words & held) >= 0.7 * min(len(words), len(held) or 1):
            return True
    return False


# ---------------------------------------------------------------- said already

SAID_SHARE = 0.85
"""The share of a statement's words with which a paragraph says the same."""

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
        # Who says "always" or "please" in front says the same.
        statement = re.sub(_LEAD, "", statement)
        wanted = frozenset(terms.query_stems(statement))
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

    def parts(self) -> list[tuple[str, str, frozenset[str]]]:
        """Return each statement of the files: the file's name, the text and its stems."""
        return self._split() if self._files else []

    def _split(self) -> list[tuple[str, str, frozenset[str]]]:
        if self._paragraphs is None:
            self._paragraphs = [
                (name, _flat(part), frozenset(terms.query_stems(part)))
                for name, text in self._files
                for part in re.split(_PARTS, text)
                if part.strip()
            ]
        return self._paragraphs


_LEAD = r"(?i)^(?:(?:please|always|from now on|going forward|as a rule|again)\b[,:]?\s*)+"
NOTHING = Instructions()
_PARTS = r"\n\s*\n|\n(?=\s*(?:[-*+]|\d+[.)]|#{1,6})\s)"
"""Match where a new statement begins: an empty line, a list item, a heading."""


def _flat(text: str) -> str:
    return " ".join(text.replace("`", " ").casefold().split())
