"""Read a question: what it is about, who is asked for, whether it asks for a rule; and read in
which form a message would answer it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from math import log

from ..actions import command_words
from ..fast_typing import Any, NamedTuple
from ..text import globs, messages
from ..text.terms import pick_rarest, query_terms, split_terms, stem, stem_text
from ..types.records import ROLES, Message
from . import outdated

_ASKING = """
    many much ago passed total currently recently often usually ever remind mentioned discussed
    recommend recommended recommendation recommendations suggest suggested suggestion suggestions
    wondering thinking tell know think thing things get got getting go going went last first far
"""
_INTERROGATIVES = """
    what which who whom whose when where why how is are was were do does did can could should would
"""
_SELF = frozenset({"i", "my", "me", "mine", "myself"})
_OTHER = frozenset({"you", "your"})


_FILTERS = (
    *("kinds", "layers", "sources", "statuses", "tags", "file", "session"),
    *("since", "until", "as_of"),
)

SEARCHED = ("active", "proposed", "hidden")
"""The statuses that are searched without a filter for others."""


class RecallQuestion(NamedTuple):
    """A query with its filters."""

    query: str
    limit: int
    budget: int = 0
    kinds: tuple[str, ...] = ()
    layers: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    statuses: tuple[str, ...] = SEARCHED
    tags: tuple[str, ...] = ()
    file: str = ""
    session: str = ""
    since: int = 0
    until: int = 0
    as_of: int = 0
    around: int = 0
    explain: bool = False
    answered: bool = False
    """Whether known commands answer it: what agents did and said, which they were read from, adds
    nothing."""
    seen: tuple[str, ...] | None = None
    """Owners whose records may be shown unasked: see `memory.steps_visible`."""
    without: frozenset[tuple[str, int]] = frozenset()
    """Records to leave out, by reference and number: the evaluation hides some."""

    @property
    def is_filtered(self) -> bool:
        """Check whether the question has a filter."""
        return any(getattr(self, name) != self._field_defaults[name] for name in _FILTERS)

    @property
    def loaded(self) -> int:
        """Return the number of candidates whose records are loaded: more cannot win."""
        return self.limit * 2 + 5


def build_filters(
    question: RecallQuestion, list_scopes: Callable[[], Sequence[str]]
) -> dict[str, Sequence[Any]]:
    """Return the filters of a question for the index; `list_scopes` lists the scopes in use."""
    filters: dict[str, Sequence[Any]] = {"status": question.statuses}
    if question.as_of:
        filters["status"] = (*SEARCHED, "superseded")
        filters["until"] = filters["as_of"] = (question.as_of,)
    if question.kinds:
        # The kind of a message's entry is its role.
        roles = ROLES if "message" in question.kinds else ()
        filters["kind"] = (*question.kinds, *roles)
    if question.layers:
        filters["layer"] = question.layers
    if question.seen is not None:
        filters["seen"] = question.seen
    if question.tags or question.file:
        # Only memories have tags and a scope.
        filters["source"] = ("memory",)
    elif question.sources:
        filters["source"] = question.sources
    if question.tags:
        filters["tag"] = question.tags
    if question.file:
        covers = globs.matches
        filters["scope"] = ["", *[one for one in list_scopes() if covers(one, question.file)]]
    if question.session:
        filters["owner"] = (question.session,)
    if question.since:
        filters["since"] = (question.since,)
    if question.until:
        filters["until"] = (min(question.until, question.as_of or question.until),)
    return filters


@cache
def _asking_words() -> frozenset[str]:
    return frozenset(_ASKING.split())


@lru_cache(maxsize=4)
def _split(question: str) -> tuple[str, ...]:
    """Return the terms of a question, cached: it is read in several ways."""
    return tuple(split_terms(question))


def subject_terms(question: str) -> list[str]:
    """Return the terms a question is about, without words that only ask if others are left."""
    asked = query_terms(question)
    return [term for term in asked if term not in _asking_words()] or asked


def term_weight(entries: int, holding: int, rarity: float) -> float:
    """Return the weight of a term: rare among the entries, and rare in the language (0 to 1)."""
    holding = min(max(holding, 0), entries)
    return rarity * log(1 + (entries - holding + 0.5) / (holding + 0.5))


COMMON_SHARE = 0.1
"""A term in more than this share of all entries is too common to look up."""

COMMON_FROM, COMMON_FROM_BY_WORDS = 20_000, 5_000
ENOUGH = 4_000
"""From `COMMON_FROM` entries on, the rarest terms are looked up until they promise `ENOUGH`
candidates. Common terms are the most expensive to look up; they only rank what was found."""

PLENTY = 250
"""If the others promise so many, the last term is not looked up where it alone holds more than
`ENOUGH`: in a store of a million it may hold a hundred thousand, and each is scored."""


def choose_stems(
    stems: Sequence[str], entries: int, holding: Mapping[str, int], by_meaning: bool
) -> list[str]:
    """Return the stems to look up: all in a small store, the rarest in a large one."""
    if entries < (COMMON_FROM if by_meaning else COMMON_FROM_BY_WORDS):
        return list(stems)
    chosen = pick_rarest(stems, holding, ENOUGH, most=entries * COMMON_SHARE)
    others = sum(map(holding.__getitem__, chosen[:-1]))
    if others >= PLENTY and holding[chosen[-1]] > ENOUGH:
        chosen.pop()
    return chosen


WEIGHTY, WEIGHTY_SAID = 30, 200
"""So many entries must hold the other stems for those without weight to be left out; the second
where there are messages, which support each other."""


def drop_weightless(
    stems: Sequence[str], entries: int, holding: Mapping[str, int], has_messages: bool
) -> Sequence[str]:
    """Return the stems to look up without those that more than half of all entries hold, if the
    others promise candidates: BM25 gives such a stem no weight, and all its entries are scored."""
    kept = [stem for stem in stems if 2 * holding[stem] <= entries]
    promised = sum([holding[stem] for stem in kept])
    return kept if promised >= (WEIGHTY_SAID if has_messages else WEIGHTY) else stems


def find_names(terms: Sequence[str]) -> tuple[int, ...]:
    """Return the positions of terms with a digit: a port, a ticket, the seventh of many."""
    return tuple([place for place, term in enumerate(terms) if not term.isalpha()])


def asked_speaker(question: str) -> str:
    """Return whose words are asked for: the user for `I`, the assistant for `you`."""
    words = _split(question)
    if not _OTHER.isdisjoint(words):
        return "assistant"
    return "" if _SELF.isdisjoint(words) else "user"


_RULES = """
    should must always never prefer preferred preference preferences like want wants rule rules
    convention conventions policy guideline guidelines style standard allowed forbidden supposed
"""


@cache
def _rule_words() -> frozenset[str]:
    return frozenset(_RULES.split())


def asks_for_rules(question: str) -> bool:
    """Check whether a question asks how things are to be done: a rule, a preference."""
    return not _rule_words().isdisjoint(_split(question))


_FAILURES = """
    fail failed failing fails failure error errors break breaks broke broken crash crashed crashes
    hang hangs hung wrong
"""


def asks_why_failed(question: str) -> bool:
    """Check whether a question asks for the reason of a failure: a later run without it is no
    answer."""
    words = _split(question)
    return "why" in words and not {*_FAILURES.split()}.isdisjoint(words)


_ASKS_COMMAND = (
    r"\bhow (?:to|(?:do|can|could|should|would|must) (?:i|we|you|one))\b"
    r"|\b(?:which|what|the) commands?\b|\bcommands? (?:for|to|that)\b"
)


def asked_purpose(question: str) -> str:
    """Return the purpose of the command that a question asks for (test, lint, build …); empty if it
    asks for none."""
    if not re.search(_ASKS_COMMAND, question, re.IGNORECASE):
        return ""
    words = _split(question)
    # "run the tests" asks for tests: what is run says more than that it is.
    telling = [one for word in words for one in (stem(word), word) if word not in ("run", "up")]
    return command_words.purpose_of(telling) or command_words.purpose_of(words)


def question_stems(question: str) -> frozenset[str]:
    """Return all stems of a question; none if the text is not phrased as one.

    A message with no other stems only restates the question, and answers nothing.
    """
    asks = question.rstrip().endswith(("?", "？"))
    if not asks and not {*_split(question)[:1]} & {*_INTERROGATIVES.split()}:
        return frozenset()
    return frozenset(stem_text(question).split())


_ASKED = (
    r"[?？]\s*$|^(?:what|which|who|whom|whose|when|where|why|how)(?: [\w-]+){0,2}? "
    r"(?:is|are|was|were|do|does|did|can|could|should|would|will|has|have|to|many|much|long)\b"
    r"|^(?:is|are|was|were|do|does|did|can|could|should|would) "
    r"(?:i|we|you|they|he|she|it|there|the|this|that|these|those|a|an|any|my|our|your)\b"
)


def is_question(text: str) -> bool:
    """Check whether a text asks by its word order: "when the user commits" may be a quotation."""
    return _pattern(_ASKED).search(text.strip()) is not None


_OPENING_QUOTES = '"“„«`'
_QUOTED = rf"[{_OPENING_QUOTES}]([^\"“”„«»`]{{3,200}})[\"”“»`]"
_FEWEST_IN_A_ROW = 3
"""The number of words of a question from which on holding them in a row is more than chance."""


def find_phrases(query: str) -> tuple[str, ...]:
    """Return the stems of a query, and of what is quoted in it, each between spaces. A text that
    holds a whole question only restates it."""
    found = [f" {stem_text(query)} "]
    if found[0].count(" ") <= _FEWEST_IN_A_ROW or is_question(query):
        found = []
    if not {*_OPENING_QUOTES}.isdisjoint(query):
        found += [f" {stem_text(quoted)} " for quoted in re.findall(_QUOTED, query)]
    return tuple([one for one in found if one.strip()])


FEWEST_CLOSE, CLOSE_BY = 4, 30
"""The number of words of a question from which on holding all of them is more than chance, and the
length of a passage that holds them close together: about a long sentence."""


def holds_closely(text: str, wanted: Sequence[str]) -> bool:
    """Check whether one passage of a text of stems holds all the wanted ones."""
    places = dict.fromkeys(wanted, -CLOSE_BY)
    for place, one in enumerate(text.split(" ")):
        if one in places:
            places[one] = place
            if place - min(places.values()) < CLOSE_BY:
                return True
    return False


def hold_phrases(texts: Sequence[str], phrases: Sequence[str]) -> list[bool]:
    """Return for each text of stems whether it holds one of the phrases, each between spaces."""
    found = [False] * len(texts)
    for phrase in phrases:
        stems = phrase.strip()
        found = [
            held or (stems in text and phrase in f" {text} ")
            for text, held in zip(texts, found, strict=True)
        ]
    return found


FORMS = {
    "prose": 1.0,
    "reasoning": 0.9,
    "write": 0.85,
    "output": 0.8,
    "call": 0.75,
    "receipt": 0.65,
    "announcement": 0.55,
}
"""The factor of a message by what it is, unless it holds the names of the question: an answer, the
text that a call writes, the thoughts of a model, raw output, a call, one line of output (which says
nothing without its call), the announcement of a call."""

_LONGEST_ANNOUNCEMENT, _LONGEST_RECEIPT = 300, 120
_MOST_BESIDE = 8
"""Words beside an announcement up to which a message says nothing else: "All tests pass."."""

_ANNOUNCES = (
    r"^(?:(?:now|next|then|first|finally|good|great|ok|okay|so|also|while [\w ]{,30})[,.!]? )?"
    r"(?:let me|i['’]ll|i will|i['’]m (?:now )?(?:going to|\w+ing)|let['’]s)\b(?! know)|:$"
    r"|^(?=.{,120}$)(?!.*\b(?:because|since|so|as|which|instead)\b)(?:now|next|then|finally)[,:]? "
    r"(?:re)?(?:run|add|update|fix|check|write|verify|commit|remove|replace|create|implement|move)\b"
)
_SENTENCE_END = r"(?<=[.!?:…])\s+|\n+"
_ASKS = (
    r"\?$|^(?:(?:and|but|so|ok|okay|also|hey|hi),? )*"
    r"(?:what|which|who|whose|when|where|why|how|can you|could you|please)\b"
)


@cache
def _pattern(text: str) -> re.Pattern[str]:
    """Compile at first use: a command starts cold."""
    return re.compile(text, re.IGNORECASE)


def read_form(message: Message, writes: bool) -> str:
    """Return what a message is: see `FORMS`. Own words that only announce a call do not count."""
    said = messages.plain_text(message).strip()
    if message.role == "tool":
        return "receipt" if len(said) < _LONGEST_RECEIPT and "\n" not in said else "output"
    if message.role == "system" and message.name == "host":
        return "output"  # a notice of the agent's program
    if message.role == "user":
        return "prose" if outdated.strip_pasted(said).strip() else "output"
    blocks = () if isinstance(message.content, str) else message.content
    if blocks and all(str(block.get("type")).endswith("_call") for block in blocks):
        return "call"  # one that the provider runs itself: a search of the web
    announces = announces_only(said or messages.searchable_text(message._replace(calls=())))
    if message.calls and (announces or not said):
        return "write" if writes else "call"
    return "announcement" if announces else "prose" if said else "reasoning"


def announces_only(text: str) -> bool:
    """Check whether an agent's words only say what it does next: "Now let me run the tests:"."""
    if len(text) > _LONGEST_ANNOUNCEMENT:
        return False
    said = split_sentences(text)
    beside = [one for one in said if not _pattern(_ANNOUNCES).search(one)]
    return len(beside) < len(said) and len(" ".join(beside).split()) <= _MOST_BESIDE


def requests(text: str) -> bool:
    """Check whether a text of the user asks for something, so that the reply to it may answer."""
    return any(map(_pattern(_ASKS).search, split_sentences(text)))


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a text, without blanks around them."""
    return [found for one in _pattern(_SENTENCE_END).split(text[:4000]) if (found := one.strip())]


def count_stems(held: Iterable[str], wanted: Sequence[str]) -> list[tuple[int, ...]]:
    """Count how often each wanted stem occurs in each text of stems separated by spaces."""
    places = {stem: place for place, stem in enumerate(wanted)}
    # A set answers in half the time of a dictionary.
    none, is_wanted = [0] * len(places), frozenset(places).__contains__
    long = LONG_TEXT * len(places)
    found = []
    for text in held:
        if len(text) > long:
            found.append(_count_each(text, wanted))
            continue
        counts = none[:]
        for one in filter(is_wanted, text.split(" ")):
            counts[places[one]] += 1
        found.append(tuple(counts))
    return found


LONG_TEXT = 100
"""In a text with more characters for each stem, each is searched, which takes a third to two thirds
of the time; a shorter one is split faster."""


def _count_each(text: str, wanted: Iterable[str]) -> tuple[int, ...]:
    padded, counts = f" {text} ", []
    for one in wanted:
        count = padded.count(f" {one} ") if one in text else 0
        if count and f" {one} {one} " in padded:  # of two in a row one is counted
            count = text.split(" ").count(one)
        counts.append(count)
    return tuple(counts)
