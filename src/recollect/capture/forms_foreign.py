"""The plainest forms of rules and preferences in eight languages beside English (see `forms`)."""

from __future__ import annotations

# Only words that are enough by themselves.
FOREIGN_FORMS = {
    "constraint: 必须|務必|务必|必須|禁止|严禁|嚴禁|不允许|不允許|切勿": (
        r"务必|務必|禁止|严禁|嚴禁|不允许|不允許|切勿|(?:你|都|全部)(?:必须|必須)|"
        r"(?:必须|必須)(?:使用|用|保证|遵守|遵循)"
    ),
    "constraint: なければならない|てはいけない|てはならない": (
        r"(?:なければならない|ては(?:いけ|なら)ない)"
    ),
    "constraint: 반드시|하면 안|금지": r"(?:반드시|하면 안 (?:돼|되|됩)|금지)",
    "constraint: запрещ|обязательно |ни в коем случае": (
        r"\b(?:запрещ[её]но|обязательно|ни в коем случае)\b"
    ),
    "constraint: zwingend|verboten|auf keinen fall|müssen|jede&muss": (
        r"\b(?:zwingend|verboten|auf keinen fall)\b|"
        r"^(?:alle|jede[rs]?) [^,;:]{1,60}\b(?:müssen|muss)\b|"
        r"^die [^,;:]{1,60}\bmüssen [^,;:]{1,60}\bjede[mnrs]?\b|"
        r"^(?!(?:wir|sie|diese|jetzt|dann|da|hier|beide|einige)\b)[\w-]+ müssen (?!wir|sie|die)\w"
    ),
    "constraint: obligatori|prohibid|obrigatóri|proibid|tod&debe|cada&debe|devem|cada&deve |"
    "toda &deve ": (
        r"\b(?:es|son|está|é|são) (?:obligatori[oa]s?|prohibid[oa]s?|obrigatóri[oa]s?|"
        r"proibid[oa]s?)\b|^(?:tod[oa]s? l?[oa]s|cada) [^,;:]{1,60}\bde(?:ben?|vem?)\b|"
        r"^l?[oa]s [^,;:]{1,60}\bde(?:ben|vem) [^,;:]{1,60}\bcada\b"
    ),
    "constraint: obligatoire|interdit|tous&doi|toutes&doi|chaque&doi": (
        r"\b(?:est|sont) (?:obligatoires?|interdite?s?)\b|"
        r"^(?:(?:tous|toutes) les|chaque) [^,;:]{1,60}\bdoi(?:t|vent)\b|"
        r"^les [^,;:]{1,60}\bdoivent [^,;:]{1,60}\bchaque\b"
    ),
    "preference: 以后|以後|今后|今後|从现在|從現在|总是|總是|始终|始終|一律|永远|永遠|不要使用|"
    "不要用|我不想": (
        r"(?:^|[，,；;：:])(?:请|請)?(?:以后|以後|今后|从现在|從現在)(?![再还會会可])|(?:总是|"
        r"總是|始终|始終|一律|永远|永遠)(?:要|不要|使用|用|都)|不要(?:使)?用|我不想要?(?!你)"
    ),
    "preference: 今後|これから|常に|必ず|絶対|使わないで|好み": (
        r"(?:今後|これから)は[^。]{1,80}(?:ください|しないで|ように)|(?:常に|必ず|"
        r"絶対に)[^。]{1,60}(?:して|ください|こと|使|ないで)|使わないで"
    ),
    "preference: 앞으로|항상|절대|사용하지 마|선호": (
        r"앞으로(?:는|도)|(?:항상|절대로?)[^.]{1,60}(?:세요|해 ?줘|하지 ?마|할 것)|사용하지 ?마|"
        r"선호(?:해|합)"
    ),
    "preference: всегда|никогда не|впредь|в дальнейшем|не используй|предпочитаю|мне не нравится": (
        r"\b(?:всегда|никогда не) \w+(?:й|йте|и|ите|ь|ьте)\b|\b(?:впредь|в дальнейшем)\b|"
        r"\bне используй(?:те)?\b|\bя предпочитаю\b|\bмне не нравится\b"
    ),
    "preference: immer|niemals|ab jetzt|ab sofort|von nun an|künftig|bevorzuge|verwende kein|"
    "benutze kein|nutze kein": (
        r"\b(?:ab jetzt|ab sofort|von nun an|künftig)\b|\bich bevorzuge\b|"
        r"\b(?:verwende|benutze|nutze) kein\w*\b|\b(?:verwende|benutze|nutze|schreibe?|antworte|"
        r"mach|füge|teste) (?:\S+ ){0,3}(?:immer|niemals)\b|"
        r"^(?:bitte )?(?:immer|niemals) (?:\S+ ){1,6}\w+en[.!]*$"
    ),
    "preference: nie |niemals |kein|immer |statt |auf, |nicht mehr|nur ": (
        # Not a participle: "nie davon gehört", "nie so gesehen".
        r"^(?!.*\bdies\w+\b)(?:bitte )?(?:nie(?:mals)?|nicht mehr)(?: wieder| mehr)? (?:[^\s,]+ "
        r"){1,6}"
        r"(?!ge(?!hen|ben|nehm|stalt)\w+)\w+en[.!]*$|"
        r"\bwir (?:benutzen|verwenden|nutzen|nehmen|schreiben|testen) (?:hier )?(?:immer|nie|"
        r"niemals|nur|ausschließlich|kein\w*) \S|"
        r"\bich (?:möchte|will|mag|wünsche)(?: hier| bitte)? (?:nie(?:mals)? |keine?[nr]? (?!Zeit|"
        r"Ahnung|Angst|Ärger|Panik))\S|^bitte keine? (?!Panik|Sorge)\S+ (?:in|im|bei|für) \S|"
        r"^(?:bitte )?(?:benutze|verwende|nutze|nimm|schreibe?) (?!das|die|den|dies)(?:\S+ ){1,4}"
        r"(?:statt|anstatt|nicht) \S"
    ),
    "preference: antworte": (
        r"^(?:bitte )?antworte(?:n sie)?(?: mir)?(?: bitte)?(?: immer| nur| stets)? auf "
        r"(?:deutsch|englisch|französisch|spanisch)\b"
    ),
    "decision: 决定|決定|而不是": (
        r"(?:我们|我們|咱们)(?:已经)?(?:决定|決定|选择|選擇)(?:使?用|采用|採用|改用)|"
        r"(?:使用|改用|用)[^，,。？]{1,30}而不是"
    ),
    # "Stop doing it": not "don't try again".
    "preference: 别再|別再|不要再|不许再": (
        r"(?:^|[，,；。 ])(?!.*(?:这个|這個|那个|那個|它))(?:请|請|以后|以後)?(?:别|別|不要|不许)再"
        r"(?!试|試|等|看|说|說|管|想|跑|问|問)\S{2,}"
    ),
    "preference: siempre|nunca|adelante|a partir de a|prefiero|prefiro|no uses|no utilices|não use|"
    "não utilize|sempre|evita |evite ": (
        r"\b(?:de ahora en adelante|en adelante,?|de agora em diante|daqui (?:em|pra) diante|"
        r"a partir de a[hg]ora)\b|\bpref(?:iero|iro)\b|(?:^|[,;] |\by )no (?:uses|utilices)\b|"
        r"\bnão (?:use|utilize)\b|\b(?:siempre|sempre) (?:us[ae]|utiliz[ae]|escrib[ae]|escreva|"
        r"respond[ae]|haz|faça|cre[ae]|crie|debes?|deben|devem?)\b|\b(?:us[ae]|utiliz[ae]|escribe|"
        r"escreva|respond[ae]|mant[eé]n|mantenha) (?:\S+ ){0,2}(?:siempre|sempre)\b|"
        r"\bnunca (?:uses?|utilices?|utilize|hagas|faça|escribas|escreva|borres|apague|toques|"
        r"debe)\b|^nunca \w+[ae]s\b|(?:^|[,;] |\by |\be )evit[ae] \w+"
    ),
    "preference: toujours|jamais|désormais|dorénavant|à partir de maintenant|à l'avenir|préfère|"
    "n'utilise|évite": (
        r"\b(?:désormais|dorénavant|à partir de maintenant|à l'avenir)\b|\bje préfère\b|"
        r"\b(?:utilise|écris|réponds|fais|ajoute|garde|mets)z? (?:\S+ ){0,2}toujours\b|"
        r"\bn'utilisez? (?:pas|jamais)\b|\bne (?:fai|met|touche|modifie|supprime|crée|change)\w* "
        r"jamais\b|"
        r"\bne soi(?:t|ent) jamais\b|^n(?:e |')\w+ jamais\b|(?:^|[,;] |\bet )évitez? \w+"
    ),
}
