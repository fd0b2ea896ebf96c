"""The forms in which people state a rule or a preference in English."""

from __future__ import annotations

from .forms import (
    IN_GENERAL,
    LEAD,
    ORDER,
    PLURAL,
    POINTED,
    POINTERS,
    PRACTICES,
    STEP,
    VERBS,
    Form,
)

FORMS = (
    # "Must" is said of much. It binds with a limit, for all of a kind, at every step, for good, as
    # a way of working, or when it says how something is done.
    Form(
        "constraint",
        "must",
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
        r"\bmust be \w+ (?:using|via|through|with|by|in|on|only|after)\b",
    ),
    Form(
        "constraint",
        " ever|'t push|not push|dont push|'t commit|not commit|dont commit|'t merge|not merge|"
        "'t deploy|not deploy",
        r"\b(?:don'?t|do not) (?:you )?ever\b|\bnever,? ever\b|"
        rf"{ORDER}(?:don'?t|do not) (?:commit|push|merge|deploy)\b[^,;:]{{0,30}} "
        r"(?:to|into|on) (?:the )?(?:main|master|prod\w*)\b|"
        r"\b(?:should|must|can)(?: not|n't)\b[^,;:?]{1,60}\bever\b",
    ),
    Form(
        "constraint",
        "required|mandatory|negotiable|forbidden|prohibited|allowed|permitted",
        # "Is required" and "is not allowed" are what errors say; people say for whom, or when.
        r"\brequired (?:for|in|on|with|by|around) (?:all|every|each|any|our|new)\b|"
        rf"\brequired (?:(?:before|after|to) {STEP}|everywhere\b|that\b)|"
        rf"{IN_GENERAL}(?:(?:{PRACTICES}) (?:(?:is|are) (?:\w+ )?)?required\b|"
        rf"{PLURAL}(?: (?:of|for|in|on|to|from) [^,;:]{{1,40}})? are not allowed[.!]*$)|"
        r"\b(?:you|we) are required to\b|\b(?:is|are|be|it's|that's) (?:\w+ly |always )?"
        r"(?:mandatory|non-negotiable|forbidden|prohibited)\b|"
        r"\b(?:you|we|they|nobody) (?:are|is)(?: not|n't| never) allowed\b|"
        r"^no\b.{3,40}\ballowed[.!]*$|^only\b.{3,80}\b(?:are|is) (?:allowed|permitted)\b",
    ),
    Form(
        "constraint",
        "all |every|each ",
        rf"{LEAD}(?:all|every|each|everything)\b(?! (?:we|i|you|it|(?:of )?(?:this|that|these|"
        r"those))\b)(?:(?! (?:i|we|you) )[^,;:?]){0,80} "
        r"(?:should|shouldn't|needs? (?:to|its|their|an?|\w{3,}s)|ha(?:s|ve) to)\b|"
        r"[:,] (?:every|each) (?!of\b)(?:(?!i |we |you )[^\s,;:]+ ){1,4}"
        r"(?:should|needs? to|ha(?:s|ve) to)\b",
    ),
    Form(
        "constraint",
        "unless i|without ",
        r"\b(?:don'?t|do not|never) (?:[^\s,;:]+ ){1,8}(?:unless i\b|without (?:my|me|asking|"
        r"telling|confirm\w*|checking|permission|approval)\b)",
    ),
    Form(
        "constraint",
        "directly|by hand|manually|blindly|on the server|in prod",
        rf"{ORDER}(?:don'?t|do not|never) (?:just |simply |ever )?(?!(?:know|think|see|have|need|"
        rf"get)\b)"
        r"\w+ [^,;:?]{2,80}\b(?:directly|by hand|manually|blindly|on the server|in prod\w*)\b",
    ),
    Form(
        "constraint",
        " me &before",
        r"\b(?:ask|confirm with|check with|consult) me (?:\w+ ){0,2}before\b",
    ),
    Form(
        "preference",
        "prefer",
        r"(?:\bi|^(?:[^,;:]{1,20}, +)?we)(?:'?d| would)?(?: \w+ly| much| still| always)? prefer\b|"
        r"(?:^|\b(?:but|and) )would prefer\b|\bmy preference is\b|^(?:please )?prefer \w",
    ),
    Form("preference", "d rather", r"\b(?:i|we)(?:'?d| would)(?: much)? rather \w"),
    Form(
        "preference",
        "from now on|going forward|as a rule,",
        r"\b(?:(?:from now on|going forward)\b|as a rule,)",
    ),
    Form(
        "preference",
        "always|never",
        r"\bshould (?:always|never) \w|\b(?:i|we)(?: \w+)? (?:always|never) want\b|"
        r"^(?:(?:please|important|critical|note|rule)[:,!]* )?(?:always|never) (?!(?:the|an?|we|i|"
        r"you|they|it|mind|again|ever|here|there|up|in|on|at|so|"
        r"good|nice|great|happy|glad|fun|been|had|saw|knew|thought|got|felt|\w+ed|\w+ing|\w+s)\b)"
        r"\w|(?:^|[,;:(–—-] *|\b(?:please|and|then|so|but|should|you|we|i|to|will|i'll) +)"
        rf"(?:always|never) +(?:(?:{VERBS})\b(?! {POINTED})|__)|, always[.!]*$|"
        r"^(?:please )?use [^,;:]{1,80}(?:,| [-–—]) *never \w",
    ),
    # Ways of working: forbidden, or put in place of others. "Don't commit" is about this moment,
    # "don't hardcode" is not.
    Form(
        "preference",
        "t use|t hard|t assume|t guess|t invent|t rely|t mock|t stub|t duplicat|t mix|t litter",
        rf"{ORDER}(?:don'?t|do not) (?:ever )?(?:use|hard-?code|assume|guess|invent|rely|mock|"
        rf"stub|duplicate|mix|litter)\b(?! (?:{POINTERS})\b)",
    ),
    Form(
        "preference",
        "avoid",
        r"(?:^|[,;(–—-] *|\b(?:please|pls|try to|let's|lets) +)avoid \w+|"
        r"\b(?:i|we)(?:'d| would)? (?:want|like|love) to avoid (?!this\b)",
    ),
    Form(
        "preference",
        "stop &ing",
        rf"{LEAD}stop (?:using|adding|asking|creating|writing|making|generating|saying|telling|"
        r"putting|doing|changing|removing|committing|pushing|guessing|assuming|inventing|"
        r"duplicating|apologi[sz]ing|talking)\b",
    ),
    Form(
        "preference",
        "instead of|rather than|use&not |using&not |prefer&over",
        r"(?:^|[,;–—-] *|\b(?:please|just|only|let's|lets|make sure to|(?:we|you) should) +)"
        r"(?:use|be using|prefer|run using) (?:[^\s,;(]+ ){0,8}?[^\s,;(]+,? "
        rf"(?:instead of|rather than|(?:and )?(?<!if )not|over) "
        rf"(?!(?:{POINTERS}|just|only|sure|the current)\b)\S|"
        r"(?:^|[,;:–—-] *)instead of (?:[^\s,;]+ ){1,6}?(?:please )?use \w",
    ),
    Form(
        "preference",
        "only use|use & only",
        rf"{ORDER}only use (?!the\b)\w|^use (?:[^\s,;]+ ){{1,4}}only[.!]*$",
    ),
    # What somebody likes.
    Form(
        "preference",
        "t like|t want|t love|i hate ",
        r"\b(?<!if )(?<!that )(?<!when )(?:i|we) (?:really |definitely |also )?(?:don'?t|do not) "
        rf"(?:like|love|want)(?: to (?:have|see|use|rely|be))? "
        rf"(?!(?:{POINTERS}|you|your|to|anything|where|how|what|\d)\b)\w|"
        rf"\bi hate (?!(?:{POINTERS}|when|to|how)\b)\w",
    ),
    Form(
        "preference",
        "i usually |i always |i generally |i normally |i like to ",
        r"\bi (?:usually|always|generally|normally|like to) "
        r"(?:use|like|want|run|work|write|keep|see)\b",
    ),
    Form(
        "preference",
        "backward",
        r"\b(?:no|not|don'?t) (?:need |want |keep |maintain |worry about |for |to |any ){1,4}"
        r"backwards?[ -]compat",
    ),
    # Who does what.
    Form(
        "preference",
        "myself",
        r"\bi(?:'ll| will) (?:run|test|start|build|commit|push|deploy)\b.{0,40}\bmyself\b",
    ),
    Form(
        "preference",
        "make sure",
        r"\bmake sure (?:that )?(?:you|we|to) (?:don'?t|do not|never|not)\b",
    ),
    # For every time and place, said to somebody.
    Form(
        "preference",
        "next time|every time|each time|whenever|at all times",
        r"^(?=.*\b(?:please|make sure|ensure|you (?:should|need to|have to)|do not|don't|tell me|"
        r"ask me|i want|i'd like|i would like)\b).*"
        r"\b(?:next time|(?:every|each) time|whenever|at all times)\b",
    ),
    Form(
        "preference",
        "in the future|in future",
        r"^(?=.*\b(?:please|make sure you|ensure you|do not|don't)\b).*"
        r"\bin (?:the )?future[.!,]*(?: please)?$",
    ),
    Form(
        "preference",
        "everywhere|wherever |in all cases|no matter what",
        r"(?:\bmake sure (?:we(?:'re)?|you|to) (?:are |be )?us(?:e|ing)|^(?:please )?use|\bshould "
        r"be us(?:ed|ing)|"
        r"\balways|\bconsistent\w*|\bin all cases)\b.*"
        r"\b(?:everywhere|wherever (?:you|we) can|wherever possible|in all cases)\b|\bno matter "
        r"what,",
    ),
    Form(
        "preference",
        "at a time",
        rf"{LEAD}(?:let's|lets|ask|do|work|focus|take|we|go)\b.*"
        r"\b(?:one|1) (?:\w+ ){0,2}at a time\b",
    ),
)
