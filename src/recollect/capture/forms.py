"""The record of a form, the classes of words that the forms are made of, the forms of corrections,
and the plainest forms of rules and preferences in eight other languages.

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

CORRECTIONS = (
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

# Only words that say it by themselves.
FORMS_ABROAD = (
    Form(
        "constraint",
        "必须|務必|务必|必須|禁止|严禁|嚴禁|不允许|不允許|切勿",
        r"务必|務必|禁止|严禁|嚴禁|不允许|不允許|切勿|(?:你|都|全部)(?:必须|必須)|"
        r"(?:必须|必須)(?:使用|用|保证|遵守|遵循)",
    ),
    Form(
        "constraint",
        "なければならない|てはいけない|てはならない",
        r"(?:なければならない|ては(?:いけ|なら)ない)",
    ),
    Form("constraint", "반드시|하면 안|금지", r"(?:반드시|하면 안 (?:돼|되|됩)|금지)"),
    Form(
        "constraint",
        "запрещ|обязательно |ни в коем случае",
        r"\b(?:запрещ[её]но|обязательно|ни в коем случае)\b",
    ),
    Form(
        "constraint",
        "zwingend|verboten|auf keinen fall|müssen|jede&muss",
        r"\b(?:zwingend|verboten|auf keinen fall)\b|"
        r"^(?:alle|jede[rs]?) [^,;:]{1,60}\b(?:müssen|muss)\b|"
        r"^die [^,;:]{1,60}\bmüssen [^,;:]{1,60}\bjede[mnrs]?\b|"
        r"^(?!(?:wir|sie|diese|jetzt|dann|da|hier|beide|einige)\b)[\w-]+ müssen (?!wir|sie|die)\w",
    ),
    Form(
        "constraint",
        "obligatori|prohibid|obrigatóri|proibid|tod&debe|cada&debe|devem|cada&deve |toda &deve ",
        r"\b(?:es|son|está|é|são) (?:obligatori[oa]s?|prohibid[oa]s?|obrigatóri[oa]s?|"
        r"proibid[oa]s?)\b|^(?:tod[oa]s? l?[oa]s|cada) [^,;:]{1,60}\bde(?:ben?|vem?)\b|"
        r"^l?[oa]s [^,;:]{1,60}\bde(?:ben|vem) [^,;:]{1,60}\bcada\b",
    ),
    Form(
        "constraint",
        "obligatoire|interdit|tous&doi|toutes&doi|chaque&doi",
        r"\b(?:est|sont) (?:obligatoires?|interdite?s?)\b|"
        r"^(?:(?:tous|toutes) les|chaque) [^,;:]{1,60}\bdoi(?:t|vent)\b|"
        r"^les [^,;:]{1,60}\bdoivent [^,;:]{1,60}\bchaque\b",
    ),
    Form(
        "preference",
        "以后|以後|今后|今後|从现在|從現在|总是|總是|始终|始終|一律|永远|永遠|不要使用|不要用|"
        "我不想",
        r"(?:^|[，,；;：:])(?:请|請)?(?:以后|以後|今后|从现在|從現在)(?![再还會会可])|(?:总是|總是|"
        r"始终|始終|一律|永远|永遠)"
        r"(?:要|不要|使用|用|都)|不要(?:使)?用|我不想要?(?!你)",
    ),
    Form(
        "preference",
        "今後|これから|常に|必ず|絶対|使わないで|好み",
        r"(?:今後|これから)は[^。]{1,80}(?:ください|しないで|ように)|(?:常に|必ず|"
        r"絶対に)[^。]{1,60}(?:して|ください|こと|使|ないで)|使わないで",
    ),
    Form(
        "preference",
        "앞으로|항상|절대|사용하지 마|선호",
        r"앞으로(?:는|도)|(?:항상|절대로?)[^.]{1,60}(?:세요|해 ?줘|하지 ?마|할 것)|사용하지 ?마|"
        r"선호(?:해|합)",
    ),
    Form(
        "preference",
        "всегда|никогда не|впредь|в дальнейшем|не используй|предпочитаю|мне не нравится",
        r"\b(?:всегда|никогда не) \w+(?:й|йте|и|ите|ь|ьте)\b|\b(?:впредь|в дальнейшем)\b|"
        r"\bне используй(?:те)?\b|\bя предпочитаю\b|\bмне не нравится\b",
    ),
    Form(
        "preference",
        "immer|niemals|ab jetzt|ab sofort|von nun an|künftig|bevorzuge|verwende kein|benutze kein|"
        "nutze kein",
        r"\b(?:ab jetzt|ab sofort|von nun an|künftig)\b|\bich bevorzuge\b|"
        r"\b(?:verwende|benutze|nutze) kein\w*\b|\b(?:verwende|benutze|nutze|schreibe?|antworte|"
        r"mach|füge|teste) (?:\S+ ){0,3}(?:immer|niemals)\b|"
        r"^(?:bitte )?(?:immer|niemals) (?:\S+ ){1,6}\w+en[.!]*$",
    ),
    Form(
        "preference",
        "siempre|nunca|adelante|a partir de a|prefiero|prefiro|no uses|no utilices|não use|não "
        "utilize|sempre|evita |evite ",
        r"\b(?:de ahora en adelante|en adelante,?|de agora em diante|daqui (?:em|pra) diante|"
        r"a partir de a[hg]ora)\b|\bpref(?:iero|iro)\b|(?:^|[,;] |\by )no (?:uses|utilices)\b|"
        r"\bnão (?:use|utilize)\b|\b(?:siempre|sempre) (?:us[ae]|utiliz[ae]|escrib[ae]|escreva|"
        r"respond[ae]|haz|faça|cre[ae]|crie|debes?|deben|devem?)\b|\b(?:us[ae]|utiliz[ae]|escribe|"
        r"escreva|respond[ae]|mant[eé]n|mantenha) (?:\S+ ){0,2}(?:siempre|sempre)\b|"
        r"\bnunca (?:uses?|utilices?|utilize|hagas|faça|escribas|escreva|borres|apague|toques|"
        r"debe)\b|^nunca \w+[ae]s\b|(?:^|[,;] |\by |\be )evit[ae] \w+",
    ),
    Form(
        "preference",
        "toujours|jamais|désormais|dorénavant|à partir de maintenant|à l'avenir|préfère|n'utilise|"
        "évite",
        r"\b(?:désormais|dorénavant|à partir de maintenant|à l'avenir)\b|\bje préfère\b|"
        r"\b(?:utilise|écris|réponds|fais|ajoute|garde|mets)z? (?:\S+ ){0,2}toujours\b|"
        r"\bn'utilisez? (?:pas|jamais)\b|\bne (?:fai|met|touche|modifie|supprime|crée|change)\w* "
        r"jamais\b|"
        r"\bne soi(?:t|ent) jamais\b|^n(?:e |')\w+ jamais\b|(?:^|[,;] |\bet )évitez? \w+",
    ),
)
