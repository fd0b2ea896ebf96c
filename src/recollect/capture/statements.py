"""Decides whether a sentence states a rule, a preference, a correction or something to remember.

The answer comes from its form alone (`statement_forms`). A prompt without cues costs a few
substring searches; only the forms it may have are compiled, and what speaks against a sentence
only when something spoke for it: a hook runs once per prompt, so compiling is what costs.

It knows nothing of messages, quotes or pasted text. Precision comes before recall: a missed
preference is said again, a wrong policy is obeyed.
"""

from __future__ import annotations

import re
from functools import cache

from . import forms_abroad, forms_corrections, forms_decisions, forms_rules, objections
from .form_words import Form

FORMS = (
    *forms_rules.FORMS,
    *forms_corrections.FORMS,
    *forms_decisions.FORMS,
    *forms_abroad.FORMS,
)

# What a statement becomes, in the order in which they are asked for: what binds most comes first.
RULES = {
    "constraint": ("policy", "critical"),
    "preference": ("preference", "medium"),
    "decision": ("decision", "medium"),
    "habit": ("fact", "normal"),
    "correction": ("fact", "high"),
    "remember": ("fact", "high"),
    "fact": ("fact", "normal"),
    "reference": ("reference", "normal"),
}


def forms_in(text: str) -> list[Form]:
    """The forms that the sentences of this text may have."""
    lowered = text.lower().replace("’", "'")
    cued = {
        number
        for first, rest, number in _cues()
        if first in lowered and (not rest or all(part in lowered for part in rest))
    }
    return [FORMS[number] for number in sorted(cued)]


@cache
def _cues() -> list[tuple[str, list[str], int]]:
    """Each cue in its parts, the first of them apart, and the number of its form."""
    return [
        (first, rest, number)
        for number, form in enumerate(FORMS)
        for first, *rest in [cue.split("&") for cue in form.cues.split("|")]
    ]


def rule_of(sentence: str, forms: list[Form]) -> str:
    """Return the rule that the sentence states, or an empty string."""
    sentence = _compiled(objections.TAG).sub("", sentence)
    for form in forms:
        if _compiled(form.pattern).search(sentence):
            if _is_objected(sentence, form):
                continue
            return form.rule
    return ""


def _is_objected(sentence: str, form: Form) -> bool:
    """Check whether the sentence asks, guesses, or speaks of this moment only."""
    asks = sentence.endswith(("?", "？")) or _compiled(objections.QUESTION).match(sentence)
    return bool(
        (asks and not form.asked)
        or (_compiled(objections.SOFTENED).search(sentence) and not form.hedged)
        or (_compiled(objections.HEDGE).search(sentence) and not form.asked)
        or _compiled(objections.PASSING).search(sentence)
        or _compiled(objections.UNLESS[form.rule]).search(sentence)
    )


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)
