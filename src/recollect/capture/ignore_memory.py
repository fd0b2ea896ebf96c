"""Check whether a user's message asks to work without memory, for that turn only.

A request is at the start of a clause, like an order ("ignore memory and tell me …", "…,
without memory"), and only a time or a polite word may follow it. A text that mentions the phrase
("what does ignore memory do?", "it ignores memory leaks"), forbids it or quotes it is no request.
English phrasing is known, and a few whole clauses in eight other languages. Only the one message is
read.
"""

from __future__ import annotations

import re
from functools import cache

from .sentences import find_pasted

LONGEST_CLAUSE = 300
"""Characters. A longer clause is not searched: requests are short."""

_MEMORY = (
    r"(?:(?:all|any|every|the|your|my|our|its|of|that|this|previous|prior|past|earlier|saved|"
    r"stored|"
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

_ABROAD = (
    # German
    r"ignorier(?:e|en sie)? (?:(?:bitte|das|dein|ihr|alle|deine|die) )*(?:gedächtnis|erinnerungen)",
    r"(?:(?:nutze?|verwende?|benutze?|nutzen sie|verwenden sie) )(?:bitte )?(?:kein gedächtnis|"
    r"keine erinnerungen|(?:das|dein|deine|die) (?:gedächtnis|erinnerungen) nicht)",
    r"(?:antworte |arbeite )?ohne (?:(?:das|dein|deine) )?(?:gedächtnis|erinnerungen)"
    r"(?: zu nutzen)?",
    # Spanish
    r"(?:ignora|ignore|olvida) (?:la|tu|su|toda la) memoria",
    r"no (?:uses|use|utilices|utilice|consultes|consulte) (?:la |tu |su )?memoria",
    r"(?:responde |contesta )?sin (?:usar |utilizar |consultar )?(?:la |tu )?memoria",
    # French
    r"ignore[sz]? (?:la|ta|votre|toute) mémoire",
    r"n'(?:utilise|utilisez|consulte|consultez) pas (?:la|ta|votre) mémoire",
    r"(?:réponds |répondez )?sans (?:utiliser |consulter )?(?:la |ta |votre )?mémoire",
    # Portuguese
    r"(?:ignore|ignora|esqueça) (?:a|sua|a sua|tua|a tua) memória",
    r"não (?:use|uses|usa|utilize|consulte) (?:a |sua |a sua |tua |a tua )?memória",
    r"(?:responda |responde )?sem (?:usar |utilizar |consultar )?(?:a |a sua |a tua )?memória",
    # Russian
    r"(?:игнорируй(?:те)?|забудь(?:те)? про|отключи(?:те)?) (?:свою |всю )?память",
    r"не (?:используй(?:те)?|смотри(?:те)? в|обращай(?:ся|тесь) к) (?:свою |свои )?памят[ьи]",
    r"(?:ответь(?:те)? |отвечай(?:те)? )?без (?:использования )?памяти",
    # Chinese
    r"(?:忽略|无视|無視|跳过|跳過|忘掉)(?:你的|所有|全部|之前的|以前的)*(?:记忆|記憶)",
    r"(?:不要|不用|别|別|请勿|請勿|勿)(?:再)?(?:使用|用|参考|參考|查看|依赖|依賴)"
    r"(?:你的|任何|之前的)*(?:记忆|記憶)",
    r"(?:在)?(?:没有|沒有|不带|不帶)(?:记忆|記憶)(?:的情况下|的情況下)?(?:回答)?",
    # Japanese
    r"(?:すべての|全ての|以前の|過去の)?(?:記憶|メモリー?)(?:は|を)?"
    r"(?:無視して|使わないで|使用しないで|参照しないで|見ないで)(?:答えて)?",
    r"(?:記憶|メモリー?)(?:なし|無し)で(?:答えて|お願いします)?",
    # Korean
    r"(?:모든 |이전 )?(?:기억|메모리)(?:은|는|을|를)? ?"
    r"(?:무시해|무시하고|무시하세요|사용하지 ?마|쓰지 ?마|참고하지 ?마)(?:줘|요|세요|라)?",
    r"(?:기억|메모리) ?없이(?: 답해 ?줘| 대답해 ?줘)?",
)
_POLITE = (
    r"bitte|por favor|s'il (?:te|vous) pla[iî]t|пожалуйста|请|請|麻烦|麻煩|ください|下さい|제발|"
    r"jetzt|ahora|maintenant|agora|сейчас|diesmal|esta vez|cette fois|desta vez|на этот раз|"
    r"这次|這次|今回は?|이번에는?|für diese (?:frage|antwort)|pour cette (?:question|réponse)|"
    r"para esta (?:pregunta|pergunta|respuesta|resposta)|для этого (?:вопроса|ответа)"
)

_SOURCES = {
    "hint": r"memor(?:y|ies)|you (?:\w+ )?(?:remember|know)|(?:fresh|clean|blank)\s+context"
    r"|gedächtnis|erinnerungen|mem[oó]ria|mémoire|памят|记忆|記憶|メモリ|메모리|기억",
    "quoted": r"`[^`\n]*`|\"[^\"\n]*\"|[“„][^“”\n]*[”“]|«[^»\n]*»|‘[^’\n]*’|「[^」\n]*」"
    r"|『[^』\n]*』|(?<!\w)'[^'\n]*'(?!\w)",
    "abroad": rf"(?:(?:{_POLITE})\s*)*(?:{'|'.join(_ABROAD)})(?:\s*(?:{_POLITE}))*",
    "clause abroad": r"\s*[,;:—–!.…，、；：。！]+\s*|[()（）]"
    r"|\s+(?:und|aber|y|pero|et|mais|e|mas|и|а|но)\s+",
    "sentence": r"(?<=[.!?…])\s+|(?<=[。！？])|\n+",
    "clause": r"\s*[,;:—–!?.…]+(?:\s+|$)|[()]|\s+-+\s+|\s+(?:and|but|then|so)\s+",
    "lead": r"(?:(?:ok|okay|now|please|also|hey|hi|well|just|kindly|here|first|instead|again|today|"
    r"for this(?: \w+)?|for now|this time|let's|lets|i(?:'d| would)? (?:want|like|need) you to|"
    r"you (?:can|should|must|may)|(?:can|could|would|will) you|feel free to|try to|make sure to|"
    r"and|but|then|so|yes)\s+)+",
    "request": rf"(?:ignore|disregard|skip|bypass|leave out|set aside|forget about)\s+{_MEMORY}|"
    rf"ignoring {_MEMORY}|(?:ignore|disregard|forget|set aside) (?:all |everything )?(?:that |"
    r"what )?you (?:already |still )?(?:remember|know)(?: from before| about (?:this|"
    rf"it)(?: \w+)?)?|(?:turn|switch) off {_MEMORY}(?= for\b)|disable {_MEMORY}(?= for\b)|"
    rf"(?:do not|don't|dont|never mind|no) {_CONSULT}\s+{_MEMORY}|(?:act|behave|answer|proceed|"
    rf"pretend|work)(?: as (?:if|though))? you (?:had|have) no {_MEMORY}(?: of (?:this|that|"
    rf"it)(?: \w+)?)?|(?:{_ORDERS}\b.{{0,200}}?\s)?(?:without|"
    rf"with no)(?: {_CONSULT})?\s+{_MEMORY}|(?:no {_MEMORY}|memory off)|(?:{_ORDERS} (?:this|that|"
    rf"it)(?: {_THIS})? )?(?:(?:use|with|start(?: over)?(?: with| from| in)?|from|in|take|give me|"
    r"i (?:want|need)|work (?:with|from|in)|begin with|go with)\s+)?(?:an? )?(?:totally |"
    r"completely |entirely )?(?:fresh|clean|blank)\s+context",
    "tail": r"(?:\s+(?:please|here|now|then|today|at all|entirely|completely|altogether|for now|"
    r"for once|this time|this turn|again|instead|for (?:this|that|one|(?:the|my) (?:next|"
    rf"following))(?: {_THIS})?|(?:in|for) (?:this|your|the next) {_THIS}|on this(?: {_THIS})?|"
    r"from (?:previous|earlier|past|last|other|before|prior)(?: \w+)?|of (?:previous|earlier|past|"
    r"prior|our|last)(?: \w+){0,3}|you have(?: \w+){0,4}|when (?:answering|you answer|"
    r"responding)(?: \w+){0,4}|while \w+ing(?: \w+){0,4}|to (?:answer|solve|do)(?: \w+){0,6}|"
    r"about (?:this|that|me|it)(?: \w+){0,3}))*\s*",
    # Words before "without memory" that make the sentence a talk about agents without memory.
    "about": r"\b(?:how|why|what|agents?|models?|llms?|users?|systems?|when|whether|if|that|who)\b",
    "next": rf"(?:please )?(?:{_ORDERS}|wh(?:at|ich|ere|o|y|en)|how|is|are|can|could|does)\b",
}


@cache
def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(_SOURCES[name], re.IGNORECASE)


def asks_to_ignore(text: str) -> bool:
    """Check whether this message switches every source of memory off for its turn."""
    if not _pattern("hint").search(text):
        return False
    sentences = _pattern("sentence").split(_typed(text))
    return any(map(_asks, sentences)) or any(map(_asks_abroad, sentences))


def _asks_abroad(sentence: str) -> bool:
    """Check for the request in other languages, where the whole clause must match. A clause with a
    question mark does not."""
    return any(
        _pattern("abroad").fullmatch(clause.strip())
        for clause in _pattern("clause abroad").split(sentence)
        if len(clause) <= LONGEST_CLAUSE
    )


def _typed(text: str) -> str:
    """Return the text without pasted parts, with quotes and code replaced by one neutral word."""
    kept: list[str] = []
    position = 0
    for start, end in find_pasted(text):
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
    """Check whether "without memory" is a request, not a statement: "without memory, agents repeat
    …"."""
    before = request.lower().partition("without")[0]
    if _pattern("about").search(before):
        return False
    if at == 0 and not before.strip() and len(clauses) > 1:
        return bool(_pattern("next").match(clauses[1].strip()))
    return True
