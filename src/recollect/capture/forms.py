"""The forms of rules and preferences in English.

A form is one way to state something, a row of a table: its rule and cues, then its pattern. Cues
are plain pieces of text of which one must be in the message, so that a message without any costs a
few substring searches. `forms_decisions` has the forms of decisions, corrections and facts,
`forms_foreign` the plainest ones of eight other languages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..fast_typing import NamedTuple


class Form(NamedTuple):
    """One way to state something: `cues` are alternatives by "|", parts of one joined by "&".

    `hedged` forms count behind "I think" too, `asked` forms in a question too: they state a reason
    or a choice that outlasts the question.
    """

    rule: str
    cues: str
    pattern: str
    hedged: bool
    asked: bool


def read_forms(table: Mapping[str, str]) -> Iterator[Form]:
    """Yield the forms of a table of patterns by `rule: cues` or `rule, hedged, asked: cues`."""
    for key, pattern in table.items():
        about, _, cues = key.partition(": ")
        rule, *marks = about.split(", ")
        yield Form(rule, cues, pattern, "hedged" in marks, "asked" in marks)


VERBS = (
    "add answer apply ask assume avoid branch build bump call catch change check clean commit "
    "confirm consider copy create define delete deploy display do document edit ensure exit "
    "explain expose fail follow force format handle hardcode hard-code ignore import include "
    "install keep leave lint log make merge mock modify name open pass pin prefer prefix print "
    "push put raise read rebase rely remove reply respond return revert review rewrite run save "
    "send set show skip squash start store test throw touch treat trust try update use validate "
    "verify wrap write"
).replace(" ", "|")

LANGUAGES = (
    "english|german|french|spanish|portuguese|italian|dutch|polish|russian|chinese|mandarin|"
    "japanese|korean|thai|turkish|arabic|hindi|ukrainian|czech|swedish|deutsch|español|castellano|"
    "français|português|italiano|русском|по-русски|englisch|französisch|spanisch"
)

# Forms of verbs that report: "never seen this", "should never have merged that".
DONE = (
    r"(?:\w+ed|been|seen|saw|heard|done|did|gone|went|made|met|found|taken|took|written|wrote|"
    r"understood|known|knew|come|came|given|gave|kept|left|lost|sent|shown|spent|thought|built|"
    r"bought|brought|broken|broke|chosen|chose|caught|felt|got|gotten|had|held|told|said|won|ran|"
    r"grown|begun|meant|dealt|paid|sat|stood|taught|spoken|forgotten|hidden|thrown|proven)\b"
)
PAST = rf"have {DONE}(?! \w+s[.!]*$)"

POINTERS = "it|this|that|these|those|them|any of (?:it|this|that|these|those|them)|him|her|there"
POINTED = r"(?:it|them|him|her|(?:this|that|these|those)(?=[.,;!)]|$| \w+ly\b))\b"

# The start of an order. After other words it is mostly a report.
ORDER = r"(?:^|[,;:(–—-] *|\b(?:please|pls|and|also|but|so|just|ok|okay|yes|no|let's|lets) +)"
SAKE = r"(?:for (?:\w+(?:'?s)? sake|the love of \w+)|seriously|damn it)"
LEAD = rf"^(?:(?:please|and|also|so|but|ok|okay|yes|no|oh|just|again|btw|{SAKE})[, ]+)*"

CHECKS = (
    "run|lint|format|test|check|verify|validate|review|update|regenerate|bump|rebuild|read|clean"
)
# Things at hand, and pronouns without a noun.
GIVEN = r"(?:the|this|that|these|those|my|it|them|him|her|his|their)\b"
POINTERS_ALONE = r"(?:it|this|that|these|those|them|him|her)\b"

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

# A plural without one of these words ("commits", not "the commits") means all, also later ones.
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
# Practices for every change, and the steps at which they apply.
PRACTICES = (
    "tests|testing|coverage|reviews?|approvals?|hints|annotations|docstrings?|documentation|"
    "docs|changelogs?|linting|formatting|commits|sign-?offs?"
)
STEP = (
    r"(?:every|each|any|all|(?:(?:you|we|an?|the|your|our) )?"
    r"(?:commit|merg|push|releas|deploy|ship|publish)\w*)\b"
)

RULE_FORMS = {
    # "Must" is a rule only with a limit, for all of a kind, at every step, for good, as a way of
    # working, or with the way in which something is done.
    "constraint: must": (
        r"\bmust(?:n't| not| never| always| only)\b|"
        r"(?:^(?:all|every|each)\b.{0,80}|"
        r"\b(?:all|every|each|any|no|everything|everyone|nothing|nobody|whenever)\b[^,;:]{0,80})"
        rf"\bmust\b|{IN_GENERAL}(?:{PLURAL}(?: (?:of|for|in|on|to|from) [^,;:]{{1,40}})?|code|"
        rf"{PRACTICES}) must\b|^(?:our [^,;:]{{1,60}}|this (?:project|repo|package|app)) must\b|"
        rf"\bmust\b[^,;:]{{1,60}}\b(?:before|after|with|on|for|in|at) {STEP}|"
        r"\bmust (?:stay|remain) \w|"
        r"\b(?:you|we|i) must (?:use|keep|follow|run|write|ask|commit|test|do|support|focus|stay|"
        r"preserve|maintain|respect|adhere|match|reference|show|validate|verify|check|update|"
        r"document|ensure|avoid)\b|"
        r"\bmust be \w+ (?:using|via|through|with|by|in|on|only|after)\b"
    ),
    "constraint:  ever|'t push|not push|dont push|'t commit|not commit|dont commit|'t merge|"
    "not merge|'t deploy|not deploy": (
        rf"\b(?:don'?t|do not) (?:you )?ever\b|\bnever,? ever\b(?! {DONE})|"
        rf"{ORDER}(?:don'?t|do not) (?:commit|push|merge|deploy)\b[^,;:]{{0,30}} "
        r"(?:to|into|on) (?:the )?(?:main|master|prod\w*)\b|"
        r"\b(?:should|must|can)(?: not|n't)\b[^,;:?]{1,60}\bever\b"
    ),
    "constraint: required|mandatory|negotiable|forbidden|prohibited|allowed|permitted": (
        r"\brequired (?:for|in|on|with|by|around) (?:all|every|each|any|our|new)\b|"
        rf"\brequired (?:(?:before|after|to) {STEP}|everywhere\b|that\b)|"
        rf"{IN_GENERAL}(?:(?:{PRACTICES}) (?:(?:is|are) (?:\w+ )?)?required\b|"
        rf"{PLURAL}(?: (?:of|for|in|on|to|from) [^,;:]{{1,40}})? are not allowed[.!]*$)|"
        r"\b(?:you|we) are required to\b|\b(?:is|are|be|it's|that's) (?:\w+ly |always )?"
        r"(?:mandatory|non-negotiable|forbidden|prohibited)\b|"
        r"\b(?:you|we|they|nobody) (?:are|is)(?: not|n't| never) allowed\b|"
        r"^no\b.{3,40}\ballowed[.!]*$|^only\b.{3,80}\b(?:are|is) (?:allowed|permitted)\b"
    ),
    "constraint: all |every|each ": (
        rf"{LEAD}(?:all|every|each|everything)\b(?! (?:we|i|you|it|(?:of )?(?:this|that|these|"
        r"those))\b)(?:(?! (?:i|we|you) )[^,;:?]){0,80} "
        r"(?:should|shouldn't|needs? (?:to|its|their|an?|\w{3,}s)|ha(?:s|ve) to)\b|"
        r"[:,] (?:every|each) (?!of\b)(?:(?!i |we |you )[^\s,;:]+ ){1,4}"
        r"(?:should|needs? to|ha(?:s|ve) to)\b"
    ),
    "constraint: unless i|without ": (
        r"\b(?:don'?t|do not|never) (?:[^\s,;:]+ ){1,8}(?:unless i\b|without (?:my|me|asking|"
        r"telling|confirm\w*|checking|permission|approval)\b)"
    ),
    "constraint: directly|by hand|manually|blindly|on the server|in prod": (
        rf"{ORDER}(?:don'?t|do not|never) (?:just |simply |ever )?(?!(?:know|think|see|have|need|"
        rf"get)\b)"
        r"\w+ [^,;:?]{2,80}\b(?:directly|by hand|manually|blindly|on the server|in prod\w*)\b"
    ),
    "constraint:  me &before": (
        r"\b(?:ask|confirm with|check with|consult) me (?:\w+ ){0,2}before\b"
    ),
    "preference: prefer": (
        r"(?:\bi|^(?:[^,;:]{1,20}, +)?we)(?:'?d| would)?(?: \w+ly| much| still| always)? prefer\b|"
        r"(?:^|\b(?:but|and) )would prefer\b|\bmy preference is\b|(?:^|, )(?:please )?prefer \w"
    ),
    "preference, asked: you &always|you &never|you &from now on|you &going forward|"
    "you &in future": (
        r"^(?:can|could|would|will) you (?:please |also |just )?(?:"
        rf"(?:always|never) (?:{VERBS}|force)\b|.*\b(?:from now on|going forward|in future)\b)"
    ),
    "preference: d rather": r"\b(?:i|we)(?:'?d| would)(?: much)? rather \w",
    "preference: from now on|going forward|as a rule,": (
        r"\b(?:(?:from now on|going forward)\b|as a rule,)"
    ),
    "preference: always|never": (
        rf"\bshould (?:always|never) (?!{PAST})\w|\b(?:i|we)(?: \w+)? (?:always|never) want\b|"
        r"^(?:(?:please|important|critical|note|rule)[:,!]* )?(?:always|never) (?!(?:the|an?|we|i|"
        r"you|they|it|mind|again|ever|here|there|up|in|on|at|so|"
        rf"good|nice|great|happy|glad|fun|{DONE}|\w+ing|\w+s)\b)"
        r"\w|(?:^|[,;:(–—-] *|\b(?:please|and|then|so|but|should|you|we|i|to|will|i'll) +)"
        rf"(?:always|never) +(?:(?:{VERBS})\b(?! {POINTED})|__)|, always[.!]*$|"
        r"^(?:please )?use [^,;:]{1,80}(?:,| [-–—]) *never \w"
    ),
    # Ways of working: forbidden, or put in place of others. "Don't commit" is about this moment,
    # "don't hardcode" is not.
    "preference: t use|t hard|t assume|t guess|t invent|t rely|t mock|t stub|t duplicat|t mix|"
    "t litter": (
        rf"{ORDER}(?:don'?t|do not) (?:ever )?(?:use|hard-?code|assume|guess|invent|rely|mock|"
        rf"stub|duplicate|mix|litter)\b(?! (?:{POINTERS})\b)"
    ),
    "preference: avoid": (
        r"(?:^|[,;(–—-] *|\b(?:please|pls|try to|let's|lets) +)avoid \w+|"
        r"\b(?:i|we)(?:'d| would)? (?:want|like|love) to avoid (?!this\b)"
    ),
    "preference: stop &ing": (
        rf"{LEAD}stop (?:using|adding|asking|creating|writing|making|generating|saying|telling|"
        r"putting|doing|changing|removing|committing|pushing|guessing|assuming|inventing|"
        r"duplicating|apologi[sz]ing|talking|renaming|reformatting|rewriting|deleting)\b"
    ),
    "preference: instead of|rather than|use&not |using&not |prefer&over": (
        r"(?:^|[,;–—-] *|\b(?:please|just|only|let's|lets|make sure to|(?:we|you) should) +)"
        r"(?:use|be using|prefer|run using) (?:[^\s,;(]+ ){0,8}?[^\s,;(]+,? "
        rf"(?:instead of|rather than|(?:and )?(?<!if )not|over) "
        rf"(?!(?:{POINTERS}|just|only|sure|the current)\b)\S|"
        r"(?:^|[,;:–—-] *)instead of (?:[^\s,;]+ ){1,6}?(?:please )?use \w"
    ),
    "preference: only use|use & only": (
        rf"{ORDER}only use (?!the\b)\w|^use (?:[^\s,;]+ ){{1,4}}only[.!]*$"
    ),
    # Likes and dislikes.
    "preference: t like|t want|t love|i hate ": (
        r"\b(?<!if )(?<!that )(?<!when )(?:i|we) (?:really |definitely |also )?(?:don'?t|do not) "
        rf"(?:like|love|want)(?: to (?:have|see|use|rely|be))? "
        rf"(?!(?:{POINTERS}|you|your|to|anything|where|how|what|\d)\b)\w|"
        rf"\bi hate (?!(?:{POINTERS}|when|to|how)\b)\w"
    ),
    "preference: i usually |i always |i generally |i normally |i like to ": (
        r"\bi (?:usually|always|generally|normally|like to) "
        r"(?:use|like|want|run|work|write|keep|see)\b"
    ),
    "preference: backward": (
        r"\b(?:no|not|don'?t) (?:need |want |keep |maintain |worry about |for |to |any ){1,4}"
        r"backwards?[ -]compat"
    ),
    # Work that the user does.
    "preference: myself": (
        r"\bi(?:'ll| will) (?:run|test|start|build|commit|push|deploy)\b.{0,40}\bmyself\b"
    ),
    "preference: make sure": r"\bmake sure (?:that )?(?:you|we|to) (?:don'?t|do not|never|not)\b",
    # For every time and place, addressed to the agent.
    "preference: next time|every time|each time|whenever|at all times": (
        r"^(?=.*\b(?:please|make sure|ensure|you (?:should|need to|have to)|do not|don't|tell me|"
        r"ask me|i want|i'd like|i would like)\b).*"
        r"\b(?:next time|(?:every|each) time|whenever|at all times)\b|"
        rf"{LEAD}next time,? (?:please )?(?:{VERBS})\b"
    ),
    "preference: in the future|in future": (
        r"^(?=.*\b(?:please|make sure you|ensure you|do not|don't)\b).*"
        r"\bin (?:the )?future[.!,]*(?: please)?$|"
        rf"{LEAD}in (?:the )?future,? (?:please )?(?:{VERBS}|don'?t|do not|always|never)\b"
    ),
    "preference: everywhere|wherever |in all cases|no matter what": (
        r"(?:\bmake sure (?:we(?:'re)?|you|to) (?:are |be )?us(?:e|ing)|^(?:please )?use|"
        r"\bshould be us(?:ed|ing)|\balways|\bconsistent\w*|\bin all cases)\b.*\b(?:everywhere|"
        r"wherever (?:you|we) can|wherever possible|in all cases)\b|\bno matter what,"
    ),
    "preference: at a time": (
        rf"{LEAD}(?:let's|lets|ask|do|work|focus|take|we|go)\b.*"
        r"\b(?:one|1) (?:\w+ ){0,2}at a time\b"
    ),
    # Orders for every occasion of their kind.
    "preference: before every|before each|before any|before &commit|before &merg|before &push|"
    "before &releas|before &deploy|before &ship|before &publish|ask&before |check&before |"
    "confirm&before ": (
        rf"{LEAD}(?:{CHECKS}) (?!{POINTED}|{GIVEN})[^,;:?]{{2,60}} before (?:you |we )?{STEP}|"
        rf"{LEAD}(?:{VERBS}) [^,;:?]{{2,60}} before (?:every|each|any) \w|"
        rf"{LEAD}(?:always )?(?:ask|check|confirm)(?: with)?(?: me)?(?: first)?,? before "
        rf"(?:you )?(?!{POINTERS_ALONE})(?:\w+ing\b|(?<=you )\w+)(?! {POINTED})(?: (?!{GIVEN})\w|"
        r"[.!]*$)"
    ),
    "preference: whenever |every time |each time ": (
        rf"{LEAD}(?:whenever|(?:every|each) time) (?:you|we) [^,;:?]{{3,80}}, (?:please |also |"
        rf"always |then )?(?:{VERBS}|regenerate|rerun)\b(?! {POINTED})|"
        rf"{LEAD}(?:{VERBS}|regenerate|rerun)\b [^,;:?]{{3,80}} (?:whenever|(?:every|each) time) "
        r"(?:you|we) \w"
    ),
    "preference: \n no |- no |please no |and no |also no |so no ": (
        r"^(?:(?:please|and|also|so)[, ]+)*no (?:more )?(?!(?:more|longer)\b)(?:[\w-]+ )?"
        r"(?!(?:errors?|warnings?|issues?|problems?|failures?|changes|results?|conflicts?|ideas?|"
        rf"worries|bugs?|tests?|files|matches|differences|traces|signs|crashes|logs|rows|entries|"
        rf"records|"
        rf"items|values|users|hits|responses|duplicates|regressions|commits|"
        rf"branches)\b)(?:{PLURAL}|"
        rf"\w{{3,}}ing) (?:in|on|for|inside|within) (?!{GIVEN})(?:[\w-]+ ){{0,2}}(?:{PLURAL}|code|"
        r"production|docs)[.!]*$"
    ),
    "preference: more than |at most |max": (
        rf"{LEAD}(?:no more than|not more than|at most|max(?:imum)?(?: of)?) [\w.]+ "
        r"[\w -]{2,40}?\b(?:per|for each|for every) \w"
    ),
    "preference: \n keep |- keep |always keep |please keep |and keep |also keep |so keep |just "
    "keep ": (
        rf"{LEAD}(?:always )?keep (?:your |all |all your |our |every )?(?!{GIVEN})"
        rf"(?:[\w-]+ ){{0,2}}?{PLURAL} (?:always |as |very )?(?:short|small|brief|concise|terse|"
        rf"simple|tiny|focused|"
        r"minimal|lean|flat|sorted|readable|self-contained|up to date|under|below|within|to an? |"
        r"to (?:one|\d)|in sync|out of)\b"
    ),
    # The way of writing something, with the way that it replaces.
    "preference: , not |,not ": (
        rf"{LEAD}(?:always )?(?:indent|format|write|name|wrap|document|comment|spell|prefix|label|"
        rf"answer|reply|respond|lint|mock) (?!{GIVEN}|{POINTED})(?:[^\s,;:]+ ){{1,8}}?[^\s,;:]+, ?"
        r"not (?!(?:just|only|sure|yet|too|this)\b)[^,;:]{1,40}[.!]*$|"
        rf"{LEAD}(?:always )?(?:{VERBS}|sort|check) (?!{GIVEN}|{POINTED})"
        r"(?:[^\s,;:]+ ){1,3}?with [^\s,;:]+, ?not (?:with )?(?!(?:just|only|the|"
        r"this)\b)[^\s,;:]+[.!]*$"
    ),
    "preference: answer & in |reply & in |respond & in |talk & in |speak & in ": (
        rf"{LEAD}(?:answer|reply|respond|talk|speak)(?: to)?(?: me)?(?: back)? (?:always |only )?"
        rf"in (?:{LANGUAGES})[.!]*$"
    ),
    # A choice for a purpose.
    "decision: let's use |lets use ": (
        rf"{LEAD}(?:let's|lets) use (?!{GIVEN}|(?:an?|your|our|option|\d)\b)[^\s,;:]+"
        rf"(?: [^\s,;:]+){{0,2}}? (?:for|as) (?!now\b|{GIVEN})[\w -]{{3,40}}[.!]*$"
    ),
}
