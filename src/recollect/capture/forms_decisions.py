"""The forms of corrections, decisions, conventions and facts about the project in English.

People seldom announce a decision. They mention what "we" do, what is better and why, what is no
longer used, the name or the place of a thing. Each form needs words that hold beyond the request
at hand: a habit, a reason, a comparison, a name.
"""

from __future__ import annotations

from .forms import (
    CLAUSE_STARTS,
    DONE,
    GIVEN,
    IN_GENERAL,
    LEAD,
    NAMED,
    PARTICULAR,
    PLURAL,
    POINTERS,
    STATES,
    STEP,
)

# Commitments; "go with it" and "use option 2" refer to something outside of the sentence.
_CHOICE = rf"(?!(?:{POINTERS}|option|your|both|all|one|the (?:first|second|third|last|other)|\d)\b)"
# Verbs of habitual work after "we", in the present tense.
_HABITS = (
    "use deploy host publish release ship store keep track configure manage build run test lint "
    "format generate version tag squash rebase write name call document support target follow "
    "require prefer allow rely pin mock log branch review sign commit cache"
).replace(" ", "|")
_OFTEN = "always|usually|only|normally|generally|typically|never|all"
# Starts of an order after "when adding an endpoint, …".
_ORDERED = (
    "please|always|never|also|use|run|add|ask|write|keep|update|check|don't|dont|do not|make sure|"
    "avoid|prefer|put|start|create|include|pad|follow|name"
)
_ADOPTED = (
    "forked|moved|renamed|migrated|switched|replaced|deprecated|dropped|adopted|standardi[sz]ed|"
    "retired|removed|split|merged|chose|picked|selected|settled"
)
_BETTER = (
    "better|best|safer|cleaner|nicer|simpler|preferable|wiser|smarter|more (?:consistent|"
    "readable|maintainable|secure|robust)"
)
_BECAUSE = r"(?:since|because|given (?:that|the|our)|due to|so that|otherwise)\b"
_PLACES = "deployed|hosted|stored|located|documented|tracked|kept|configured|defined|published"
_OBJECTS = (
    r"(?:branch|branche?s?|commits?|pr|prs|pull requests?|tests?|titles?|variables?|"
    r"constants?|class(?:es)?|functions?|files?|folders?|modules?|components?|scripts?|imports?|"
    r"migrations?|releases?|tags?|types?|errors?|logs?|logging|styling|dates?|ids?|routes?|"
    r"endpoints?|secrets?|docs?|documentation|comments?|dependenc(?:y|ies)|packages?)"
)

CORRECTION_FORMS = {
    "correction: actually": (
        r"^(?:(?:oh|ah|hmm+|wait|sorry|well|ok|okay|but|no)[,.!… ]+)*actually\b,? "
        rf"(?:{NAMED}|(?:the|our|my|we|all|every|these|those|this \w+|i (?:meant|mean|said|"
        rf"prefer)|instead|[\w./-]+[._/-][\w./-]+|_+)\b.*\b(?:{STATES})\b)"
    ),
    "correction: no,|no;|no:|no -|no–|no—|nope": (
        rf"^(?:no|nope) ?[,;:–—-]+ *(?:(?:please )?use (?!(?:{POINTERS})\b)\w|{NAMED}|"
        r"(?:(?:the|our|my|all|every|these|those|this (?:project|repo|app|file)) |we (?=(?:use|"
        r"need|have|should|don't|want|removed|decided|agreed|only|deploy|run|store)\b)|"
        rf"[\w./-]+[._/-][\w./-]+ |_+ ?).*\b(?:{STATES}|want|removed|decided|agreed|only)\b)"
    ),
    "correction: nein,|non,|no, u|não,": (
        r"^(?:nein, wir (?:benutzen|verwenden|nutzen)|non, (?:on utilise|nous utilisons)|"
        r"n(?:o|ão), (?:usamos|utilizamos))\b"
    ),
    "correction: not &but ": (
        r"\b(?:is not|are not|uses? not|(?:do not|don't|does not) use|not using) +"
        rf"(?!\w+(?:ed|ing)\b)\S+(?: +[^\s,;:]+){{0,2}}?,? +but +(?!(?:{CLAUSE_STARTS}|\w+s)\b)\w|"
        r"\b(?:\w+ not (?!the\b)|(?:is|are|be|use|want|should) not )(the|by|in|on|with|as|from|"
        r"through|via) (?:[^\s,;:]+ ){0,8}?[^\s,;:]+,? but \1 \w|"
        r"\b(?:is|are|be|use|want) not an? (?:[^\s,;:]+ ){0,8}?[^\s,;:]+,? but an? \w|"
        r"\bnot\b[^;:]{1,120}\bbut (?:instead|rather)\b"
    ),
    "correction: , not|,not|- not|– not": (
        r"\b(?:(?:is|are) (?:an?|the|in|on|at|for|going to|called|named|meant|\w+ed (?:in|on|by|"
        r"with|at))|use|uses|should|called|means|meant|want|store|keep|write|"
        r"create) +(?:[^\s,;(]+ +){0,11}[^\s,;(]+(?:,| [-–]) *not +(?:just )?(?:an?|the|in|on|as|"
        r"by|from|with|at|_+)\b|"
        r"\b(?:(?<!now )(?:is|are|uses?|runs?|should be)(?! now)\b[^,;:()]{1,60}|"
        r"called [^\s,;]+), not [\w./-]+!*$|"
        r"\b(in|on|with|by|from|at|as|via|using|through) (?:[^\s,;(]+ ){0,5}[^\s,;(]+(?:,|"
        r" [-–]) *not (?:just )?\1 \w"
    ),
    "correction: no longer": (
        r"\b(?:is|are|runs?|lives?|uses?|listens?|points?|goes?|called|named)\b[^,;:?]{1,80}, "
        r"no longer \S"
    ),
    # "It is just X not Y", of names and quotes.
    "correction:  not ": (
        r"\b(?:is|are|should be|called|named)(?: just| only| actually|"
        r" now)? (?=\S*[_/.-])[\w./:`-]+,? not (?:just )?(?=\S*[_/.-])[\w./:`-]+(?=[\s,.!;]|$)"
    ),
    "correction, asked: why &not |why &instead|why &rather": (
        r"^why (?:\w+ing|are you|did you|would you|do you)\b[^?]{3,100}\b(?:and not (?:just )?|"
        r"instead of |rather than )(?:the |an? |just )?\w{3,}[^?]{3,}\?*$"
    ),
    "remember: remember|forget|reminder|in mind|note that|future reference|take note|make a note": (
        rf"{LEAD}(?:remember|(?:don'?t|do not) forget|reminder) *(?:: *| +(?:that|to|also) +"
        r"|,? +(?=(?:the|our|we|you|all(?! the)|every)\b))\w|\b(?:keep|bear) in mind\b *[,:]? *\w|"
        r"^(?:\w+ )?note that (?:as a rule|this is|we|our|the|all|every)\b|"
        r"\bfor (?:your |the )?future reference\b|"
        r"\b(?:take|make a) note (?:that|of)\b|"
        r"\w[^?]{8,}[,;–—-] *(?:please )?(?:remember|note|keep in mind) (?:this|that|it)[.!]*$"
    ),
    "remember, asked: memori": r"\bmemori[sz]e (?!(?:it|this|that)[.!]*$)\w",
}

DECISION_FORMS = {
    "decision: go with|going with|going to |decided|agreed|decision|stick with|stick to|adopt|"
    "settle|we'll use|we will use|ll go |chose |opted": (
        r"\b(?:let's|lets|we(?:'ll| will| should|'re going to| are going to)|i(?:'ll| will))"
        rf"(?: just)? (?:go with|stick (?:with|to)|settle on|adopt|standardi[sz]e on) {_CHOICE}\w|"
        r"\bwe(?:'re| are)(?: now)? going (?:with|to (?:use|adopt|keep|drop|support|switch|"
        rf"migrate|move to|stop)) {_CHOICE}\w|"
        r"\bwe(?:'ll| will) use (?!it\b|this\b|that\b)\w+|"
        rf"\bwe(?:'ve| have)? (?:decided|agreed|settled on|chose|opted for) {_CHOICE}\w|"
        r"^(?:the |our )?decision(?: is|:) *\w"
    ),
    "decision: no longer|not use|'t use|dont use|anymore|any more|stopped using|not need|'t need|"
    "dont need|deprecat|obsolete": (
        r"\b(?:we|i)(?:'re| are|'m| am)? no longer (?:use|need|support|want|have|maintain|using|"
        rf"supporting) (?!(?:{POINTERS})\b)\w|"
        r"\b(?:we|i) (?:do not|don'?t) (?:use|support|need|maintain) "
        rf"(?!(?:{POINTERS}|to|you|your|any)\b)[^,;:?]{{2,60}}\b(?:any ?more|here|at all|"
        r"in this \w+)\b|\b(?:we|i)(?:'ve| have)? stopped using \w|"
        r"\b(?:is|are) (?:now )?(?:deprecated|obsolete)\b(?!.*\bwarning)|"
        r"^no longer (?:need|use|want|support) \w"
    ),
    "decision: this repo|this project|this codebase|this package|this workspace|this monorepo|"
    "this app|convention|our standard|house style": (
        r"\b(?:in|for|across) (?:this|our) (?:repo|repository|project|codebase|code base|package|"
        r"workspace|monorepo|app)\b,? we (?!have\b|need\b|are\b|can\b|could\b|might\b)\w+|"
        r"\bwe (?:want|use|keep|follow|do|don't|never|always)\b[^,;:?]{2,80}\b(?:in|"
        r"across) (?:this|our) (?:repo|repository|project|codebase|package|workspace|monorepo)\b|"
        r"\b(?:our|the|\w+) (?:naming |coding |style )?conventions? (?:here )?(?:is|are|says)\b|"
        r"^no [\w -]{3,40} in (?:this|our) (?:repo|repository|project|codebase|package)\b|"
        r"\b(?:by|as a) convention\b|\bour (?:standard|house style) is\b"
    ),
    # Habits of the team.
    "habit: " + "|".join(f"we {word}" for word in f"{_HABITS}|{_OFTEN}".split("|")): (
        r"(?:^|[,;:(–—-] *|\b(?:and|but|so|because|since|as|that|here|ok|yes) +)"
        rf"(?:now )?we (?:(?:{_OFTEN}) )?"
        rf"(?:{_HABITS})\b(?! (?:{POINTERS}|to)\b)(?! \w+ly (?:{POINTERS})\b) \S"
    ),
    "fact, hedged: we &ed |we &chose|we &split": (
        r"\b(?:we|the team)(?: recently| already| just| have|'ve| previously| also){0,2} "
        rf"(?:{_ADOPTED}) (?!(?:the|{POINTERS})\b|it to me)[^,;:?]{{2,80}} (?:to|from|into|with|in "
        r"favou?r of|on purpose|because|for|by)\b|\bwe forked \S"
    ),
    # Behaviour without exceptions.
    "fact: always|never|every ": (
        rf"{LEAD}(?:the|our|an?|every|\w+s) (?!(?:user|client|bug|error)\b)[^,;:?]{{2,60}} "
        r"(?:will|should|does|do|is|are) (?:always|never) (?!(?:be able|have been)\b)\w+[^?]{5,}$"
    ),
    # Comparisons: better, makes sense.
    "decision, hedged: better|safer|cleaner|nicer|best to|preferable|makes sense|makes more sense|"
    "make sense to|wiser|smarter|simpler to|more ": (
        rf"\b(?:it'?s|it is|(?:it )?(?:would|will|might) be|feels?|seems?) (?:\w+ )?(?:{_BETTER}) "
        rf"(?:(?:not )?to|if we|for us to) (?!(?:{POINTERS})\b)\w|"
        r"\bmakes? (?:more |most |the most )?sense (?:not )?to (?!me\b)\w[^?]{10,}$"
    ),
    "preference: i want|we want|d want|ld like|'d like|i like|we like|really want|also want|"
    "still want": (
        r"(?<!if )\bwe want (?!(?:to|you|it|this|that|these|those|an?|the|more|some)\b)\w+ \w|"
        r"\b(?:i|we)(?:'d| would| do)?(?: really| still| also)? (?:want|like) "
        r"(?:to (?:use|keep|stick|standardi[sz]e|support|commit|stay|rely)\b|"
        r"(?:all|every|each|our|these|those|the)\b(?: (?!you\b|to\b)[^\s,;:?]+){1,9} "
        r"(?:\w{3,}ed|kept|to (?:be|stay|remain|use|always|never|go|also))\b)"
    ),
    "preference: want": (
        rf"(?:^|[,;–—-] *|\b(?:and|but|so|because|since) )(?:i |we )?(?:don'?t|do not) want "
        rf"(?!(?:{POINTERS}|you|your|to|anything|where|how|what|\d)\b)\w[^?]*\bto \w"
    ),
    "preference, hedged: as possible": (
        r"\b(?:want|trying|try|like|prefer|need|should|must)\b[^,;:?]{0,40}\b(?:keep|make|be|stay)"
        r"\b[^,;:?]{0,60}\bas \S+ as possible\b"
    ),
    # "Should", in general or about something named.
    "decision: should": (
        r"(?:^|[,;:–—-] *|\b(?:and|but|so) )only (?:the |our |an? )?(?!(?:then|now|"
        r"if)\b)[^,;:?]{2,60} (?:should|may|can) \w|"
        rf"(?:{IN_GENERAL}|\bthat (?:currently )?(?!(?:{PARTICULAR})\b)(?:\w+ "
        rf"){{0,2}}?){PLURAL}(?: (?:of|for|in|on|to|from|with) [^,;:?]{{1,40}}?)? should(?:n't|"
        r" not)? (?:be|use|have|go|live|follow|align|match|stay|come|return|include|contain|only|"
        r"start|end)\b(?! able\b)|"
        r"(?:^|[,;:] |\b(?:the|and|that|so) )[\w-]*\w[_/.][\w./-]*\w should(?:n't| not)? (?:be|"
        r"live|go|use|only|support)\b|\bshould(?:n't| not)? be (?:the )?default\b|"
        r"\bshould be in (?:the )?[`_\w.-]*[/_]|^(?!(?:it|this|that|there|we|i|you|"
        r"they)\b)[\w-]+ should support \w|"
        r"\bshould(?: \w+)? (?:align|conform|comply|be consistent|be in (?:line|sync)) with \w|"
        r"\bshould(?:n't| not| never) (?:ever )?(?:be a thing|happen|occur|be possible|"
        r"be allowed)\b|\bshould(?:n't| not) be in (?:[^\s,;:?]+ ){1,6}?(?:it|they|"
        r"but) (?:\w+ )?should be\b|"
        r"\bshould(?: now| always)? be (?:called |named )?[`\w-]+(?:[/._][\w-]+)+`?(?: now|"
        r" instead)?(?=[,.;!]|$)"
    ),
    "constraint: any &should|any &need": (
        rf"{LEAD}any (?!of\b)(?:(?! (?:i|we|you) )[^,;:?]){{2,100}}\bshould (?:first |always |"
        r"also )?(?!we\b|i\b)\w"
    ),
    "constraint: ensure|make sure|be sure|ensuring": (
        rf"(?:{LEAD}|[,;:] |\band )(?:let's |we (?:need|want|have) to |you (?:need|have) to |"
        r"please )?(?:ensure|make sure|be sure)(?: that)? (?:each|every|all (?!the|these|those|"
        r"of)|any|no|our)\b[^?]{8,}$|"
        r"\bwe (?:need|have) to (?:be|make) sure(?: that)? (?:our|all|every|each|the) \w|"
        rf"\b(?:make sure|ensure)(?: that)? (?:you|we|to) (?!(?:{POINTERS})\b)"
        rf"[^?]{{3,100}}\b(?:before (?:you |we )?\w+ing\b|(?:before|after|with|on|for) {STEP})"
    ),
    # Rules with a condition.
    "preference: "
    + "|".join(f", {word}" for word in _ORDERED.split("|"))
    + "|we should&before|we need to&before|we have to&before|we should& time|we need to& time|"
    "we have to& time|we should&whenever": (
        rf"{LEAD}(?:when|while|before|after|if) (?:you(?:'re| are)? |we(?:'re| are)? )?"
        r"(?:\w{3,}ing)\b[^,;:?]{1,60}, (?:please |always |never |also )?(?:use|run|add|ask|write|"
        r"keep|update|check|don'?t|do not|make sure|avoid|prefer|put|start|create|include)\b|"
        rf"{LEAD}for (?:all |new |any |each |every |our )?(?!(?:{PARTICULAR})\b)(?:\w+ )?{PLURAL}"
        r"[^,;:?]{0,30}, (?:please |always |never )?(?:use|run|add|write|keep|put|pad|prefer|"
        r"don'?t|do not|avoid|follow|name|start)\b|"
        r"\bwe (?:should|need to|have to) (?!(?:fix|finish|check|look|see|wait|do)\b)\w+ [^?]{3,80}"
        r"\b(?:before|whenever|every time|each time) (?:we |you )?\w+"
    ),
    # A choice with its reason.
    "decision, hedged: since|because|given |due to|so that|so we|otherwise|consisten": (
        r"\bso (?:that )?we (?:don'?t|do not|no longer) (?:need|have) (?!(?:to|it|that|this)\b)\w|"
        r"\bwe should\b[^?]{3,80}\b(?:to (?:be|stay|keep (?:it|them|things)) consistent|for "
        r"consistency)\b|"
        rf"\bwe (?:should|can|could|don'?t need|do not need|want|need|have to)\b[^?]{{5,120}}"
        rf"\b{_BECAUSE}|"
        r"\b(?:i|we) (?:don'?t|do not|never|can'?t|cannot) (?!(?:know|think|see|understand|get|"
        r"have|like|want|need|agree|believe|trust|mind|care|remember|recall|expect|feel|doubt|"
        r"stand|"
        rf"hope|enjoy|love|blame|{DONE})\b)\w+ (?!(?:with |to |on |about )?{GIVEN})[^?]{{3,120}}"
        r"\b(?:because|since)\b|"
        rf"{LEAD}since\b[^,?]{{5,120}}, (?:probably |it |then |that )*(?:makes|let's|we should|we "
        r"can|i'd|use|is|are)\b|"
        r"\b(?:risk|priority|prio|cost|benefit|impact)\b[^,;:?]{0,40} (?:is|are|remains?)\b[^?]"
        rf"{{2,60}}\b{_BECAUSE}"
    ),
    "decision: prio": (
        r"\b(?:top|first|highest|lowest|low|lower|higher|not a|not top) prio(?:rity)?\b"
    ),
    # Work that is to be saved every time.
    "preference, hedged, asked: without having to|to not |so that|need to&every time|not to have": (
        r"\bwithout having to \w|\bto not (?:have|need|use|rely|depend|duplicate|store) \w|"
        r"\bso(?: that)? (?:\w+ ){1,3}(?:don'?t|doesn'?t|do not|does not|won'?t|never) "
        r"(?:need|have) to \w[^?]*"
    ),
    "preference: use &for |use &as |use prefix|prefix": (
        rf"(?:^|[,;:–—-] *|\b(?:please|and|also|always|just) +)use (?!(?:{POINTERS})\b)"
        rf"(?:[^\s,;:?]+ ){{1,5}}?(?:for|as|in|when) (?:the |our |all |new |your |every |each |"
        rf"any )*"
        rf"(?:\w+ )?{_OBJECTS}(?: (?:names?|messages?|titles?|files?|handling))?[.!]*$|"
        r"\b(?:use|with) (?:the )?(?:prefix|suffix) \S"
    ),
    "decision: go in|go under|go next|go beside|live in|live under|live next|live beside|belong in|"
    "belong under|belong next|belong with|stay in|stay next": (
        rf"^(?:(?!(?:{PARTICULAR})\b)(?:\w+ ){{0,2}}?(?:{_OBJECTS}|fixtures|helpers|mocks|schemas|"
        r"stories|snapshots) (?:always |should )?(?:go|live|belong|stay) (?:in|into|under|next to|"
        rf"beside|with|inside) [^—–,]{{2,60}}$|(?!(?:{PARTICULAR})\b){PLURAL} "
        r"(?:go|live|belong) (?:in|into|under|inside) \S*[/_.]\S*$)"
    ),
    "preference: instead|rather": (
        rf"{LEAD}(?:let's|lets) (?:instead|rather) (?!(?:do|try|go)\b)\w+ (?!(?:{POINTERS})\b)\w"
    ),
    # Names, places and roles.
    "fact: called|named|not the |n't the |is our|are our|source of truth|is the name|it's called|"
    "its called": (
        r"\b(?:it'?s|is|are|that'?s) (?:called|named) [`\"']?[\w-]+[/._-][\w./-]+|"
        r"\bis the (?:new |right |correct |real )?name\b|\b(?:is|are)(?: not|n't) the (?:right|"
        r"appropriate|correct) (?!(?:branch|one|place)\b)\w+|"
        r"\b(?:is|are) our (?!(?:main )?(?:problem|issue|bug|fault|options?|"
        r"best)\b)(?:\w+ ){0,4}\w+[.!]*$|\bsource of truth\b"
    ),
    "reference: project|team|label|board|epic|milestone": (
        r"\b(?:file|create|open|log|add) (?:an? |the )?(?:new )?(?:issue|ticket|bug|task|story)s?\b"
        r"[^?]{0,60}\b(?:project|team|label|board|epic|milestone)(?: ?[:=] ?| )[`'\"]?\w"
    ),
    "reference: " + f"{_PLACES}|can be done|can be &with|lives in|lives under|live in|reachable": (
        r"\b(?:the|our|all|every|\w+s|[\w-]+) (?:is|are) (?:also |always |only )?"
        # A place has a name: a path, a host, a setting.
        rf"(?:{_PLACES}) (?:here\b|(?:at|in|on|under|via|by|with|behind|through) (?:[\w-]+ ){{0,3}}"
        r"(?:_|[\w`@~-]*[/._:][\w`]))|"
        r"\b(?:all|every|\w+s|[a-z]+tion) can be (?:done|run|tested|verified|checked|built|started|"
        r"reached|found|generated|reset|skipped)\b[^?]{0,40} (?:with|via|by|using|through|in|at|on)"
        r" \S|\blives? (?:in|under|at) [`\w-]*(?:[/._][\w./-]+|/)"
    ),
}
