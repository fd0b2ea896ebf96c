"""Decide whether a sentence states a rule, a preference, a decision, a correction or a fact.

Only the form of the sentence decides (`forms`, `forms_decisions`). A hook runs once per prompt, so
compiling patterns is the main cost. A prompt without cues costs a few substring searches; only the
forms whose cues occur are compiled, and the patterns that rule a sentence out only after a match.

`sentences` splits messages and masks quotes and pasted text. Precision comes before recall: a user
repeats a missed preference, but an agent obeys a wrong policy.
"""

from __future__ import annotations

import re
from functools import cache

from ..fast_typing import NamedTuple
from .forms import RULE_FORMS, Form, read_forms
from .forms_decisions import CORRECTION_FORMS, DECISION_FORMS
from .forms_foreign import FOREIGN_FORMS

FORMS = tuple(
    form
    for table in (RULE_FORMS, CORRECTION_FORMS, DECISION_FORMS, FOREIGN_FORMS)
    for form in read_forms(table)
)

# Kind and priority of the memory for each rule, the most binding rule first.
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


_WITHDRAWING = (
    *(
        "no longer",
        "any more",
        "anymore",
        "any longer",
        "stop",
        "quit",
        "forget",
        "drop",
        "ignore",
        "scrap",
    ),
    *("lift", "cancel", "withdraw", "remove"),
)
"""Words of which a message that takes a rule back has one."""


DOUBT = "doubt"
"""The detail that says why a captured sentence is only proposed."""

WITHDRAWAL = "withdrawal"
"""The rule of a sentence that takes a rule back and states nothing else."""


class Withdrawal(NamedTuple):
    """The words that name a rule that is taken back.

    is_called: they call it by its topic ("the emoji rule") instead of repeating it
    is_alone: the sentence states nothing beside; "…, we use make check" does
    """

    words: str
    is_called: bool
    is_alone: bool


def may_withdraw(text: str) -> bool:
    """Check whether a message may take a rule back: see `withdrawals`."""
    lowered = text.lower()
    return any(word in lowered for word in _WITHDRAWING)


def forms_in(text: str, rule: str = "") -> list[Form]:
    """Return the forms, of one rule or of all, that the sentences of this text may have."""
    # A cue may begin with a line end and a space: the start of a sentence.
    lowered = text.lower().replace("’", "'").replace("\n", "\n ")
    lowered = "\n " + lowered.replace(". ", ".\n ").replace("! ", "!\n ")
    cued = {
        number
        for first, rest, number in _cues(rule)
        if first in lowered and (not rest or all(part in lowered for part in rest))
    }
    return [FORMS[number] for number in sorted(cued)]


@cache
def _cues(rule: str) -> list[tuple[str, list[str], int]]:
    """Return each cue as its first part, its other parts, and the index of its form."""
    return [
        (first, rest, number)
        for number, form in enumerate(FORMS)
        if not rule or form.rule == rule
        for first, *rest in [cue.split("&") for cue in form.cues.split("|")]
    ]


def rule_of(sentence: str, forms: list[Form]) -> str:
    """Return the rule that the sentence states, or an empty string."""
    sentence = _compiled(_TAG).sub("", sentence)
    for form in forms:
        if _compiled(form.pattern).search(sentence):
            if _is_ruled_out(sentence, form):
                continue
            return form.rule
    return ""


def _is_ruled_out(sentence: str, form: Form) -> bool:
    """Check whether the sentence asks, guesses, or speaks of this moment only."""
    asks = sentence.endswith(("?", "？")) or _compiled(_QUESTION).match(sentence)
    return bool(
        (asks and not form.asked)
        or (_compiled(_SOFTENED).search(sentence) and not form.hedged)
        or (_compiled(_HEDGE).search(sentence) and not form.asked)
        or _compiled(_PASSING).search(sentence)
        or (_compiled(_TASK).match(sentence) and not _compiled(_FOR_GOOD).search(sentence))
        or _compiled(_UNLESS[form.rule]).search(sentence)
    )


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_FEELINGS = (
    r"an?|some|so|such|really|very|quite|that|because|the|something|why|how|\w+ing|\w*ful|nice|"
    "hard|tough|great|fun|wrong|awesome|incredible|proud|happy|excited|thrilled|tired|stoked|"
    r"broken|missing|ready|elsewhere|\d+"
)

# "…, right?" is a statement that asks for agreement.
_TAG = r"[,.]? *(?:right|correct|no|ok|okay|yes|yeah)\?+$"

_QUESTION = (
    r"(?:(?:and|but|so|ok|okay|also|hmm+)[, ]+)*(?:(?:can|could|would|will|should|do|does|did|is|"
    r"are|was|were|must|may|shall)\s+(?:i|you|we|it|they|he|she|there|this|that|the|these|those|"
    r"my|our)\b|(?:what|why|how|where|which|who|whose)\b)|¿|.*(?:[吗嗎]|か)[。]?$"
)

# Speculation; the second pattern only softens a choice that is made.
_HEDGE = (
    r"\b(?:i (?:guess|wonder|suppose|assume)|maybe|perhaps|possibly|might|"
    r"not sure|unsure|wondering|i'm thinking|looks like|if you prefer|"
    r"theoretically|in theory|doesn't seem|don't think)\b|^for (?:example|instance)\b"
)
_SOFTENED = r"\b(?:i (?:think|believe|feel)|probably|(?<!if it )seems?)\b"

# Statements about this moment, or about something outside of the sentence.
_PASSING = (
    r"\bfor this[.!]*$|\b(?:in|for|on|within) this (?:pr|pull request|branch|commit|session|chat|"
    r"conversation|turn|round|run|task|ticket|issue|phase|iteration|sprint|review|case|step|"
    r"refactor\w*|change|feature|function|method|test|query)\b|\b(?:in|to|for) this file\b|\bthis "
    r"once\b|\b(?:for|in|on) the next (?:run|commit|step|try|attempt)\b|\bafter this\b|"
    r"\b(?:when|whenever|once|as soon as) (?:you're |you are |it's |it is |that's )?(?:done|"
    r"finished)\b|"
    r"\b(?:for )?(?:today|tonight|tomorrow)\b|\bfor the time being\b|\buntil (?:later|then)\b|"
    r"^there(?:'s| is| are) (?:an? )?new\b|^(?:\w+|next|last) step[,:]|"
    r"\buse the (?:first|second|other)\b|\b(?:do|did|does|like) (?:this|that|it)\b|"
    r"\bmake sure (?:this|it)\b|"
    r"\b(?:this|that) (?:one|route|way|time)\b|\byet\b|\bplease check\b|"
    r"^(?!.*\b(?:from now on|going forward|whenever|(?:each|every) time)\b|"
    r"(?:please )?(?:always|never)\b)"
    r".+\bagain\b|"
    r"\b(?:for|right|just) now\b|"
    r"^(?!.*\b(?:should be|called|named) \S*[/_.-]\S* now\b|"
    r"(?:(?:actually|ok|okay|so|yes|no|and|but|also)[, ]+)*(?:we use|i prefer) "
    r"(?!(?:an?|the|this|that|these|those|it|you|your|more|less|fewer|version|option)\b)"
    r"[^,;:?]+ now\b|"
    r"(?:(?:actually|ok|okay|so|yes|no|and|but|also)[, ]+)*(?:we|our) [^,;:?]+ now, (?:not|no "
    r"longer|"
    r"instead|rather)\b).*\bnow(?:,|[.!]*$)|"
    r"\b(?:at|for) the moment\b|\btemporarily\b|"
    r"\b(?:bugs?|errors?|crash(?:es|ed)?|broken) (?:is|are|was|where|when|because)\b|"
    r"\bthere (?:is|are) (?:\w+ ){1,2}(?:bugs?|errors?|issues?|problems?)\b|^if (?:not|so)\b|"
    r"\b(?:rule|description|instructions?) (?:that|which) (?:says?|states?)\b|\bnot the one\b|"
    r"\bwhen i (?:go|click|open|press|run|try)\b|"
    # A place in a file, and the text of an error.
    r"\.\w{1,6}:\d|\blines? \d|(?-i:\b[A-Z]\w*(?:Error|Exception)\b)|\berror: |\bblocked by\b|"
    # Data.
    r"^[{\[]|\w- [A-Z].*\w- [A-Z]|_: ?[_\[{]|_,_|\",\"|\":\"|\\\"|"
    # Lines of answers and documents begin in bold or end with a number in brackets; people do not
    # type that.
    r"^\*\*(?!important|note|rule)|\w\[\d+\][.!]*$|"
    # A lead-in: the statement follows in another sentence.
    r":$|\b(?:siguientes|suivante?s|seguintes)\b"
)

# An order for work now; the rest of the sentence says how to do that work.
_TASK = (
    r"(?:(?:please|pls|now|then|and|also|so|ok|okay|just|first|next)[, ]+)*(?:spawn|launch|"
    r"spin up|kick off|implement|refactor|investigate|go (?:through|ahead|over)|continue|try again|"
    r"show me|give me|find out|let'?s (?:do|start|finish|continue)|"
    r"have an? (?:\w+ )?(?:sub)?agent|make (?:the|an?)|(?:add|build|change|check|close|commit|"
    r"create|delete|draft|explain|fix|generate|list|merge|move|open|print|push|read|rebase|remove|"
    r"rename|replace|rerun|review|run|sort|start|summari[sz]e|update|write) (?:@(?=\w)|this|that|"
    r"these|"
    r"those|it|them|the|an?|my|some|everything|all the|what|your|\d+|validation|"
    r"(?:\S+ ){1,3}to))\b"
)
_FOR_GOOD = (
    r"\b(?:(?<!should )(?<!them to )(?:always|never)|ever|from now on|going forward|whenever|"
    r"(?:every|each) time|as a rule|in (?:the )?future|by default|without having to|"
    r"(?:ask|tell|confirm with|check with) me|"
    r"(?:for|to|in|with|before|after|at|on) (?:every|each|all))\b"
)

# The work at hand: this change, this branch, something that was just done or is broken.
_TURN = (
    r"\b(?:this|that|the|your) (?:pr|pull request|branch|commit|diff|change|comment|todo|task|"
    r"phase|plan|session|review)\b|\b(?:needs? to|should) be (?:added|removed|moved|fixed|changed|"
    r"updated|done|deleted|renamed)\b|\b(?:just|still|yet|tried|trying|broke\w*|fail\w*|crash\w*|"
    r"missing|wrong)\b|^(?:if|when|why|how|what|where)\b|\bwhat if\b|\b(?:can|could|would|"
    r"will) you\b|\b(?:this|that) (?:function|method|class|component|helper|test|page|query|part|"
    r"logic)\b|\b(?:extract|move|split|put|change|fix|postpone|skip) (?:this|that|it)\b|"
    r"\bthe current (?:approach|plan|design)\b"
)
_TROUBLE = r"\b(?:issue|problem|bug)\b|\berror\b(?! (?:messages?|handling|codes?|types?)\b)"

# Patterns that rule out a sentence although a form of the rule matches.
_UNLESS = {
    # "must" that infers or admits, and requirements that are denied or only mentioned.
    "constraint": r"\bmust(?:'ve| (?:never |not )?have (?:been|some|had|lost|gotten|run|gone|"
    rf"worked)| have \w+ed\b(?! \w+s[.!]*$)| feel| love| really| currently| be (?:{_FEELINGS}))\b|"
    r"\b(?:there|it|that|this|i|he|she|something|\w+ else) must\b|^must (?:be|feel)\b|"
    r"\byou must be\b|\bmust be (?:somewhere|somehow|connected|due|using|one)\b|\bwhy must\b|"
    r"^there should be\b|"
    # Abilities of users, contents of one page, and messages of a program that refuses its input.
    r"\bmust be able\b|\b(?:on|in) this (?:page|screen|form|view|component)\b|"
    r"\bmust (?:not )?(?:be|have|contain) (?:of type|between|at (?:least|most)|empty|positive|"
    r"greater|less|exactly|equal|set|text|non-|unique[.!]*$|(?:an? )?(?:valid\b|(?:string|number|"
    r"integer|object|list|array|boolean)s?\b))|\bsubclass\w* must\b|\bmust implement\b|"
    r"\b(?:what|which|who|how) (?:\w+ ){0,4}must\b|"
    r"\b(?:a|the|if \w+) must\b|\bmust-\w|\bmust (?:get to|fix|find)\b|\bmust[.!]*$|\bmust my\b|"
    r"\byou must \w+ (?:\w+ )?(?:it|this|that|those|these|them)(?: up| out)?[.!]*$|"
    r"\b(?:if|as|when|where|not|isn't|aren't|no longer|no \w+(?: \w+)?) "
    r"(?:is |are |be )?(?:required|mandatory)\b|"
    r"\brequired (?:fields?|sections?|tokens?|changes?)\b|"
    r"\bever (?:forget|quit|give up)\b|\bdo(?:n't|es not|esn't| not) (?:need|have) to\b|"
    r"\b(?:needs? to|should) be (?:added|removed|moved|fixed|changed|updated|done|deleted|"
    r"renamed)\b|"
    # Reports of the words of another person or a tool.
    r"\bsays\b|\b(?:he|she|it|they) said\b|\bdocs say\b|\bwants that\b|"
    r"\bto my understanding\b|\bas it should\b|^(?:so |and )?if you\b",
    "decision": rf"{_TURN}|{_TROUBLE}",
    "habit": rf"{_TURN}|{_TROUBLE}",
    "fact": rf"{_TURN}|{_TROUBLE}",
    "reference": _TURN,
    "preference": r"\b(?:from now on|going forward),? (?:i|we)(?:'m|'ll| am| will| can| could)\b|"
    # A choice between things at hand, and the first step.
    r"\bprefer (?:the )?(?:first|second|third|last|other|former|latter|option|your)\b|"
    r"\b(?:rather|prefer)(?: if)? you (?:first|start|begin)\w*\b|"
    # "The helper here" is the code at hand; "we … here" is a habit of the project.
    r"^(?!.*\b(?:we|always|never)\b).*\buse (?:the|an?|that) \w+(?: \w+)? here(?:[,;.!]|$|"
    r" instead\b)|"
    r"\bthat (?:\w+ )?(?:format|style|pattern|approach)\b|"
    r"\b(?:i|we)(?:'m|'ll| am| will)\b.*\b(?:from now on|going forward)\b|"
    r"^(?:they|it|he|she|his|her|their|this|that|these|those)\b.*"
    r"\b(?:and|so|but|should) (?:always|never)\b|"
    r"\b(?:i|we)(?:'ve| have|'d| had)? never (?:knew|heard|thought|seen|saw|got|been|tried|had|"
    r"did|really|use (?:this|that|these|those))\b|\bused to prefer\b|"
    r"\bcurrently (?:always|never)\b|"
    r"\b(?:caus(?:es?|ing)|appears?|tends?) (?:\S+ ){0,4}to (?:always|never)\b|"
    r"(?:n't|not) (?:\w+ )?(?:need|have|want) to (?:always|never)\b|"
    r"\bcomme ça\b|\b(?:next|every|each) time,? (?:i|we)\b|"
    r"\bwhenever\b.*\b(?:i get|errors?|fails?|crash\w*)\b|\b(?:plan|steps?|path|roadmap) going "
    r"forward\b|"
    r"\bnever ?mind\b|\bbreak character\b|\bbe able to\b|"
    r"\b(?:not|n't)\b.{0,30}\bthe same every time\b",
    # A statement whose subject is in another sentence means nothing by itself.
    "correction": r"^(?:(?:the|one|my|our|another) (?:\w+ )?(?:problem|issue|bug|error)\b)|"
    r"^(?:(?:but|and|so) )?(?:not|it|they|these|those|the key|for|(?:this|that) (?!is |project|"
    r"repo|code|app|package|module|service|library|team|file|filter)\w+)\b|"
    r"\b(?:it is|it's|it was|i was)\b|"
    r"\bnot (?:only|just (?!an?|the)|sure|bad|great|perfect|ideal|working|too|very|yet|related|"
    r"really|that|so|many|much|long|seeing|getting|able|a priority|there|here)\b|\b(?:why|if|"
    r"or) not\b|"
    r"\bactually,? i(?:'\w+)?\b(?! (?:meant|mean|said|prefer))|"
    r"\bactually,? (?:can|could|what|how|why)\b|\bstill\b|\bfail\w*|\bno good\b|\bbroken\b|"
    r"\bthe (?:issue|problem|bug|error) is\b|"
    r"\byou(?:'re| are|'ve| have)? (?:still )?not\b",
    # Advice is not a fact for later.
    # So is an act, unless it is to be done at every turn of its kind.
    "remember": r"\b(?:remember|forget|reminder):? to (?!(?:use|follow|keep|prefer|avoid|treat|"
    r"respect|ask|be|only)\b)(?!.*\b(?:always|never|every|each|all|before|whenever|when|while|if|"
    r"not|without)\b)\w|"
    r"\bremember(?: that)? +\w+ing\b(?! (?:is|are|was|has|runs|needs|uses|lives|must|host|"
    r"server|database)\b)|\byour\b|\bdon't hesitate\b|"
    r"\bto keep in mind[.!]*$|\bshould keep in mind\b|(?<![,;–—-] )\bremember(?: that| it)?[.!]*$|"
    r"\bthis (?:file|branch)\b|\bremember (?:that|the) (?:time|day|first)\b",
}
