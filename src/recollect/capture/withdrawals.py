"""Recognise a sentence that takes a rule back, and the rule that it names.

"You no longer need to run make lint", "stop adding headers", "forget the emoji rule". A rule is
only taken back by words that name it: every content word of the withdrawal stands in the rule and,
where it repeats an order, the verb that the rule begins with. The form of the sentence decides, as
in `statements`: it knows no topics.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from ..text.statements import FILLERS, content_words, read_clauses, read_signs, stems_of
from . import authorship, sentences, standalone
from .statements import WITHDRAWAL, Withdrawal

_LEAD = (
    r"^(?:(?:please|and|also|so|but|ok|okay|yes|no|oh|sorry|wait|actually|well|btw|just|"
    r"from now on|now)[,.:! ]+)*"
)
_REASON = r"(?:,| [-–—]|;) ?(?:because|since|as|now that|ci|it|it's|that|that's|the|we|our) \S"
_END = rf"(?:,? (?:any ?more|from now on|again|either|please))*(?:[.!]*$|(?={_REASON}))"
"""The end of an order that is taken back: of the sentence, or a reason: ", CI does that"."""
_STATES = r"(?:is|are|was|were|be|know|see|think|care|work|works|use[sd]|supports?)\b"
"""Words after "no longer" that tell how things are, and order nothing."""

# An order that is not in force any more: "you no longer need to …", "no longer run …, CI does".
_RELEASED = (
    rf"{_LEAD}(?:(?:you|we|i) (?:no longer (?:need|have) to|can stop) (?P<a>\w[^,;:?]*?){_END}|"
    r"(?:(?:you|we|i) (?:do not|don'?t) (?:need|have) to|(?:there(?:'s| is) )?no need to) "
    rf"(?P<b>\w[^,;:?]*?),? any ?more{_END}|"
    rf"it(?:'s| is) no longer (?:necessary|needed|required) to (?P<c>\w[^,;:?]*?){_END}|"
    r"(?:no longer|(?:do not|don'?t)(?= .* any ?more\b)) "
    rf"(?P<j>(?!need|have|want|{_STATES})\w[^,;:?]*?){_END}|"
    rf"(?:you can |please )?(?:stop|quit) (?P<d>\w+ing\b[^,;:?]*?){_END}|"
    rf"(?:we|i) no longer (?:want|prefer|like) (?:you to |to )?(?P<h>\w[^,;:?]*?){_END}|"
    r"(?:we|i) (?:do not|don'?t) (?:want|prefer|like) (?:you to |to )?"
    rf"(?P<i>\w[^,;:?]*?),? any ?(?:more|longer){_END})"
)
# A rule called by its topic: "forget the emoji rule", "drop the rule about emoji".
_CALLED = (
    rf"{_LEAD}(?:forget(?: about)?|drop|ignore|scrap|lift|cancel|withdraw|remove|"
    r"(?:we|i|you) (?:no longer|do not|don'?t) (?:need|want|have|use|follow)) "
    r"(?:(?:the|my|our|that) (?P<e>[^,;:?.]{2,60}?) (?:rule|convention|preference|requirement)"
    r"(?: (?:for|about|on|in) (?P<f>[^,;:?.]{2,60}?))?|"
    r"(?:the|my|our|that) (?:rule|convention|preference|requirement) "
    r"(?:about|on|for|that says|to) (?P<g>[^,;:?.]{2,60}?)|"
    r"(?:what|everything|all) (?:that )?i(?:'ve| have)? (?:just )?(?:said|told you|asked|wrote|"
    r"mentioned)(?: \w+)? (?:about|on|regarding|concerning) (?P<k>[^,;:?.]{2,60}?))"
    r"(?:,? (?:any ?more|from now on|again|please))*(?=[,;:.!]|$)"
)
_AT_HAND = r"\b(?:this|that|these|those|it|them|here|for now|right now)\b"
"""Words for the work at hand: "stop adding comments to this file" is about this turn."""
_THIS_TURN = (
    r"(?<!does )(?<!do )\bthis\b|\b(?:for|right) now\b|\bto(?:day|night)\b|\bat the moment\b|"
    r"\b(?:(?:it|that)(?: is|'s)|they(?: are|'re)) \w+ing\b"
)
"""The same in a reason: ", because this is a hotfix", ", it is blocking the port"."""

_SILENT = (
    " always never must should shall need use ever not no from to before after with on in for when "
    "every each time any more about my your me us s prefer want like would"
)
_FEWEST = 2
"""Content words of a repeated order: one alone, such as `commit`, stands in many rules."""


@cache
def _pattern(source: str) -> re.Pattern[str]:
    return re.compile(source, re.IGNORECASE)


def add_withdrawals(text: str, stated: Sequence[sentences.Captured]) -> list[sentences.Captured]:
    """Return the statements of a typed message with the sentences that take a rule back, except
    those that may be another person's text."""
    masked = sentences.mask(text)
    taken: dict[sentences.Span, Withdrawal] = {}
    for start, end in sentences.sentence_spans(masked):
        stop = start + standalone.statement_length(masked[start:end])
        if found := find_withdrawn(text[start:stop]):
            taken[start, stop] = found
    if not taken or authorship.is_document(text, masked):
        return list(stated)
    doubt = authorship.doubts(text, masked)
    both = [_mark_withdrawal(one, taken.pop(one.span, None)) for one in stated]
    for span, withdrawal in taken.items():
        words = text[slice(*span)]
        if not doubt(span):
            both.append(
                sentences.Captured(
                    kind="preference",
                    text=words,
                    priority="medium",
                    span=span,
                    rule=WITHDRAWAL,
                    doubt="",
                    quote=words,
                    withdraws=withdrawal,
                )
            )
    return sorted(both, key=lambda one: one.span)


def _mark_withdrawal(one: sentences.Captured, found: Withdrawal | None) -> sentences.Captured:
    """Return a statement with the rule that it takes back. One about the person ("I no longer want
    answers in German") is for all projects, as the rule was."""
    if found and found.is_called and found.is_alone:
        return one._replace(withdraws=found, rule=WITHDRAWAL)
    if found is None or found.is_called or not standalone.is_personal(one.text):
        return one._replace(withdraws=found)
    return one._replace(withdraws=found, kind="preference", personal=True)


def find_withdrawn(sentence: str) -> Withdrawal | None:
    """Return the words that name what a sentence takes back; None for any other sentence."""
    sentence = sentence.replace("’", "'")
    for source, is_called in ((_RELEASED, False), (_CALLED, True)):
        if found := _pattern(source).match(sentence):
            words, rest = " ".join(filter(None, found.groups())), sentence[found.end() :]
            if _pattern(_AT_HAND).search(words) or _pattern(_THIS_TURN).search(rest):
                return None
            more = rest.strip(" .!") if is_called else sentences.capture(rest.strip(" ,;-–—"))
            return Withdrawal(words, is_called, is_alone=not more)
    return None


def pick_named(withdrawal: Withdrawal, rules: Sequence[str]) -> int:
    """Return the number of the one rule that a withdrawal names best; -1 if none, or several do."""
    shares = {
        number: 1 / len(set(_words(rule)))
        for number, rule in enumerate(rules)
        if names_rule(withdrawal, rule)
    }
    best = sorted(shares, key=lambda number: -shares[number])
    is_clear = len(best) == 1 or (
        len(best) > 1 and not withdrawal.is_called and shares[best[0]] > shares[best[1]]
    )
    return best[0] if is_clear else -1


def names_rule(withdrawal: Withdrawal, rule: str) -> bool:
    """Check whether the words of a withdrawal name this rule."""
    words, held = _words(withdrawal.words), _words(rule)
    if not words or not set(words) <= set(held):
        return False
    if withdrawal.is_called:
        return True
    # "Stop adding X" does not take back "never add X".
    affirmed = read_signs(("", rule)).get(held[0], False)
    return affirmed and len(words) >= _FEWEST and held[0] in words


def _words(text: str) -> list[str]:
    """Return the stems of the words that say what a rule is about, in their order."""
    silent = stems_of(FILLERS + _SILENT)
    found = []
    for word in content_words(" ".join(w.raw for c in read_clauses(text) for w in c)):
        parts = [word.stem] if word.stem.isalpha() else re.split(r"[-/]", word.stem)
        found += [part for part in parts if part and part not in silent]
    return found
