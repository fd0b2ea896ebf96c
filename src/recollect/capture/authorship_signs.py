"""The signs of pasted text that `authorship` looks for, by name.

Signs of content and layout work in any language; those of lead-ins and voices are mostly English,
with a few words of the other languages that `statements` knows.
"""

from __future__ import annotations

import re
from functools import cache


@cache
def sign(name: str) -> re.Pattern[str]:
    """Compile a sign on first use: only messages that state a rule need any."""
    return re.compile(_SOURCES[name], re.IGNORECASE)


# Texts that people paste, and the places they come from.
_TEXT = (
    r"(?:e-?mails?|mails?|messages?|letters?|memos?|tickets?|issues?|threads?|posts?|articles?|"
    r"pages?|docs?|documentation|documents?|readme(?:\.md)?|wiki|guides?|manual|handbook|polic(?:y|"
    r"ies)|notes|minutes|transcripts?|chats?|conversations?|discussions?|comments?|feedback|"
    r"reports?|announcements?|newsletters?|texts?|paragraphs?|excerpts?|passages?|quotes?|logs?|"
    r"output|terms|contracts?|changelogs?|advisor(?:y|ies)|blogs?|forums?|answers?|repl(?:y|ies)|"
    r"tweets?|sections?|chapters?|faqs?|bulletins?|notices?|slack|teams|discord|jira|confluence|"
    r"notion|linear|zendesk|reddit|stack ?overflow|hacker news|github|gitlab|website|site|"
    r"customers?|clients?|vendors?|suppliers?|colleagues?|boss|manager|lawyers?|support|legal|hr)"
)
_THIS = (
    r"(?:this|these|the following|(?:the )?(?:text |one )?(?:below|above|underneath))"
    r"(?=\W*$|[:.,;?!]|\s(?:for|and|to|in|into|please|from|by|before|so|as|but|we|i|me|that)\b)"
)
_THIS_TEXT = rf"(?:this|these|that|those|following|attached|pasted) (?:[\w'-]+ ){{0,3}}?{_TEXT}\b"
_MONTHS = "jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec"

_SOFTENERS = (
    "please|pls|and|also|so|but|ok|okay|yes|no|now|then|first|next|finally|just|btw|hey|hi|oh|"
    "again|thanks|great|cool|nice|well|maybe|afterwards|later|instead|to|you should|you can|claude"
)
# Words with which a request to an agent begins.
_VERBS = (
    "add address adjust allow always answer apply ask avoid bring build bump call can "
    "change check clean close combine commit compare complete configure connect consider "
    "continue convert copy could create cut debug define delete deploy describe design "
    "disable do document don't dont draft drop edit enable ensure explain export expose "
    "extend extract figure find finish fix focus follow format generate get give go group "
    "handle help hide hook ignore implement import improve include increase inline "
    "install integrate investigate keep leave let list load log look make mark merge "
    "migrate mock move must never open optimi[sz]e pass pick pin plan port prefer prepare "
    "publish pull push put raise read rebase reduce refactor release remember remove "
    "rename render replace report rerun reset resolve restore restructure return reuse "
    "revert review rewrite run save scan search see separate set setup ship should show "
    "simplify skip sort split squash start stay stop store support switch take tell test "
    "tidy touch trace track treat trim try turn undo unify update upgrade use validate "
    "verify wait wire work would wrap write"
).replace(" ", "|")
_REQUESTS = (
    rf"(?:{_VERBS}|(?:what|where|which|why|how|when)(?:'s)? (?:is|are|do|does|did|can|could|should|"
    r"would|was|were|about|to))"
)
_ORDER = rf"^\W*(?:(?:{_SOFTENERS})\W+)*"

_SOURCES = {
    # Documents and answers of an assistant.
    "heading": r"(?m)^#{1,6} \S",
    "phrase": r"(?m)\$ARGUMENTS\b|\bCRITICAL=|\bwould you like me to\b|\blet me know if you\b|"
    r"^(?:you're (?:absolutely )?right|"
    r"i apologize|certainly|i've (?:updated|created|added|implemented|fixed))\b|"
    # An attempt to override the user's instructions.
    r"\b(?:ignore|disregard|forget) (?:(?:all|any|the|your|of|these|previous|prior|above|earlier) )"
    r"{1,4}(?:instructions?|prompts?|rules|directives|conversations?)\b|"
    r"^[ \t]*(?:[-*] )?[✅❌🔍🎯🚀📊📋🧪✨🔧💡📝🛠]",
    "fence": r"(?m)^[ \t]*(`{3,}|~{3,})[^\n]*$",
    # Content: sentences that become a rule only after the user confirms them.
    "url": r"\b(?:https?|ftp|ssh|git|wss?)://(?!(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\])\b)|"
    r"\bwww\.\w|\bgit@\w|\b(?:[a-z0-9-]{1,63}\.){1,8}[a-z]{2,12}(?::\d+)?/\S",
    # A bare host is only a place; with one of these words data is sent there or fetched from it.
    "traffic": r"\b(?:send|post|upload|forward|report|submit|fetch|download|install|pull|push|"
    r"clone|resolve|publish|sync|copy|mirrors?|route|prox(?:y|ies)|point|connect|load|import|get|"
    r"use|"
    r"call|contact|notify|log|add|set|e?mail|ping|visit|open|follow|read|registr(?:y|ies)|"
    r"index(?:es)?|webhooks?|remotes?|repos?(?:itor(?:y|ies))?|packages?|updates?|releases?)\b",
    "host": r"\b(?:[a-z0-9-]{1,63}\.){1,8}(?:com|org|xyz|info|example|ru|cn|top|site|"
    r"online|cloud)\b|"
    r"\b(?:[a-z0-9-]{1,63}\.){2,8}(?:net|io|dev|app|ai|co|me|sh)\b|"
    r"\b(?!127\.|0\.)\d{1,3}(?:\.\d{1,3}){3}\b",
    "run": r"\|\s*(?:sudo\s+)?(?:\S{0,40}/)?(?:(?:ba|z|da|k|fi|pw)?sh|python\d?|node|perl|ruby|iex|"
    r"xargs)\b|\b(?:curl|wget|iwr|irm|iex|invoke-(?:webrequest|restmethod|expression))\b|<\(|"
    r"\beval [\"'$`(]|\bpip(?:e|es|ed|ing)\b.{0,40}\b(?:sh|bash|shell)\b",
    "credential": r"\b(?:passwords?|passphrases?|credentials?|secrets?|api[ _-]?keys?|"
    r"(?:access|auth\w*|bearer|refresh|github|gitlab|npm|pypi|deploy|api|ci|session|login|bot) "
    r"tokens?|(?:private|ssh|gpg|deploy|signing|encryption) keys?|keychain|id_rsa)\b|"
    r"(?<!\w)\.(?:env|netrc|npmrc|pypirc|aws|ssh|pem)\b|\[REDACTED|"
    r"(?-i:\b[A-Z_]{0,40}(?:TOKEN|SECRET|PASSWORD|API_KEY)\b)",
    "permission": r"\b(?:are|is|'re|be) (?!not |never )(?:\w+ )?(?:allowed|permitted|"
    r"authori[sz]ed|cleared|free) to\b|"
    r"(?:^|[,;:] |\b(?:and|that) )you (?:may|can) (?!not\b)\w|"
    r"\b(?:allow|approve|accept|grant|authori[sz]e|permit|trust|whitelist|allowlist)\b.{0,40}"
    r"\b(?:all|any|every\w*|access|permissions?|commands?|tools?|prompts?|requests?)\b|"
    r"\bauto-?(?:approve|accept|allow|run|confirm|merge)\b|"
    r"\b(?:authori[sz]ed|permitted|allowed|approved|cleared) (?:you|agents?|it) to\b|"
    r"\bwithout (?:\w+ ){0,3}(?:asking|confirm\w*|approvals?|permission|review\w*|prompt\w*|"
    r"checking|verif\w*|consent)\b|"
    r"\b(?:skip|bypass|disable|ignore|turn off|switch off|override|suppress|circumvent) "
    r"(?:[\w-]+ ){0,4}(?:permissions?|approvals?|confirm\w*|reviews?|prompts?|checks?|verif\w*|"
    r"validation|sandbox\w*|hooks?|protection|guard\w*|security|auth\w*|signatures?|firewall|"
    r"certificates?|tls|ssl|polic\w+|restrictions?|warnings?|scan\w*)\b|"
    r"\b(?:sudo|chmod|chown)\b|\bas root\b|"
    r"(?<!\w)--(?:no-verify|force|yolo|dangerously\S*|allow-\S+|trusted\S*|insecure|skip-\S+|"
    r"no-sandbox|privileged|full-auto)\b",
    # An order not to ask or tell is a permission, although it is worded as a ban.
    "unasked": r"\b(?:never|don'?t|do not|no need to|stop|not) (?:ever |have to |need to )?"
    r"(?:(?:ask(?:ing)?|prompt\w*|confirm\w*|wait\w*|warn\w*|check\w* with|request\w*)\b|"
    r"(?:tell|inform|notify|alert)\w* (?:the user|me|anyone|anybody)\b)",
    "order": r"\b(?:(?P<ban>(?:never|don'?t|do not)(?: ever)?(?: use)?|not|mustn't|shouldn't|"
    r"cannot|can't|avoid|no)|always|must|should|instead|but|then|use|only)\b",
    "banned": r"[^.,;]{0,30}?\b(?:(?:must|should|may|can)(?: not|n't| never)|cannot|never|"
    r"(?:is|are) (?:\w+ )?(?:forbidden|prohibited|not allowed))\b",
    # The message: a letter, speakers, the layout of a document.
    "letter": r"(?:(?:hi|hello|hey|dear|greetings|good (?:morning|afternoon|evening|day)|hola|"
    r"bonjour|hallo|guten (?:tag|morgen)|liebe[rs]?|sehr geehrte\w*|ch(?:er|ère)s?|olá|prezad\w+|"
    r"estimad\w+|querid\w+|уважаем\w+|здравствуйте|привет|добрый|to whom)\b(?! (?:claude|codex|"
    r"gemini|copilot|cursor|chatgpt|gpt|assistant|agent)\b)[^.?]{0,40}[,!:.]?$|(?:您好|你好|"
    r"尊敬的|お世話|こんにちは|안녕)|(?:(?:best|kind|warm|many|with|all the) )*(?:regards|wishes|"
    r"sincerely|cheers|respectfully|yours(?: \w+)?|saludos|cordialement|atenciosamente|"
    r"с уважением|best|(?:mit )?(?:freundliche\w*|viele|beste|liebe) grüße\w*)(?:[,.!]|$).{0,40}$|"
    r"(?:many |kind )?(?:thanks|thank you|thx|merci|danke|gracias|obrigad[oa])(?:, *$|"
    r", *(?-i:[A-Z—–-]))|(?:from|to|cc|bcc|subject|date|sent|reply-to|re|fwd?|von|an|betreff|de|à|"
    r"objet|para|asunto|assunto|от|кому|тема|发件人|收件人|主题|件名|差出人|제목)[:：] |"
    r"sent from my )",
    "addressee": r"(?:hi|hello|hey|dear|good (?:morning|afternoon|evening)) (?:(?:all|team|"
    r"everyone|folks|guys|colleagues|sir|madam|customers?|users?|maintainers?)\b|(?-i:(?!Claude|"
    r"Codex|Gemini|Copilot|Cursor|ChatGPT|GPT)[A-Z][\w.-]+(?: [A-Z][\w.-]+)?[,!:]))",
    "signature": r"(?:[-–—~/]{1,2} ?(?-i:[A-Z])[\w.-]*(?: (?-i:[A-Z])[\w.-]*){0,2}|--)$",
    "answer": r"(?:yes|no|sure|of course)[,.!]",
    # A text that speaks of itself.
    "of itself": r"\b(?:in|of|by|to|on|with) this (?:tutorial|article|guide|document|post|section|"
    r"chapter|policy|agreement|letter|video|manual|handbook|notice|newsletter|email|episode)\b|"
    r"\b(?:dependabot|renovate|end of thread|true or false|explain your answer|unpopular opinion|"
    r"hot take|change my mind|"
    r"thank you for your (?:cooperation|understanding|patience)|apply with your)\b|"
    r"^about (?:the|this|our|us|you)\b[^.:]{0,20}:|"
    # Headings that reports have and people do not type.
    r"^(?:release notes|lessons learned|root cause|next steps|key (?:messages|takeaways)|action "
    r"items|acceptance criteria|test plan|things to remember|breaking changes|what's new|see also|"
    r"further reading|contributing factors|do|don'?ts?|dos|why\?|rationale)\W*$",
    "label": r"(?!https?:)@?([^\W\d_][^\W\d]*\d*(?:[ '-][^\W\d_(][^\W\d]*){0,3}\)?) ?[:：>] ?\S",
    "own": r"\b(?:rules?|conventions?|requirements?|constraints?|guidelines?|preferences?|"
    r"instructions?|important|critical|warning|note|nb|remember|reminder|please|also|ps|todos?|"
    r"tasks?|goals?|plan|context|steps?|style|tests?|things?|points?|following|i want|i need|"
    r"we need|we want|i'd like|changes?|regeln|reglas|règles|regras)\b|规则|要求|ルール|규칙",
    "layout": r"#{1,6} \S|(?:[-=_*~] ?){3,}|[^\w\s\"'`(\[@/*+¿¡-]|\[[A-Z]{3,}\]|"
    r"\d+(?:\.\d+)+\.? \S|(?:section|article|chapter|clause|appendix)\s+(?:\d|[ivx]+\b)|"
    r"\([a-z\d]\) ",
    "trail": r"[·|›»•]| > | / |©|\((?:i{1,3}|iv)\) ",
    "stamp": rf"\b\d{{1,2}}:\d\d(?::\d\d)?(?: ?[ap]\.?m\b|\]|$)|^\W?\d{{1,2}}:\d\d\b|"
    rf"\b(?:{_MONTHS})[a-z]*\.? \d{{1,2}}\b|\b\d{{1,2}}\.? (?:{_MONTHS})[a-z]*\b|"
    r"\b\d{4}-\d\d-\d\d\b|\b\d{1,2}[./]\d{1,2}[./]\d{2,4}\b|"
    r"\b(?:\d+|an?) (?:minutes?|hours?|days?|weeks?|months?|years?) ago\b",
    "title": r"(?-i:[A-Z][\w'&/.-]*(?: (?:[A-Z0-9][\w'&/.-]*|an?|the|of|for|and|or|to|in|on|with|"
    r"by|at|from|as|vs|&|-|–|\|)){1,7})",
    "capital": r"(?-i:\b[A-Z])",
    "open end": r"(?:,|\b(?:the|an?|of|to|and|or|in|for|with|is|are|be|by|on|at|that|which|from|as|"
    r"your|our|must|should|will|not))$",
    # Lead-ins: work on a text, its source, its author. Verbs that are also used for code
    # ("review") need "this" or "this email" beside them.
    "strong": r"\b(?:summari[sz]e|summary of|sum up|translate|proofread|paraphrase|rephrase|reword|"
    r"condense|fact-?check|tl;?dr|(?:reply|respond|react|response|answer) to)\b[^.\n]{0,40}?"
    rf"\b(?:{_THIS}|{_THIS_TEXT}|{_TEXT}\b)|"
    r"zusammenfass|\bfasse?\b.{0,60}\bzusammen\b|übersetz|\brésume|\btradui|\bresum[eai]|\btraduc|"
    r"\btraduz|перевед|кратко|总结|總結|翻译|翻譯|要約|翻訳|요약|번역",
    "weak": r"\b(?:explain|rewrite|shorten|simplify|polish|analy[sz]e|interpret|read|parse|extract|"
    r"classify|answer|look (?:at|over|through)|go (?:over|through)|check|review|compare|comment on|"
    rf"turn|convert|consider)\b(?: (?!and\b|then\b)[\w'-]+){{0,4}}? (?:{_THIS}|{_THIS_TEXT})",
    "asking": r"^(?=.{1,60}$).*\b(?:wording|grammar|spelling|key points|takeaways|gist)\b|"
    r"\bwhat (?:do|does|did|should|can|would) (?:i|we|they|he|she)\b[^?\n]{0,20}\b(?:reply|answer|"
    r"say|respond|write|want|ask|mean)\b|^\W*(?:turn|convert|make) (?:it|that|them) into\b|"
    r"^\W*(?:please |can you |could you )*(?:translate|summari[sz]e|proofread|tl;?dr)\b"
    r"[^.:]{0,30}$|"
    r"\bwhat (?:do|does|did|is|are|should|would|can)\b[^?\n]{0,40}\b(?:this|these|that)\b|"
    rf"\b(?:thoughts|opinions?|take|ideas) (?:on|about) {_THIS}|"
    r"\b(?:is|are|was) (?:this|that|these|any of this) (?:\w+ ){0,2}(?:true|right|correct|legit\w*|"
    r"real|spam|phishing|accurate|safe|ok|okay|scam|relevant)\b|"
    r"\bdoes (?:this|that) (?:\w+ )?(?:apply|make sense|sound|look|affect|mean)\b",
    "source": r"^\W*(?:(?:this|it|that|these|the following)(?:'s| is| was| are| comes?| came)|here"
    r"(?:'s| is| are)|got|found|saw|copied|pasted|taken|straight|quot(?:ed|ing)|received|fyi)?,? ?"
    r"(?:this |these |it |the following |me )?"
    rf"(?:from|per|according to|via|quoting|in|on) (?:[\w.'’-]+ ){{0,4}}?{_TEXT}\b[^.\n]{{0,30}}$|"
    r"^\W*(?:just )?(?:got|received|found|saw|copied|pasted|forwarding|sharing)\b.{0,30}"
    r"\b(?:this|these|below)\b",
    "present": r"^\W*(?:(?:so|ok|okay|and|btw|fyi|also)\W+)?(?:here(?:'s| is| are)|this is|these "
    r"are|below (?:is|are)|see|attached(?: is)?|forwarding|sharing|pasting)\b.{0,30}?"
    rf"\b(?:{_TEXT}|below)\b",
    "saying": r"\b(?:wrote|writes|explain(?:s|ed)|notes|noted|sent|posted|commented|replied|"
    r"forwarded|emailed|messaged|texted|announced|said|says|asked|reported|shared|told (?:me|us)|"
    r"reads)\b(?: (?:me|us|this|that|back|today|yesterday|earlier|\w+day|to us|to me|(?:in|on|"
    rf"about) (?:\w+ )?{_TEXT}|this morning)){{0,3}}\W*$",
    "noun": rf"\b{_TEXT}\b",
    # Sentences, and to whom they are addressed.
    "item": r"(?:[-*+•]|\d{1,3}[.)]|[a-z][.)])\s+\S",
    "stop": r"[.!?。！？]+(?:[\"')\]]*\s+|$)|[。！？]",
    "sentence": r"[^\W_](?:[^.!?。！？\n]|[.!?](?![\s\"')\]]|$)|[.!?](?=\s(?-i:[a-z])))*"
    r"(?:[.!?。！？]+|$|(?=\n))",
    "order first": rf"{_ORDER}(?:{_REQUESTS}|i(?:'d| would)? (?:think|guess|want|need|like|wonder|"
    rf"prefer))\b|^(?:when|once|if|after|before|for|in)\b[^,]{{0,60}}, {_REQUESTS}\b",
    # The requests once: they take long to compile.
    "asks": rf"(?:{_ORDER}|, |^from now on,? (?:always |never )?|"
    rf"(?P<for>^for (?:each|every|all|the)\b.{{0,30}} )){_REQUESTS}\b(?(for) \w)|\?\W*$|"
    r"\b(?:please|pls|let's|lets|can you|could you|would you|make sure|bitte)\b|"
    r"\b(?:i|we)(?:'d| would|'ll| will)? (?:\w+ )?(?:want|need|like|prefer|rather|should|must|"
    r"expect|have to|decided|hate)\b|请|請|ください|주세요",
    "clause": r"^(?!(?:what|where|who|how|why)\b).*\b(?:is|are|was|were|be|has|have|had|do|does|"
    r"did|don't|doesn't|isn't|aren't|can|can't|cannot|will|won't|should|must|needs?|i|we|you|it|"
    # A line in another language: its verbs are not known here.
    r"el|la|los|las|una?|del?|en|con|der|die|das|den|eine?|im|mit|und|les?|des|du|sur|et|dans|os?|"
    r"uma?|na|que)\b",
    # A few words that mean nothing without their context.
    "points": r"(?:\S+ ){0,6}(?:they|he|she)(?: \S+){0,6}|"
    r"(?![-*\d]|(?:thanks|thx|ok|okay|yes|no|hi|hey|hello)\b(?!\?)|.*[:：]$)(?:"
    rf"(?!{_ORDER}{_REQUESTS} \w)(?:\S+ ){{0,2}}\S+|(?:\S+ ){{0,2}}\S+\?|"
    r"(?=(?:\S+ ){1,5}\S+$).*\b(?:it|this|that|these|those|them|they|he|she|here|below|above|"
    r"underneath|das|dies|esto|eso|ça|это)\b.*)",
    "polite": r"\W*(?:thanks?|thx|ty|ok|okay|yes|yep|yeah|no|nope|hi|hey|hello|hm+|sorry|please|"
    r"great|cool|nice|perfect|good|done|wait|continue|go|lgtm)\b",
    "person": r"\b(?:i|i'm|i'd|i'll|i've|me|my|we|we're|we've|our|us|let's|lets|please|pls|ich|wir|"
    r"bitte|je|nous|yo|nosotros|eu|nós|я|мы)\b|[我請请]|ください|私|저|우리",
}
