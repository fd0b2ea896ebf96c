"""Decide which texts durable memory refuses.

Three things are never written to project or user memory: what can be read again from the
repository, git history, and the passing state of a task. `find_refusal` says which of these a text
is, and where it belongs instead.

It reads English sentences and nothing else: it does not know the repository, so it refuses only
what the words give away. A text is refused when *every* sentence of it is; rules and preferences
are never refused, because a person's wish is not state, however it is worded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from ..fast_typing import NamedTuple
from ..text.terms import split_lower_words

DURABLE = ("project", "user")
"""The layers that are kept clean."""

NEVER_REFUSED = ("policy", "preference")
"""The kinds that are never refused."""

_MAY_BE_CODE = ("pattern", "solution", "pitfall", "reference", "workflow")
FEWEST_CODE_LINES = 3
FEWEST_LISTED_PATHS = 4
LONGEST_READ = 2_000
"""A longer sentence is no note about state, and is not read."""


class Refusal(NamedTuple):
    """The rule that keeps a text out of durable memory, and where it belongs instead."""

    rule: str
    where: str


CODE = Refusal(
    "it can be read again from the repository",
    "read it there when it is needed, or keep it in the session layer",
)
HISTORY = Refusal(
    "it is git history",
    "`git log` has it; a lesson from it belongs here, the rest in the task layer",
)
STATE = Refusal(
    "it is the passing state of a task",
    "keep it in the session layer, or in the task layer if the task outlives the conversation",
)


def find_refusal(
    text: str, kind: str, layer: str, words: Sequence[str] | None = None
) -> Refusal | None:
    """Return why a text may not be saved in this layer, or None when it may. `words` are its
    `split_lower_words`, if the caller has them."""
    if layer not in DURABLE or kind in NEVER_REFUSED:
        return None
    lines = text.strip().splitlines()
    if len(lines) >= FEWEST_CODE_LINES and (
        _is_listing(lines) or (kind not in _MAY_BE_CODE and _is_bare_code(lines))
    ):
        return CODE
    cues = _cues().intersection(split_lower_words(text) if words is None else words)
    may_have_hash = _HEX_RUN in _find_shape(text)
    found: Refusal | None = None
    # One after the other: the first one saves most texts.
    for sentence in _iterate_sentences(text) if cues or may_have_hash else ():
        verdict = _of_sentence(sentence, cues, may_have_hash)
        if verdict is None:
            return None
        found = found or verdict
    return found


def find_doubtful(texts: Sequence[str], words: Sequence[Sequence[str]]) -> list[int]:
    """Return the places of the texts that `find_refusal` may refuse: most have none of the signs.
    `words` are the `split_lower_words` of each."""
    has_no_cue = _cues().isdisjoint
    return [
        at
        for at, (text, spelled) in enumerate(zip(texts, words, strict=True))
        if not has_no_cue(spelled) or _HEX_RUN in _find_shape(text) or len(text.splitlines()) > 1
    ]


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a text without bullets and numbers."""
    return list(_iterate_sentences(text))


def _iterate_sentences(text: str) -> Iterator[str]:
    start = 0
    for end in _pattern("end").finditer(text):
        if sentence := _strip_bullet(text[start : end.start() + 1].rstrip("\n")):
            yield sentence
        start = end.end()
    if sentence := _strip_bullet(text[start:]):
        yield sentence


def _strip_bullet(piece: str) -> str:
    return _pattern("bullet").sub("", piece, 1).strip()


def _of_sentence(sentence: str, cues: Iterable[str], may_have_hash: bool) -> Refusal | None:
    """Return the verdict on a sentence of a text that has these words of rules."""
    if len(sentence) > LONGEST_READ:
        return None
    rules, small = _rules_by_cue(), sentence.casefold()
    listed = {at for cue in cues if cue in small for at, beside in rules[cue] if beside in small}
    if may_have_hash:
        listed.add(_HASH_RULE)
    verdict = next((_RULES[at][0] for at in sorted(listed) if _rule(at).search(sentence)), None)
    # Last: few sentences match a rule.
    return None if verdict and _pattern("lesson").search(sentence) else verdict


def _find_shape(text: str) -> bytes:
    """Return a text with an h for each digit of a hash, and a space for all else."""
    return text.encode("ascii", "replace").translate(_HEX)


@cache
def _rules_by_cue() -> dict[str, list[tuple[int, str]]]:
    """Return the rules by each of their words, with the word that a sentence then has beside it."""
    found: dict[str, list[tuple[int, str]]] = {}
    for at, (_, words, _) in enumerate(_RULES):
        for word in words.split():
            cue, _, beside = word.partition(":")
            found.setdefault(cue, []).append((at, beside))
    return found


@cache
def _cues() -> frozenset[str]:
    return frozenset(_rules_by_cue())


def _is_listing(lines: Sequence[str]) -> bool:
    """Check whether a text is only paths, one a line, as `ls` and `tree` print them."""
    listed = [line for line in lines if line.strip()]
    return len(listed) >= FEWEST_LISTED_PATHS and all(map(_pattern("path").match, listed))


def _is_bare_code(lines: Sequence[str]) -> bool:
    """Check whether a text is a block of code or a diff, with hardly a word about it."""
    outside, fenced = [], 0
    inside = False
    for line in lines:
        if line.lstrip().startswith(("```", "~~~")):
            inside = not inside
        elif inside or _pattern("diff").match(line):
            fenced += 1
        else:
            outside.append(line.strip())
    return fenced >= FEWEST_CODE_LINES and len(" ".join(outside)) < 30


_MERGES = (
    "merged pushed rebased picked reverted squashed tagged committed branched amended closed "
    "approved"
)
_RESULTS = "pass passes passed passing fail fails failed failing failure failures green red broken"
_ENDS = (
    "passed failed done complete completed finished succeeded started progress pending ok green "
    "verified blocked"
)
_DOING = (
    "working debugging investigating implementing refactoring fixing looking waiting writing "
    "testing reviewing trying running stuck blocked editing adding"
)
_RESULT = r"(?:pass(?:es|ed|ing)?|fail(?:s|ed|ing|ures?)?|green|red|broken|skipped)"
_ENDED = (
    r"(?:passed|failed|done|completed?|finished|succeeded|started|in progress|pending|ok|green|"
    r"verified|blocked)"
)
_MERGED = (
    r"(?:merged|pushed|rebased|cherry-picked|reverted|squashed|tagged|committed|force-pushed|"
    r"branched|amended)"
)
_HASH = r"(?-i:\b(?=[a-f]*\d)[0-9a-f]{7,40}\b)"
_HEX = bytes(ord("h" if chr(code) in "0123456789abcdef" else " ") for code in range(256))
_HEX_RUN = b"h" * 7
"""A text without such a run holds no hash: the pattern costs more than to look for it."""
_NAMED = rf"(?:#\d+|{_HASH}|(?<![\w./-])\w++/[\w./-]++)"
_SIZES = r"(?:lines|loc|functions|methods|classes|files|imports|exports|characters)"

_HISTORY = {
    f"{_MERGES} deleted opened created": (
        r"\b(?:pr|pull request|merge request|mr|branch|commit|tag|hotfix)\b.{0,60}"
        rf"\b(?:was|were|has been|have been|got)\s+(?:\w+ )?(?:{_MERGED}|deleted|closed|opened|"
        r"created|approved)\b"
    ),
    f"{_MERGES} open": rf"{_NAMED}.{{0,40}}\b(?:is|are|was|were)\s+(?:\w+ )?"
    rf"(?:{_MERGED}|closed|open|approved)\b",
    _MERGES: rf"^(?:i |we |just |i've |we've )*{_MERGED}\b.*(?:{_NAMED}|\binto\b|"
    r"\bto (?:main|master|origin|develop|upstream)\b|\b(?:branch|commit|pr)\b|\bv\d|\bmessage\b)",
    "branch": r"^(?:the )?(?:current|active|checked[- ]out|working) branch(?: is\b|:)|"
    r"^on branch \S+$",
    "head": r"^HEAD (?:is|->|points)\b",
    "commit merge tag": r"^(?:the )?(?:last|latest|most recent|previous) (?:commit|merge|tag)\b"
    r".{0,40}(?:\bis\b|\bwas\b|:)|^merge (?:branch|pull request|remote-tracking)\b",
    "author date": r"^(?:author|date): +\S",
    "authored committed merged": r"\b(?:authored|committed|merged) by \w+"
    rf".{{0,20}}(?:\bon\b|{_NAMED})",
}
_STATE = {
    _ENDS: r"\b(?:iteration|attempt|run|round|try|step|phase|task|subtask|milestone|wave|batch)"
    rf"\s*#?\d+\b(?:\s*(?:of|/)\s*\d+)?.{{0,40}}\b{_ENDED}\b",
    f"{_ENDS} deployed restarted crashed ran": r"^(?=.*\bat \d{1,2}:\d\d\b).*?"
    rf"\b(?:{_ENDED}|deployed|restarted|crashed|ran)\b.{{0,40}}\bat \d{{1,2}}:\d\d\b",
    "test tests spec specs checks assertions cases": r"\b\d+ (?:\w+ )?"
    rf"(?:tests?|specs?|checks|assertions|cases)\b.{{0,20}}\b{_RESULT}\b|^tests? run: \d+",
    "passed failed": r"\b\d+ (?:passed|failed)\b(?:, \d+ \w+)*",
    f"{_RESULTS} skipped": r"^(?:all )?(?:the )?(?:unit |integration |e2e )?"
    r"(?:tests?|build|ci|pipeline|lint|type ?check)"
    rf"(?: suite)? (?:(?:is|are|now|currently|all|still|again) )*{_RESULT}"
    r"(?: now| again| locally| today| at the moment)*[.!]*$",
    _DOING: r"^(?:(?:i am|i'm|we are|we're|currently|now|still|right now)[, ]+)+"
    rf"(?:{'|'.join(_DOING.split())})\b|"
    r"^(?:working on|waiting (?:for|on)|investigating|looking into|stuck on|blocked on)\b",
    "next todo do remaining pending progress blocked left": r"^(?:next(?: step| up)?|todo|to do|"
    r"remaining|pending|in progress|blocked|left to do)\s*(?::|–|-|\bis to\b|\bare\b)",
    "next now then tomorrow": r"^(?:next,? )?(?:i|we)(?:'ll| will| am going to|'m going to) \w+"
    r".*\b(?:next|now|then|tomorrow)\b",
    "just": r"^(?:i |we |i've |we've )?just \w+(?:ed|t|n)\b",
    "done finished completed": r"^(?:done|finished|completed)\b"
    r"(?: with\b|[:.!]|\s+(?:phase|step|task|part|the)\b)",
    "pid": r"\bpid \d+\b",
    "done complete finished migrated left passed": r"\b\d{1,3} ?% "
    r"(?:done|complete|finished|migrated)\b|"
    r"\b\d+ (?:of|/) \d+ (?:\w+ )?(?:\w+ )?(?:done|complete|left|migrated|passed|finished)\b",
    "now:right moment:at session:this turn:this conversation:this today:far": (
        r"\b(?:right now|at the moment|(?:in|for) this (?:session|turn|conversation)|"
        r"so far today)\b"
    ),
    "uncommitted tree": r"\buncommitted changes\b|\bworking tree (?:is )?(?:clean|dirty)\b",
    "changed modified staged": r"^\d+ files? (?:changed|modified|staged)\b",
}
_CODE = {
    "lines loc functions methods classes files imports exports characters": r"\b(?:has|have|"
    r"contains?|spans?|is|consists of) (?:about |around |~|exactly |now )?"
    rf"\d[\d,]* {_SIZES}\b|^there (?:is|are) \d[\d,]* {_SIZES}\b|"
    r"^`?[\w./-]+\.\w{1,5}`? imports (?:`?[\w.]++`?(?:, | and |, and )?)+[.!]?$",
    "line lines": r"\b(?:defined|declared|implemented|located|found|starts?|begins?|ends?) "
    r"(?:at|on|in) (?:\S+ )?(?:\S+ )?lines? \d+|"
    r"^(?:on )?line \d+ (?:of|in) \S+ (?:is|has|contains|says|reads|calls|defines)\b",
    "defined declared implemented located found": r"\b(?:defined|declared|implemented|located|"
    r"found) (?:at|in) `?[\w./-]+\.\w{1,5}:\d+`?[.!]?$",
}
"""Patterns, each under the words of which a text that it matches has one; for `now:right` it also
has the other one."""

_HASH_RULE = 0
_RULES = (
    (HISTORY, "", rf"^(?:commit\s+)?{_HASH}(?:\s*[:–-]|\s+\w)"),
    *((HISTORY, *rule) for rule in _HISTORY.items()),
    *((STATE, *rule) for rule in _STATE.items()),
    *((CODE, *rule) for rule in _CODE.items()),
)
"""Verdict, words and pattern of each rule. The first that a sentence matches decides."""

_SOURCES = {
    # It begins with a set of characters, which `re` looks for fast.
    "end": r"[.!?\n](?:(?<=\n)|\s)",
    "bullet": r"^\s*(?:[-*•+]|\d{1,3}[.)]|#{1,6}|\[[ x]\])\s+",
    # Words that make a lesson of an event: then it is knowledge, however it begins.
    "lesson": r"\b(?:because|unless|if|when(?:ever)?|must|should|always|never|needs?|requires?|"
    r"due to|otherwise|so that|since|workaround|avoid|don't|do not|cannot|can't|only|every|"
    r"each|means|caused|causes|after|before|instead|until|by default|convention)\b",
    "path": r"[\s│├└─|`+\\-]*+[\w.@-]++(?:/[\w.@-]++)*+/?\s*$",
    "diff": r"(?:diff --git |index [0-9a-f]+\.\.|@@ |\+\+\+ |--- |[+-](?! ))",
}


@cache
def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(_SOURCES[name], re.IGNORECASE)


@cache
def _rule(at: int) -> re.Pattern[str]:
    return re.compile(_RULES[at][2], re.IGNORECASE)
