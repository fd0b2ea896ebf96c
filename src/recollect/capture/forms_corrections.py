"""The forms of corrections, and of what the user asks to remember, in English."""

from __future__ import annotations

from .forms import CLAUSE_STARTS, LEAD, NAMED, POINTERS, STATES, Form

FORMS = (
    Form(
        "correction",
        "actually",
        r"^(?:(?:oh|ah|hmm+|wait|sorry|well|ok|okay|but|no)[,.!… ]+)*actually\b,? "
        rf"(?:{NAMED}|(?:the|our|my|we|all|every|these|those|this \w+|i (?:meant|mean|said|"
        rf"prefer)|instead|[\w./-]+[._/-][\w./-]+|_+)\b.*\b(?:{STATES})\b)",
    ),
    Form(
        "correction",
        "no,|no;|no:|no -|no–|no—|nope",
        rf"^(?:no|nope) ?[,;:–—-]+ *(?:(?:please )?use (?!(?:{POINTERS})\b)\w|{NAMED}|"
        r"(?:(?:the|our|my|all|every|these|those|this (?:project|repo|app|file)) |we (?=(?:use|"
        r"need|have|should|don't|want|removed|decided|agreed|only|deploy|run|store)\b)|"
        rf"[\w./-]+[._/-][\w./-]+ |_+ ?).*\b(?:{STATES}|want|removed|decided|agreed|only)\b)",
    ),
    Form(
        "correction",
        "nein,|non,|no, u|não,",
        r"^(?:nein, wir (?:benutzen|verwenden|nutzen)|non, (?:on utilise|nous utilisons)|"
        r"n(?:o|ão), (?:usamos|utilizamos))\b",
    ),
    Form(
        "correction",
        "not &but ",
        r"\b(?:is not|are not|uses? not|(?:do not|don't|does not) use|not using) +"
        rf"(?!\w+(?:ed|ing)\b)\S+(?: +[^\s,;:]+){{0,2}}?,? +but +(?!(?:{CLAUSE_STARTS}|\w+s)\b)\w|"
        r"\b(?:\w+ not (?!the\b)|(?:is|are|be|use|want|should) not )(the|by|in|on|with|as|from|"
        r"through|via) (?:[^\s,;:]+ ){0,8}?[^\s,;:]+,? but \1 \w|"
        r"\b(?:is|are|be|use|want) not an? (?:[^\s,;:]+ ){0,8}?[^\s,;:]+,? but an? \w|"
        r"\bnot\b[^;:]{1,120}\bbut (?:instead|rather)\b",
    ),
    Form(
        "correction",
        ", not|,not|- not|– not",
        r"\b(?:(?:is|are) (?:an?|the|in|on|at|for|going to|called|named|meant|"
        r"\w+ed (?:in|on|by|with|at))|use|uses|"
        r"should|called|means|meant|want|store|keep|write|create) +(?:[^\s,;(]+ "
        r"+){0,11}[^\s,;(]+(?:,| [-–]) *not +(?:just )?"
        r"(?:an?|the|in|on|as|by|from|with|at|_+)\b|"
        r"\b(?:(?<!now )(?:is|are|uses?|runs?|should be)(?! now)\b[^,;:()]{1,60}|called [^\s,;]+), "
        r"not [\w./-]+!*$|"
        r"\b(in|on|with|by|from|at|as|via|using|through) (?:[^\s,;(]+ ){0,5}[^\s,;(]+(?:,| [-–]) *"
        r"not (?:just )?\1 \w",
    ),
    # "It is just X not Y", of names and quotes.
    Form(
        "correction",
        " not ",
        r"\b(?:is|are|should be|called|named)(?: just| only| actually| now)? "
        r"(?=\S*[_/.-])[\w./:`-]+,? not "
        r"(?:just )?(?=\S*[_/.-])[\w./:`-]+(?=[\s,.!;]|$)",
    ),
    Form(
        "correction",
        "why &not |why &instead|why &rather",
        r"^why (?:\w+ing|are you|did you|would you|do you)\b[^?]{3,100}\b(?:and not (?:just )?|"
        r"instead of |"
        r"rather than )(?:the |an? |just )?\w{3,}[^?]{3,}\?*$",
        asked=True,
    ),
    Form(
        "remember",
        "remember|forget|reminder|in mind|note that|future reference|take note|make a note",
        rf"{LEAD}(?:remember|(?:don'?t|do not) forget|reminder) *(?:: *| +(?:that|to|also) +"
        r"|,? +(?=(?:the|our|we|you|all(?! the)|every)\b))\w|\b(?:keep|bear) in mind\b *[,:]? *\w|"
        r"^(?:\w+ )?note that (?:as a rule|this is|we|our|the|all|every)\b|"
        r"\bfor (?:your |the )?future reference\b|"
        r"\b(?:take|make a) note (?:that|of)\b",
    ),
    Form(
        "remember",
        "memori",
        r"\bmemori[sz]e (?!(?:it|this|that)[.!]*$)\w",
        asked=True,
    ),
)
