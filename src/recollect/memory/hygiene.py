"""Decide which texts durable memory refuses, and which notes may be promoted to it.

Three things are never written to project or user memory: what can be read again from the
repository, git history, and the passing state of a task. `find_refusal` says which of these a text
is, and where it belongs instead. `review_note` takes a note of a session or task through the
checklist of promotion, and stops at the first step that it does not pass.

It reads English sentences and nothing else: it does not know the repository, so it refuses only
what the words give away. A text is refused when *every* sentence of it is; rules and preferences
are never refused, because a person's wish is not state, however it is worded.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from ..fast_typing import NamedTuple
from ..text import globs
from ..text.terms import split_lower_words
from .similarity import Statement, find_relation

DURABLE = ("project", "user")
"""The layers that are kept clean."""

_NEVER_REFUSED = ("policy", "preference")
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


def find_refusal(text: str, kind: str, layer: str) -> Refusal | None:
    """Return why a text may not be saved in this layer, or None when it may."""
    if layer not in DURABLE or kind in _NEVER_REFUSED:
        return None
    lines = text.strip().splitlines()
    if len(lines) >= FEWEST_CODE_LINES and (
        _is_listing(lines) or (kind not in _MAY_BE_CODE and _is_bare_code(lines))
    ):
        return CODE
    rules = _find_rules(text)
    found: Refusal | None = None
    for sentence in _sentences(text) if rules else ():
        verdict = _of_sentence(sentence, rules)
        if verdict is None:
            return None
        found = found or verdict
    return found


def _sentences(text: str) -> list[str]:
    # The pattern is tried at every character: most notes are one sentence.
    pieces = _pattern("sentence").split(text) if _pattern("end").search(text) else [text]
    bare = (_pattern("bullet").sub("", piece, 1).strip() for piece in pieces)
    return [sentence for sentence in bare if sentence]


def _of_sentence(sentence: str, rules: Sequence[int]) -> Refusal | None:
    if len(sentence) > LONGEST_READ or _pattern("lesson").search(sentence):
        return None
    return next((_RULES[at][0] for at in rules if _rule(at).search(sentence)), None)


def _find_rules(text: str) -> list[int]:
    """Return the rules that can apply to a text: one of their words occurs, or a commit hash."""
    known = _rules_by_cue()
    found = {at for word in known.keys() & split_lower_words(text) for at in known[word]}
    shape = text.encode("ascii", "replace").translate(_HEX)
    if _HEX_RUN in shape and _pattern("hash").search(text):
        found.add(_HASH_RULE)
    return sorted(found)


@cache
def _rules_by_cue() -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for at, (_, words, _) in enumerate(_RULES):
        for word in words.split():
            found.setdefault(word, []).append(at)
    return found


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

_HASH_RULE = 0
_RULES: Sequence[tuple[Refusal, str, str]] = (
    (HISTORY, "", rf"^(?:commit\s+)?{_HASH}(?:\s*[:–-]|\s+\w)"),
    (
        HISTORY,
        f"{_MERGES} deleted opened created",
        r"\b(?:pr|pull request|merge request|mr|branch|commit|tag|hotfix)\b.{0,60}"
        rf"\b(?:was|were|has been|have been|got)\s+(?:\w+ )?(?:{_MERGED}|deleted|closed|opened|"
        r"created|approved)\b",
    ),
    (
        HISTORY,
        f"{_MERGES} open",
        rf"{_NAMED}.{{0,40}}\b(?:is|are|was|were)\s+(?:\w+ )?(?:{_MERGED}|closed|open|approved)\b",
    ),
    (
        HISTORY,
        _MERGES,
        rf"^(?:i |we |just |i've |we've )*{_MERGED}\b.*(?:{_NAMED}|\binto\b|"
        r"\bto (?:main|master|origin|develop|upstream)\b|\b(?:branch|commit|pr)\b|\bv\d|"
        r"\bmessage\b)",
    ),
    (
        HISTORY,
        "branch",
        r"^(?:the )?(?:current|active|checked[- ]out|working) branch(?: is\b|:)|^on branch \S+$",
    ),
    (HISTORY, "head", r"^HEAD (?:is|->|points)\b"),
    (
        HISTORY,
        "commit merge tag",
        r"^(?:the )?(?:last|latest|most recent|previous) (?:commit|merge|tag)\b"
        r".{0,40}(?:\bis\b|\bwas\b|:)|^merge (?:branch|pull request|remote-tracking)\b",
    ),
    (HISTORY, "author date", r"^(?:author|date): +\S"),
    (
        HISTORY,
        "authored committed merged",
        rf"\b(?:authored|committed|merged) by \w+.{{0,20}}(?:\bon\b|{_NAMED})",
    ),
    (
        STATE,
        _ENDS,
        r"\b(?:iteration|attempt|run|round|try|step|phase|task|subtask|milestone|wave|batch)"
        rf"\s*#?\d+\b(?:\s*(?:of|/)\s*\d+)?.{{0,40}}\b{_ENDED}\b",
    ),
    (
        STATE,
        f"{_ENDS} deployed restarted crashed ran",
        rf"\b(?:{_ENDED}|deployed|restarted|crashed|ran)\b.{{0,40}}\bat \d{{1,2}}:\d\d\b",
    ),
    (
        STATE,
        "test tests spec specs checks assertions cases",
        rf"\b\d+ (?:\w+ )?(?:tests?|specs?|checks|assertions|cases)\b.{{0,20}}\b{_RESULT}\b|"
        r"^tests? run: \d+",
    ),
    (STATE, "passed failed", r"\b\d+ (?:passed|failed)\b(?:, \d+ \w+)*"),
    (
        STATE,
        f"{_RESULTS} skipped",
        r"^(?:all )?(?:the )?(?:unit |integration |e2e )?"
        r"(?:tests?|build|ci|pipeline|lint|type ?check)"
        rf"(?: suite)? (?:(?:is|are|now|currently|all|still|again) )*{_RESULT}"
        r"(?: now| again| locally| today| at the moment)*[.!]*$",
    ),
    (
        STATE,
        _DOING,
        r"^(?:(?:i am|i'm|we are|we're|currently|now|still|right now)[, ]+)+"
        rf"(?:{'|'.join(_DOING.split())})\b|"
        r"^(?:working on|waiting (?:for|on)|investigating|looking into|stuck on|blocked on)\b",
    ),
    (
        STATE,
        "next todo do remaining pending progress blocked left",
        r"^(?:next(?: step| up)?|todo|to do|remaining|pending|in progress|blocked|left to do)"
        r"\s*(?::|–|-|\bis to\b|\bare\b)",
    ),
    (
        STATE,
        "next now then tomorrow",
        r"^(?:next,? )?(?:i|we)(?:'ll| will| am going to|'m going to) \w+"
        r".*\b(?:next|now|then|tomorrow)\b",
    ),
    (STATE, "just", r"^(?:i |we |i've |we've )?just \w+(?:ed|t|n)\b"),
    (
        STATE,
        "done finished completed",
        r"^(?:done|finished|completed)\b(?: with\b|[:.!]|\s+(?:phase|step|task|part|the)\b)",
    ),
    (STATE, "pid", r"\bpid \d+\b"),
    (
        STATE,
        "done complete finished migrated left passed",
        r"\b\d{1,3} ?% (?:done|complete|finished|migrated)\b|"
        r"\b\d+ (?:of|/) \d+ (?:\w+ )?(?:\w+ )?(?:done|complete|left|migrated|passed|finished)\b",
    ),
    (
        STATE,
        "now moment session turn conversation today",
        r"\b(?:right now|at the moment|(?:in|for) this (?:session|turn|conversation)|"
        r"so far today)\b",
    ),
    (
        STATE,
        "uncommitted tree",
        r"\buncommitted changes\b|\bworking tree (?:is )?(?:clean|dirty)\b",
    ),
    (STATE, "changed modified staged", r"^\d+ files? (?:changed|modified|staged)\b"),
    (
        CODE,
        "lines loc functions methods classes files imports exports characters",
        r"\b(?:has|have|contains?|spans?|is|consists of) (?:about |around |~|exactly |now )?"
        rf"\d[\d,]* {_SIZES}\b|^there (?:is|are) \d[\d,]* {_SIZES}\b|"
        r"^`?[\w./-]+\.\w{1,5}`? imports (?:`?[\w.]++`?(?:, | and |, and )?)+[.!]?$",
    ),
    (
        CODE,
        "line lines",
        r"\b(?:defined|declared|implemented|located|found|starts?|begins?|ends?) (?:at|on|in) "
        r"(?:\S+ )?(?:\S+ )?lines? \d+|"
        r"^(?:on )?line \d+ (?:of|in) \S+ (?:is|has|contains|says|reads|calls|defines)\b",
    ),
    (
        CODE,
        "defined declared implemented located found",
        r"\b(?:defined|declared|implemented|located|found) (?:at|in) "
        r"`?[\w./-]+\.\w{1,5}:\d+`?[.!]?$",
    ),
)
"""A verdict, words of which each text has one that the rule applies to, and its pattern. The first
rule that a sentence matches decides."""

_SOURCES = {
    "sentence": r"(?<=[.!?])\s+|\n+",
    "end": r"[.!?]\s|\n",
    "bullet": r"^\s*(?:[-*•+]|\d{1,3}[.)]|#{1,6}|\[[ x]\])\s+",
    # Words that make a lesson of an event: then it is knowledge, however it begins.
    "lesson": r"\b(?:because|unless|if|when(?:ever)?|must|should|always|never|needs?|requires?|"
    r"due to|otherwise|so that|since|workaround|avoid|don't|do not|cannot|can't|only|every|"
    r"each|means|caused|causes|after|before|instead|until|by default|convention)\b",
    "hash": _HASH,
    "path": r"[\s│├└─|`+\\-]*+[\w.@-]++(?:/[\w.@-]++)*+/?\s*$",
    "diff": r"(?:diff --git |index [0-9a-f]+\.\.|@@ |\+\+\+ |--- |[+-](?! ))",
    "pointing": r"(?:it|this|that|they|these|those|he|she) "
    r"(?:is|are|was|were|has|have|does|do|can)\b",
    "moving": r"\b(?:currently|at the moment|right now|these days|latest version|so far|"
    r"as of (?:now|today)|will (?:soon|probably|likely) (?:change|move|be)|"
    r"(?:is|are) (?:still )?in flux)\b",
    "passing": r"\b(?:this (?:task|pr|ticket|sprint|change|branch|refactoring|session)|for now|"
    r"temporar(?:y|ily)|until (?:we|i|the|this|it|then)|as a stopgap|hotfix for|"
    r"current (?:task|plan|sprint|objective)|work in progress|wip|experiment(?:al)? branch|"
    r"not yet (?:done|finished|merged))\b",
}


@cache
def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(_SOURCES[name], re.IGNORECASE)


@cache
def _rule(at: int) -> re.Pattern[str]:
    return re.compile(_RULES[at][2], re.IGNORECASE)


# ---------------------------------------------------------------- promotion


class Note(NamedTuple):
    """What a session or a task wants to leave behind, with the five fields of a durable fact."""

    text: str
    kind: str
    subject: str = ""
    citations: Sequence[object] = ()
    reason: str = ""
    category: str = ""
    scope: Sequence[str] = ()


class KnownNote(NamedTuple):
    """What is kept already: its id, what it says, and where it applies."""

    id: str
    statement: Statement
    scope: Sequence[str] = ()


class Verdict(NamedTuple):
    """`promote`, `defer` or `drop`, the step that decided, the reason, and the notes it is like."""

    decision: str
    step: str
    reason: str
    like: tuple[str, ...] = ()


def review_note(note: Note, known: Sequence[KnownNote]) -> Verdict:
    """Apply the promotion checklist to a note; `known` is what was promoted before."""
    refused = find_refusal(note.text, note.kind, "project")
    if refused:
        return Verdict("drop", "classify", f"{refused.rule}; {refused.where}")
    passing = _pattern("passing").search(note.text)
    if passing and note.kind not in _NEVER_REFUSED:
        return Verdict("drop", "durable", f"“{passing[0]}” ties it to this task: it stays there")
    return _fleeting(note) or _duplicate(note, known) or _incomplete(note) or _promoted(note)


MOST_SENTENCES = 2
"""A fact that needs more is several facts, or a document."""


def _fleeting(note: Note) -> Verdict | None:
    """Defer a note that cannot be understood alone, is likely to change, or is too long for a
    fact."""
    if note.kind in _NEVER_REFUSED:
        return None
    pointing = _pattern("pointing").match(note.text.strip())
    if pointing:
        return Verdict("defer", "durable", f"“{pointing[0]}” points at something that is not told")
    moving = _pattern("moving").search(note.text)
    if moving:
        return Verdict("defer", "durable", f"“{moving[0]}”: it is likely to change")
    count = len(_sentences(note.text))
    if note.kind == "fact" and count > MOST_SENTENCES:
        return Verdict("defer", "short", f"a fact has one or two sentences, this one has {count}")
    return None


def _duplicate(note: Note, known: Sequence[KnownNote]) -> Verdict | None:
    found: dict[str, list[str]] = {}
    mine = (note.subject, note.text)
    for id, statement, scope in known:
        name = find_relation(statement, mine)
        if statement[1].strip() == note.text.strip():
            if globs.same_scopes(scope, note.scope):
                return Verdict("drop", "duplicate", "the same text is kept already", (id,))
            name = "elsewhere"
        elif name == "contradicts" and globs.are_disjoint(scope, note.scope):
            continue
        found.setdefault(name, []).append(id)
    for name, reason in (
        (
            "elsewhere",
            "it is kept for other files: skip it, merge it, or create it with a reason",
        ),
        ("contradicts", "it says the opposite of what is kept: settle which holds"),
        ("near", "nearly the same is kept: skip it, merge it, or create it with a reason"),
    ):
        if name in found:
            return Verdict("defer", "duplicate", reason, tuple(found[name]))
    return None


def _incomplete(note: Note) -> Verdict | None:
    fields = {
        "subject": note.subject.strip(),
        "fact": note.text.strip(),
        "citations": note.citations,
        "reason": note.reason.strip(),
        "category": note.category.strip(),
    }
    missing = [name for name, value in fields.items() if not value]
    if not missing:
        return None
    return Verdict("defer", "fields", f"it still needs: {', '.join(missing)}")


def _promoted(note: Note) -> Verdict:
    return Verdict("promote", "fields", f"durable {note.kind} with all five fields")
