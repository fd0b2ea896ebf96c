"""Whether a user's message asks to work without memory, for that turn only.

A request stands at the start of a clause, as an order does ("ignore memory and tell me …", "…,
without memory"), and nothing but a time or a politeness follows it. Whoever speaks *about* it
("what does ignore memory do?", "it ignores memory leaks"), forbids it or quotes it does not ask for
it. It knows English phrasing and one message; it remembers nothing.
"""

from __future__ import annotations

import re
from functools import cache

from .capture import pasted

LONGEST_CLAUSE = 300
"""A request is short; a longer clause is not looked at."""

_MEMORY = (
    r"(?:(?:all|any|every|the|your|my|our|its|of|that|this|previous|prior|past|earlier|saved|stored|"
    r"existing|project|user|long[- ]term|session|recollect|persistent)\s+){0,4}(?:memory|memories)"
)
_CONSULT = (
    r"(?:us|consult|look(?:ing)? at|check|rely(?:ing)? on|read|load|refer(?:ring)? to|apply|tak|"
    r"includ|inject|access|touch|consider|draw(?:ing)? on|go(?:ing)? by)(?:e|ing)?"
)
_THIS = (
    r"(?:answer|turn|question|message|one|task|request|reply|response|session|chat|conversation|"
    r"prompt|problem|part|step|bit|time|thing)"
)
_ORDERS = (
    r"(?:answer|do|solve|try|tell|write|respond|reply|start|work|plan|review|think|implement|fix|"
    r"continue|proceed|redo|give|show|check|look|find|summari[sz]e|list|refactor|explain|describe|"
    r"go|run|debug|make|add|help|suggest|propose)"
)

_SOURCES = {
    "hint": r"memor(?:y|ies)|you (?:\w+ )?(?:remember|know)|(?:fresh|clean|blank)\s+context",
    "quoted": r"`[^`\n]*`|\"[^\"\n]*\"|“[^”\n]*”|«[^»\n]*»|‘[^’\n]*’|(?<!\w)'[^'\n]*'(?!\w)",
    "sentence": r"(?<=[.!?…])\s+|\n+",
    "clause": r"\s*[,;:—–!?.…]+(?:\s+|$)|[()]|\s+-+\s+|\s+(?:and|but|then|so)\s+",
    "lead": r"(?:(?:ok|okay|now|please|also|hey|hi|well|just|kindly|here|first|instead|again|today|"
    r"for this(?: \w+)?|for now|this time|let's|lets|i(?:'d| would)? (?:want|like|need) you to|"
    r"you (?:can|should|must|may)|(?:can|could|would|will) you|feel free to|try to|make sure to|"
    r"and|but|then|so|yes)\s+)+",
    "request": rf"(?:ignore|disregard|skip|bypass|leave out|set aside|forget about)\s+{_MEMORY}"
    rf"|ignoring {_MEMORY}"
    r"|(?:ignore|disregard|forget|set aside) (?:all |everything )?(?:that |what )?"
    r"you (?:already |still )?(?:remember|know)(?: from before| about (?:this|it)(?: \w+)?)?"
    rf"|(?:turn|switch) off {_MEMORY}(?= for\b)|disable {_MEMORY}(?= for\b)"
    rf"|(?:do not|don't|dont|never mind|no) {_CONSULT}\s+{_MEMORY}"
    r"|(?:act|behave|answer|proceed|pretend|work)(?: as (?:if|though))? you (?:had|have) no "
    rf"{_MEMORY}(?: of (?:this|that|it)(?: \w+)?)?"
    rf"|(?:{_ORDERS}\b.{{0,200}}?\s)?(?:without|with no)(?: {_CONSULT})?\s+{_MEMORY}"
    rf"|(?:no {_MEMORY}|memory off)"
    rf"|(?:{_ORDERS} (?:this|that|it)(?: {_THIS})? )?"
    r"(?:(?:use|with|start(?: over)?(?: with| from| in)?|from|in|take|give me|i (?:want|need)|work"
    r" (?:with|from|in)|begin with|go with)\s+)?(?:an? )?(?:totally |completely |entirely )?"
    r"(?:fresh|clean|blank)\s+context",
    "tail": r"(?:\s+(?:please|here|now|then|today|at all|entirely|completely|altogether|for now|"
    r"for once|this time|this turn|again|instead|"
    rf"for (?:this|that|one|(?:the|my) (?:next|following))(?: {_THIS})?|"
    rf"(?:in|for) (?:this|your|the next) {_THIS}|on this(?: {_THIS})?|"
    r"from (?:previous|earlier|past|last|other|before|prior)(?: \w+)?|"
    r"of (?:previous|earlier|past|prior|our|last)(?: \w+){0,3}|you have(?: \w+){0,4}|"
    r"when (?:answering|you answer|responding)(?: \w+){0,4}|while \w+ing(?: \w+){0,4}|"
    r"to (?:answer|solve|do)(?: \w+){0,6}|about (?:this|that|me|it)(?: \w+){0,3}))*\s*",
    # Words before "without memory" that make the sentence a talk about agents without memory.
    "about": r"\b(?:how|why|what|agents?|models?|llms?|users?|systems?|when|whether|if|that|who)\b",
    "next": rf"(?:please )?(?:{_ORDERS}|wh(?:at|ich|ere|o|y|en)|how|is|are|can|could|does)\b",
}


@cache
def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(_SOURCES[name], re.IGNORECASE)


def asks_to_ignore(text: str) -> bool:
    """Whether this message switches every source of memory off for its turn."""
    if not _pattern("hint").search(text):
        return False
    return any(map(_asks, _pattern("sentence").split(_typed(text))))


def _typed(text: str) -> str:
    """The text without what was pasted, and with quotes and code as one dull word."""
    kept: list[str] = []
    position = 0
    for start, end in pasted(text):
        kept += (text[position:start], "\n")
        position = end
    kept.append(text[position:])
    return _pattern("quoted").sub(" … ", "".join(kept)).replace("’", "'")


def _asks(sentence: str) -> bool:
    clauses = [clause for clause in _pattern("clause").split(sentence) if clause.strip()]
    for at, clause in enumerate(clauses):
        if len(clause) > LONGEST_CLAUSE or not _pattern("hint").search(clause):
            continue
        lead = _pattern("lead").match(clause.strip() + " ")
        order = clause.strip()[lead.end() :] if lead else clause.strip()
        request = _pattern("request").match(order)
        if not request or not _pattern("tail").fullmatch(order, request.end()):
            continue
        if "without" not in request[0].lower() or _is_meant(request[0], at, clauses):
            return True
    return False


def _is_meant(request: str, at: int, clauses: list[str]) -> bool:
    """Whether "without memory" is asked for, and not told: "without memory, agents repeat …"."""
    before = request.lower().partition("without")[0]
    if _pattern("about").search(before):
        return False
    if at == 0 and not before.strip() and len(clauses) > 1:
        return bool(_pattern("next").match(clauses[1].strip()))
    return True
