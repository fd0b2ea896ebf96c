"""Decide whether something a user said holds beyond its moment: by its words, or because the user
asks for it in several sessions.

Capture keeps statements that may be wanted again; a page that is read without its conversation
takes fewer. A sentence stays out when it points at something outside of it, wonders, orders work of
the moment, or was taken back by the next messages. It stays in when it was said for good, in
several sessions or about the way of working.

A request that comes again is a habit, whether or not it was ever called a rule. Content words are
compared; words of everyday requests ("commit", "fix the tests") make a habit only together with
many others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache

from ..fast_typing import NamedTuple
from ..text import terms
from . import sentences, standalone

MOST_AFTER = 8
"""Messages after a statement in which it may be taken back."""


def is_durable(text: str, message: str = "", after: Sequence[str] = (), sessions: int = 1) -> bool:
    """Check whether a captured statement may be shown in later sessions without its context.

    `message` is the one that it stands in, `after` what the person typed next in that session,
    `sessions` in how many sessions it was said.
    """
    doubtful = text.rstrip().endswith("?") or _found("wondering", text)
    if doubtful or _found("pointing", text) or is_taken_back(text, after):
        return False
    if _found("for good", text):
        return True
    if _found("moment", text):
        return False
    if _found("order", text):
        return sessions > 2
    # A wish in a message that gives a task may be about the task only.
    return sessions > 1 or not (_found("task", message.strip()) and _found("wish", text))


def is_taken_back(text: str, after: Sequence[str]) -> bool:
    """Check whether one of the next messages takes a statement back: it objects and is about the
    same; the very next one needs to share only one word with it."""
    own, said = set(terms.query_stems(text)), " ".join(text.split()).rstrip(".! ")
    for place, message in enumerate(after[:MOST_AFTER]):
        if said in message and _found("going on", message.partition(said)[2]):
            return True  # sent again with an end that changes it
        shared = own & set(terms.query_stems(message[:400]))
        if len(shared) >= (1 if place == 0 else 2) and _found("objection", message):
            return True
    return False


_SOURCES = {
    # The subject is elsewhere, or the sentence names a thing that only its reader had before them.
    "pointing": r"^(?:this|that|these|those|it|they|both|he|she|there(?:'s| is| are))\b"
    r"(?! (?:repo(?:sitory)?|project|codebase|app|package|service|team|monorepo)\b)"
    r"|\b(?:all|both|of|in|for|on|with|by) (?:these|those)\b|\bboth of them\b"
    r"|\b(?:get|do|make|put|have|bring|take|fix|like|want|see|use|with|of|for|about) (?:this|it)\b"
    r"|\b(?:in|at|on|for|with) this (?!repo|project|codebase|app|package|service|team|monorepo)\w+"
    r"|\bthis (?:\w+ )?(?:refactor|change|branch|pr|feature|work|phase|fix|commit|approach)\b"
    r"|\b(?:being|been) (?:complained|asked|mentioned|discussed)\b|\bthe (?:above|following)\b"
    r"|\bdoing (?:this|that|it)\b",
    "wondering": r"\bi(?:'m| am)? (?:honestly |really |just |also |starting to |am )*"
    r"(?:feel|feeling|wonder|wondering|guess|suspect|thinking)\b|\bmy (?:\w+ )?(?:issue|concern|"
    r"worry|question)\b|\bhonestly\b|\bplaying with\b|\bnot (?:quite |really )?sure\b"
    r"|\bcorrect me\b|\bif i understand\b"
    r"|\bprobably\b|\bmaybe\b|\bperhaps\b|\binternal discussion\b|\bcurrently\b|\bat this point\b",
    "for good": r"\b(?:always|never|ever|every time|whenever|from now on|going forward|in (?:the )?"
    r"future|as a rule|by default|no longer|remember|(?:do not|don'?t|never) forget|by convention|"
    r"convention is|in (?:this|our) (?:repo|repository|project|codebase|app|package|monorepo))\b"
    r"|\b(?:do not|don'?t|never)\b[^.]{1,60}\b(?:directly|by hand|manually|blindly)\b",
    "moment": r"\b(?:have|has) been \w+(?:ed|en|ne|wn)\b(?! (?:to|by|in|since)\b)|\bnew feedback\b"
    r"|\bpr #?\d+|\b(?:on|to|from) (?:the|that|this) pr\b|\b[A-Z]{2,}-\d+\b|\bmerge conflicts?\b"
    r"|\bstill failing\b|\b(?:right|for) now\b|\btop prio|\bfirst,? then\b|\bone more time\b"
    r"|\bwe (?:should|need to|have to|can|could) (?:also |then |now )?(?:delete|remove|add|record|"
    r"rename|fix|implement|move|create|update|change|drop|merge|split|write|test)\b",
    # An order without a condition is about the work at hand.
    "order": r"^(?:please |pls |then |and |now |so |ok,? |okay,? |also |just )*"
    r"(?:create|file|open|read|look|check|review|fix|implement|bring|let'?s|lets|add|update|"
    r"remove|move|rename|commit|push|merge|rebase|run|try|go|get|make|mark|replace|change|"
    r"address|log|include|write|put|set|show|start|continue|follow|have in mind|note that|"
    r"(?:can|could|would|will) (?:you|we)|i want|i'?d like|we (?:want|need) to|instead)\b",
    "wish": r"^(?:please |pls |then |and |also )*(?:use|keep|do|don'?t|make|avoid|ensure|prefer)\b"
    r"|\bshould(?:n't| not)?\b|\bmust\b|\bneeds? to\b",
    "task": r"^/\w|^(?:ok(?:ay)?,? |yes,? |now |so |please )*(?:commit|push|implement|create|add|"
    r"fix|update|refactor|rename|remove|move|merge|write|make|build|change) (?:this|that|it|the|"
    r"an?|these|those|all|some)\b",
    "going on": r"^,? (?:or|but|no|not|actually|well|wait)\b",
    "objection": r"^(?:(?:oh|hmm+|ah|ok(?:ay)?|well|but|and)[, ]+)*(?:no\b|nope|not\b|actually|"
    r"wait|sorry|never ?mind|scratch that|forget (?:it|that)|instead)|\bi was wrong\b"
    r"|\bmy mistake\b"
    r"|\bchanged my mind\b|\blet'?s not\b|\b(?:revert|undo) (?:it|this|that)\b"
    r"|\bon second thought\b",
}


@cache
def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(_SOURCES[name], re.IGNORECASE)


def _found(name: str, text: str) -> bool:
    return _pattern(name).search(text.replace("’", "'")) is not None


# ---------------------------------------------------------------- requests that come again


LONGEST_UNIT = 240
"""Characters of an instruction. A longer text is about its task."""

MOST_UNITS = 12
"""Instructions that are looked at in one message."""

LEAST_SHARED = 0.6
"""Share of the words of the shorter instruction that both have."""

FEWEST_ROUTINE = 5
"""Words of everyday requests that make a habit together: branch, commit, review, push, draft."""

MOST_BESIDE = 4
"""Words beyond the repeated ones that the wording of a habit may have."""

_FILLERS = """
    ok let get go need want there yeah yes now new make sure thing like know think see look good
    great try do one can again still first then next thank hmm hmmm sorry wait time
"""
_ROUTINE = """
    commit push pr prs open draft fix test lint merge continue run review comment address check
    branch create change update add build issue file code pull request implement plan follow error
    fail work remove move show find start use valid
"""


class SaidUnit(NamedTuple):
    """A sentence, or a short message as a whole, with its content words."""

    text: str
    words: frozenset[str]


def words_of(text: str) -> frozenset[str]:
    """Return the stems of the content words of a text."""
    stems = terms.query_stems(text)
    return frozenset(stem for stem in stems if stem not in _set_of(_FILLERS) and not stem.isdigit())


def units(text: str) -> list[SaidUnit]:
    """Return the instructions in a typed message: its sentences, and a short message whole."""
    from .authorship import doubts, is_addressed

    masked = sentences.mask(text)
    doubt = doubts(text, masked)
    spans = [span for span in sentences.sentence_spans(masked) if span[0] < span[1]][:MOST_UNITS]
    if any(doubt(span) for span in spans):
        return []
    parts = [SaidUnit(text[start:end], words_of(masked[start:end])) for start, end in spans]
    if any(re.match(_QUESTION, part.text) for part in parts):
        return []
    found = [part for part in parts if is_addressed(part.text)]
    whole = " ".join(text.split())
    if found and 1 < len(spans) <= 3 and "\n\n" not in text.strip():
        found.insert(0, SaidUnit(whole, words_of(whole)))
    return [unit for unit in found if len(unit.text) <= LONGEST_UNIT]


def is_repeated(new: frozenset[str], old: frozenset[str]) -> bool:
    """Check whether two instructions ask for the same."""
    shared = new & old
    own = shared - _set_of(_ROUTINE)
    if len(shared) < 3:
        return new == old and len(own) == len(shared) == 2
    if not own and len(shared) < FEWEST_ROUTINE:
        return False
    return len(shared) >= LEAST_SHARED * min(len(new), len(old))


def pick_fullest(repeated: SaidUnit, others: Iterable[SaidUnit]) -> SaidUnit:
    """Return the most complete wording of a repeated request.

    Numbers belong to one occasion: "the comment on pr 175". So does a wording with much else in it.
    """
    core = len(repeated.words)
    like = (
        one
        for one in others
        if len(one.words & repeated.words) >= LEAST_SHARED * core
        and len(one.words) <= core + MOST_BESIDE
    )
    return max(
        (repeated, *like), key=lambda one: len(one.words) - 2 * len(re.findall(r"\d+", one.text))
    )


def strip_connectives(unit: SaidUnit) -> str:
    """Return an instruction without its leading connectives."""
    return unit.text[standalone.lead_length(unit.text) :]


@cache
def _set_of(words: str) -> frozenset[str]:
    return frozenset(map(terms.stem, words.split()))


_QUESTION = r"(?i)(?:\w+,? )?(?:what|why|how|where|which|who|were|was|did|does|is|are)\b.*\?$"
