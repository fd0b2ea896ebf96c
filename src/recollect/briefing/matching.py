"""Match a prompt with earlier sentences, memories with the instruction files, and a shell command
with the user's rules.

Shared words alone are no match: thirteen of thirteen such matches were false. Two texts match when
the same name (path, symbol, error, ticket, quoted phrase) stands in both, or when one sentence has
two words that are rare in this project.

A rule that forbids a command, says how it is run or what comes before it is shown before it runs.
A rule that only mentions a program is not: it would be shown before every call of it; nor is one
that asks for exactly the form that is run. The check runs before every command and mostly finds
nothing, so the watched programs are one string, and substring searches come before parsing.
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


# ---------------------------------------------------------------- rules about commands


LONGEST_RULE = 400


class NamedCommand(NamedTuple):
    """A command that a rule speaks of: the words it begins with, and the flag that satisfies the
    rule. `is_whole` when all words were named as one, in code marks."""

    words: tuple[str, ...]
    flag: str = ""
    is_whole: bool = False
    is_banned: bool = False


def named_commands(text: str) -> list[NamedCommand]:
    """Return the commands that a rule forbids, says how to run, or names as the moment before which
    something is done."""
    text = text[:LONGEST_RULE].replace("’", "'").casefold()
    found = []
    for ban in re.finditer(_FORBIDDEN, text):
        words = tuple(word.strip(".,;:") for word in ban["what"].strip("`").split())
        found.append(NamedCommand(words, "", ban["what"].startswith("`"), is_banned=True))
    for step in re.finditer(_GIT_STEP, text):
        verb = next(filter(None, (step["when"], step["how"], step["order"], step["about"])))
        found.append(NamedCommand(("git", verb), step["flag"] or "", is_whole=True))
    for span in re.finditer(_SPOKEN_OF, text):
        words = tuple((span["code"] or span["before"]).split())
        if len(words) > 1 or span["moment"]:
            found.append(NamedCommand(words, is_whole=True))
    return [one for one in found if one.words]


def named_programs(text: str) -> list[str]:
    """Return the words by which a shell line that a rule speaks of is recognised: programs, the
    subcommands of git, packages."""
    keys = (one.words[one.words[0] == "git" and len(one.words) > 1] for one in named_commands(text))
    return [word for word in dict.fromkeys(keys) if re.fullmatch(_PROGRAM, word)]


def concerns(text: str, words: Sequence[str]) -> bool:
    """Check whether a rule is worth saying before a command."""
    have = [word.casefold() for word in words]
    if have[:1] == ["git"] and have[1:2] in (["-c"], ["--no-pager"]):
        have = ["git", *have[3 if have[1] == "-c" else 2 :]]
    named = named_commands(text)
    banned = [one.words for one in named if one.is_banned]
    asked = (tuple(one.split()) for one in re.findall(_ASKED_FOR, text.casefold()))
    if any(one not in banned and tuple(have[: len(one)]) == one for one in asked if len(one) > 1):
        return False
    return any(_is_run(one, have) for one in named)


def _is_run(named: NamedCommand, have: Sequence[str]) -> bool:
    want = list(named.words)
    if named.is_banned and _INSTALLS.intersection(have[1:4]) and want[0] in have[2:]:
        return True
    if named.is_whole:
        return have[: len(want)] == want and not (named.flag and _has_flag(named.flag, have))
    # Of free text, a word behind the program is a subcommand or the next word of the sentence.
    if have[:1] != want[:1]:
        return False
    if len(want) == 1 or have[1:2] == want[1:2]:
        return True
    return want[1] in _PROSE and want[0] not in _VERBS


def _has_flag(flag: str, have: Sequence[str]) -> bool:
    """Check for a flag, in full or by its first letter: `-sm` has --signoff."""
    short = flag[2:3] if flag.startswith("--") else flag[1:2]
    return any(
        word.split("=")[0] == flag or (word[:1] == "-" != word[1:2] and short in word[1:])
        for word in have[1:]
    )


_INSTALLS = frozenset(("install", "add", "i"))
_VERBS = frozenset(
    ("go", "make", "find", "test", "sort", "kill", "watch", "read", "cut", "join", "split", "time",
     "touch", "wait", "set", "type", "open", "start", "patch", "install", "diff", "link", "look")
)  # fmt: skip
"""Programs that are verbs too: “don't make it bigger”."""

_PROSE = frozenset(
    ("in", "here", "for", "anymore", "any", "to", "on", "with", "without", "at", "use", "but", "or",
     "and", "because", "directly", "again", "ever", "unless", "when", "-", "–", "—", "as", "it")
)  # fmt: skip
"""Words that cannot be a subcommand: “npm in this repository”."""


# ---------------------------------------------------------------- before every command

LONGEST_LINE = 20_000
_BREAKS = str.maketrans("/;&|()'\"`\n\t=", " " * 12)


def write_watched(watched: Mapping[str, Sequence[str]]) -> str:
    """Return programs with the ids of the rules that name them as one text, a line each."""
    return "".join(f"\n{name} {' '.join(ids)}" for name, ids in sorted(watched.items()))


def find_watched(watched: str, line: str) -> list[str]:
    """Return the watched programs that a shell line names."""
    words = dict.fromkeys(line[:LONGEST_LINE].casefold().translate(_BREAKS).split())
    return [word for word in words if f"\n{word} " in watched]


def rules_on(watched: str, line: str) -> list[str]:
    """Return the ids of the rules that name a program of a shell line."""
    found: dict[str, None] = {}
    for word in find_watched(watched, line):
        row = watched.partition(f"\n{word} ")[2].partition("\n")[0]
        found.update(dict.fromkeys(row.split()))
    return list(found)


_FORBIDDEN = r"""(?x)
        (?:\b(?:never|don'?t(?:\s+ever)?|do\s+not|must\s+not|mustn't|not|no|avoid|without
        |instead\s+of|rather\s+than|stop)|\bprefer\s+\S+\s+(?:over|to))
        \s+(?:ever\s+)?(?:us(?:e|ing)|run(?:ning)?|call(?:ing)?
        |execut(?:e|ing)|do(?:ing)?|with)?\s*(?:(?:the|an?|any|plain|bare)\s+)?
        (?P<what>`[^`\n]+`|[\w./:-]+(?:\s+[\w./:-]+)?)"""
_GIT_STEP = r"""(?x)
        \b(?:before|when(?:ever)?|(?:each|every)\s+time)\s+(?:(?:you|we|i)\s+)?
        (?:(?:every|each|any|an?|the)\s+)?(?:git\s+)?(?P<when>commit|push)(?:t?ing|es|s)?\b
        |\b(?P<how>commit|push)\s+with\s+`?(?P<flag>--?[a-z][\w-]*)
        |(?:\bnever|\bdon'?t|\bdo\s+not)\s+(?P<order>commit|push)\s+(?:\w+\s+){0,2}?
        (?:to|into|on|directly|without|unless|until|before)\b
        |\b(?P<about>commit)\s+messages?\b"""
_SPOKEN_OF = r"""(?x)
        (?P<moment>\bbefore\s+(?:(?:running|calling|you\s+run|every|each)\s+)?)?
        (?<!use\ )(?<!run\ )(?<!with\ )(?<!using\ )(?<!prefer\ )(?<!call\ )`(?P<code>[^`\n]{2,120})`
        |\bbefore\s+(?:running\s+|you\s+run\s+)?(?P<before>[\w./:-]+\s+[\w./:-]*[\w/])"""
_ASKED_FOR = r"\b(?:use|run|with|using|prefer|call) `([^`\n]{2,120})`"
_PROGRAM = r"(?a)[\w./:+-]{2,40}"
