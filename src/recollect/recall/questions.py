"""Read a question: what it is about, who is asked for, and whether it asks for a rule."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from ..actions import command_words
from ..text.terms import query_terms, split_terms, stem, stem_text

_ASKING = """
    many much ago passed total currently recently often usually ever remind mentioned discussed
    recommend recommended recommendation recommendations suggest suggested suggestion suggestions
    wondering thinking tell know think thing things get got getting go going went last first
"""
_INTERROGATIVES = """
    what which who whom whose when where why how is are was were do does did can could should would
"""
_SELF = frozenset({"i", "my", "me", "mine", "myself"})
_OTHER = frozenset({"you", "your"})


@cache
def _asking_words() -> frozenset[str]:
    return frozenset(_ASKING.split())


def subject_terms(question: str) -> list[str]:
    """Return the terms a question is about, without words that only ask if others are left."""
    asked = query_terms(question)
    return [term for term in asked if term not in _asking_words()] or asked


def find_names(terms: Sequence[str]) -> tuple[int, ...]:
    """Return the positions of terms with a digit: a port, a ticket, the seventh of many."""
    return tuple([place for place, term in enumerate(terms) if not term.isalpha()])


def asked_speaker(question: str) -> str:
    """Return whose words are asked for: the user for `I`, the assistant for `you`."""
    words = split_terms(question)
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
    return not _rule_words().isdisjoint(split_terms(question))


_ASKS_COMMAND = (
    r"\bhow (?:to|(?:do|can|could|should|would|must) (?:i|we|you|one))\b"
    r"|\b(?:which|what|the) commands?\b|\bcommands? (?:for|to|that)\b"
)


def asked_purpose(question: str) -> str:
    """Return the purpose of the command that a question asks for (test, lint, build …); empty if it
    asks for none."""
    if not re.search(_ASKS_COMMAND, question, re.IGNORECASE):
        return ""
    words = split_terms(question)
    # "run the tests" asks for tests: what is run says more than that it is.
    telling = [one for word in words for one in (stem(word), word) if word not in ("run", "up")]
    return command_words.purpose_of(telling) or command_words.purpose_of(words)


def question_stems(question: str) -> frozenset[str]:
    """Return all stems of a question; none if the text is not phrased as one.

    A message with no other stems only restates the question, and answers nothing.
    """
    asks = question.rstrip().endswith(("?", "？"))
    if not asks and not {*split_terms(question)[:1]} & {*_INTERROGATIVES.split()}:
        return frozenset()
    return frozenset(stem_text(question).split())
