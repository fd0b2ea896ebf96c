"""The record of a form, and the classes of words that the forms are made of.

A form is one way to state something. It belongs to one rule and has cues: plain pieces of text of
which one must be in the message, so that a message without any costs a few substring searches.
"""

from __future__ import annotations

from ..fast_typing import NamedTuple


class Form(NamedTuple):
    """One way to state something: `cues` are alternatives by "|", parts of one joined by "&".

    `hedged` forms count behind "I think" too, `asked` forms in a question too: they state a reason
    or a choice that outlasts the question.
    """

    rule: str
    cues: str
    pattern: str
    hedged: bool = False
    asked: bool = False


VERBS = (
    "add answer apply ask assume avoid branch build bump call catch change check clean commit "
    "confirm consider copy create define delete deploy display do document edit ensure exit "
    "explain expose fail follow force format handle hardcode hard-code ignore import include "
    "install keep leave lint log make merge mock modify name open pass pin prefer prefix print "
    "push put raise read rebase rely remove reply respond return revert review rewrite run save "
    "send set show skip squash start store test throw touch treat trust try update use validate "
    "verify wrap write"
).replace(" ", "|")

POINTERS = "it|this|that|these|those|them|any of (?:it|th)|him|her|there"
POINTED = r"(?:it|them|him|her|(?:this|that|these|those)(?=[.,;!)]|$| \w+ly\b))\b"

# Where an order begins. What comes after other words is mostly a report.
ORDER = r"(?:^|[,;:(–—-] *|\b(?:please|pls|and|also|but|so|just|ok|okay|yes|no|let's|lets) +)"
LEAD = r"^(?:(?:please|and|also|so|but|ok|okay|yes|no|oh|just|again|btw)[, ]+)*"

CLAUSE_STARTS = (
    "i|i'm|i've|it|it's|its|we|you|they|he|she|there|that|this|when|if|then|now|still|also|just|"
    "not|how|what|why|can|could|would|will|maybe|please|only|so|is|are|was|have|has|do|does|more|"
    "because|since|at|even|unfortunately|after|before|should|to|for|in|my|your|validate|of|the"
)

STATES = (
    "is|are|was|were|isn't|aren't|has|have|should|shouldn't|use|uses|needs?|lives?|belongs?|"
    "means?|meant|called|it's|that's|they're|doesn't|don't|can't|cannot|runs?|deploys?|stores?|"
    "supports?|go|goes"
)

# Who says "commits", not "the commits", speaks of all there will be.
PARTICULAR = (
    "an?|the|this|that|these|those|my|your|his|her|its|their|some|both|other|such|many|most|"
    "several|two|three|it|i|we|you|they|he|she|there|here|who|what|which|when|if|because|since|as|"
    "so|then|maybe|or|where|while|after|before|until|unless|in|on|at|for|from|to|with|why|how|"
    "everything|nothing|none|one|no"
)
PLURAL = r"(?!(?:this|his|its|as)\b)\w*[^\Wsu]s"
NAMED = (
    rf"(?!(?:{PARTICULAR})\b)(?:[\w.-]+ (?:is|are|has|uses|runs|needs|lives)|"
    rf"{PLURAL} (?:have|use|run|need|live))\b"
)
IN_GENERAL = rf"{LEAD}(?:(?!(?:{PARTICULAR})\b)[\w./-]+ ){{0,3}}?"
# What is done with every change, and the moments at which it is done.
PRACTICES = (
    "tests|testing|coverage|reviews?|approvals?|hints|annotations|docstrings?|documentation|"
    "docs|changelogs?|linting|formatting|commits|sign-?offs?"
)
STEP = (
    r"(?:every|each|any|all|(?:(?:you|we|an?|the|your|our) )?"
    r"(?:commit|merg|push|releas|deploy|ship|publish)\w*)\b"
)
