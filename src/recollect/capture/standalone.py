"""Make a captured sentence readable without the message it stood in.

A leading "And" is dropped, a pronoun as the subject is replaced by the subject of the sentence
before, a question after the statement is cut off. `scope_of` returns the path that a rule names,
`is_personal` checks whether it is about the person and not about the code.
"""

from __future__ import annotations

import re
from functools import cache

LONGEST_SUBJECT = 60
"""Characters of a subject that is carried over from the sentence before."""

_LANGUAGES = (
    "english|german|french|spanish|portuguese|italian|dutch|polish|russian|chinese|mandarin|"
    "japanese|"
    "korean|thai|turkish|arabic|hindi|ukrainian|czech|swedish|deutsch|español|castellano|français|"
    "português|italiano|русском|по-русски"
)

_SOURCES = {
    "lead": r"(?:(?:(?:and|but|so|also|ok|okay|yes|yeah|yep|hmm+|um+|oh|btw|actually)\b[,;:.!… "
    r"–—-]+"
    r"|(?:no|nope|right|great|cool|nice|perfect|thanks|sorry|wait|well|however|then|plus)\b"
    r" ?[,;:.!…–—-]+ *))+(?=\S)"
    # "This should not be changed, only X should do Y" says what holds after the comma.
    r"|(?:this|that|it) (?:should|must)(?:n't| not)? \w+(?: \w+)?, (?=only\b)",
    # A request with which the sentence begins, before what it states.
    "request": r"(?:can|could|would|will|should) (?:you|we|i)\b[^;:?]{1,100}?(?:,| and| but) "
    r"(?=(?:i|"
    r"we|let's|lets|don'?t|do not|never|always|no) )",
    "pronoun": r"(?P<one>it|this|that)(?:(?P<is>'s)|(?= (?!is (?:our|the)\b)\w))|(?P<many>they|"
    r"these|"
    r"those)(?:(?P<are>'re)|(?= \w))",
    # What may follow a pronoun that is a subject: a verb, not the noun that it belongs to.
    "verb": r"(?:'s|'re)? ?(?:is|are|was|were|must|mustn't|should|shouldn't|can|can't|cannot|has|"
    r"have|"
    r"needs?|will|won't|never|always|only|uses?|lives?|runs?|belongs?|stays?|goes|go|may|does|"
    r"doesn't|do|don't)?\b",
    "subject": r"(?P<subject>(?:the|our|my|all|every|each|an?) (?!(?:one|same|thing)\b)[^,;:.!?]"
    r"{1,60}?|[^\W\d_][\w./-]*(?: [\w./-]+){0,2}?|_+)(?P<verb> (?:is|are|was|were|has|have|should|"
    r"must|can|will|needs?|uses?|lives?|runs?|contains?|comes?|holds?|breaks?|takes?)\b|'s\b)",
    "no subject": r"(?:i|we|you|they|he|she|it|this|that|there|here|what|who|why|how|if|when|can|"
    r"could|would|please|let's|lets|then|now|these|those|and|but|so)\b",
    # A question behind a statement: "this should be X now, where is Y still used?"
    "question": r", (?:(?:why|where|what|how|which|who)\b|(?:can|could|would|will|do|does|did|is|"
    r"are)"
    r" (?:you|we|i|it|there|the|this|that)\b)[^,]*\?+$",
    "follows": r"(?:(?:fix|solve|address) the (?:actual|real|root|underlying)\b|(?:mark|keep|"
    r"make|put|use|treat|leave|store|call|name|write|run|add) (?:them|"
    r"it|"
    r"these|those)\b|(?:that|this|it|they) (?:still |always |also )?(?:remains?|stays?|should|must|"
    r"belongs?|means)\b|(?:otherwise|instead),? )",
    "remember": r"(?:(?:and|also|ok|okay|yes|please|so|great|btw)\b[, ]+)*(?:please "
    r")?(?:remember|memori[sz]e|"
    r"note|save|keep|(?:don'?t|do not) forget) (?:this|that|it|what i (?:just )?said)"
    r"(?: down| in mind)?(?: for (?:next time|later|good|the future|future sessions|me))?"
    r"(?:,? please)?[.! ]*",
    "path": r"(?:^|[\s(])(?:in|under|inside|within|for|of|to|on|at) (?:files? (?:in|under) |the )?"
    r"[`'\"]?(?P<path>(?:\./)?[\w.@-]+(?:/[\w.@*-]+)*/?)[`'\"]?(?P<noun> (?:folder|directory|"
    r"package|module)\b)?(?=[\s,.;:)]|$)",
    "file": r"[^/]*\.[A-Za-z][\w]{0,5}",
    "personal": r"\b(?:answer|respond|reply|talk|speak|explain|communicate|write)\b(?! \w+ "
    r"(?:tests?|"
    rf"docs|comments|code))(?:(?!\b(?:comments?|commits?|docs?|code|readme)\b).){{0,40}}\b(?:in|"
    rf"auf) "
    rf"(?:\w+ )?(?:{_LANGUAGES})\b|"
    rf"\b(?:antworte|responde|contesta|réponds|parles?|отвечай|"
    rf"пиши)\b.{{0,40}}\b(?:{_LANGUAGES})\b|"
    r"(?:用|使用|以)(?:中文|英文|英语|日文|日语)(?:来)?(?:回答|回复|交流|沟通)|日本語で(?:答|回答|返信)|"
    r"한국어로 (?:답|대답)|"
    r"\b(?:short|shorter|concise|brief|terse|long|verbose) (?:\w+ )?(?:answers|replies|responses|"
    r"sentences|explanations|summaries)\b|\bbe (?:more )?(?:concise|brief|terse|direct)\b|"
    r"\bstop (?:apologi[sz]ing|praising|saying|telling me)\b|\b(?:don'?t|never) (?:apologi[sz]e|"
    r"praise|flatter)\b|\bcall me \w+|\bmy (?:name|time ?zone|editor|shell|keyboard) is\b|"
    r"\b(?:in|across|for|on) (?:all|every|any) (?:of )?(?:my )?(?:projects?|repos|repositories|"
    r"machines?)\b|\beverywhere i work\b",
    "of project": r"\b(?:we|our|this (?:repo|project|package|codebase|app|file|service)|here)\b",
}


@cache
def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(_SOURCES[name], re.IGNORECASE)


# A pattern is compiled only for a sentence that begins with one of the words it is about.
_JOINING = (
    "and|but|so|also|ok|okay|yes|yeah|yep|oh|btw|actually|no|nope|right|great|cool|nice|perfect|"
    "thanks|sorry|wait|well|however|then|plus|can|could|would|will|should|this|that|it"
)
_KEEPING = ("remember", "memori", "forget", "note ", "save ", "keep ")
_POINTING = frozenset(("it", "it's", "this", "that", "that's", "they", "they're", "these", "those"))


def _first_word(masked: str) -> str:
    return masked[:12].split(" ", 1)[0].lower().rstrip(",;:.!…–—-")


def lead_length(masked: str) -> int:
    """Return how many characters at the start of a sentence only join it to the one before."""
    first_word = _first_word(masked)
    if first_word not in _JOINING.split("|") and not first_word.startswith(("hm", "um")):
        return 0
    found = _pattern("lead").match(masked)
    first = found.end() if found else 0
    request = _pattern("request").match(masked, first)
    return request.end() if request else first


def statement_length(masked: str) -> int:
    """Return the length of a sentence without the question that stands behind the statement."""
    found = _pattern("question").search(masked) if masked.endswith("?") else None
    return found.start() if found else len(masked)


def pronoun_length(masked: str) -> int:
    """Return the length of a subject that points back ("it", "they're"), or 0."""
    if _first_word(masked) not in _POINTING:
        return 0
    found = _pattern("pronoun").match(masked)
    if not found:
        return 0
    rest = _pattern("verb").match(masked, found.end())
    return found.end() if rest and rest[0].strip() else 0


def subject_of(masked: str, pronoun: str) -> tuple[int, int] | None:
    """Return where the subject of a sentence stands to which the pronoun of the next one points."""
    first = lead_length(masked)
    if _pattern("no subject").match(masked, first):
        return None
    found = _pattern("subject").match(masked, first)
    if not found or len(found["subject"]) > LONGEST_SUBJECT:
        return None
    many = pronoun.lower()[:4] in ("they", "thes", "thos")
    if found["verb"].strip() in ("is", "was", "has", "'s") and many:
        return None
    if found["verb"].strip() in ("are", "were", "have") and not many:
        return None
    return found.span("subject")


def copula(pronoun: str) -> str:
    """Return the verb inside a contracted pronoun: " is" of "it's"."""
    lowered = pronoun.lower()
    return " is" if lowered.endswith("'s") else " are" if lowered.endswith("'re") else ""


def follows(masked: str) -> bool:
    """Check whether a sentence only goes on with the statement before it."""
    return not masked.endswith("?") and _pattern("follows").match(masked) is not None


def means_what_was_before(text: str) -> bool:
    """Check whether a sentence only asks to remember what was said before it."""
    plain = text.strip().replace("’", "'")
    if len(plain) > 100 or not any(word in plain.lower() for word in _KEEPING):
        return False
    return _pattern("remember").fullmatch(plain) is not None


def scope_of(sentence: str) -> tuple[str, ...]:
    """Return the globs of the files that a rule names: "in src/api, …" gives src/api/**."""
    for found in _pattern("path").finditer(sentence):
        path = found["path"].removeprefix("./").rstrip(".")
        folder = path.endswith("/") or bool(found["noun"])
        name = path.rstrip("/")
        if ".." in name or "@" in name or name.startswith("/"):
            continue
        if _pattern("file").fullmatch(name.rpartition("/")[2]) and not folder:
            if "/" in name:
                return (name,)
        elif folder or _looks_like_folder(name):
            return (name if name.endswith("*") else f"{name}/**",)
    return ()


def _looks_like_folder(name: str) -> bool:
    """Check for two parts or more; "and/or", "ci/cd" and "origin/main" are none."""
    first, slash, _ = name.partition("/")
    return bool(slash) and first.lower() in _FOLDERS.split("|")


_FOLDERS = (
    "src|lib|app|apps|packages|package|pkg|cmd|internal|test|tests|spec|docs|doc|scripts|tools|bin|"
    "web|server|client|api|backend|frontend|services|modules|components|config|migrations|db|infra|"
    "deploy|examples|bench|tasks|plugins|crates|include|public|assets|styles|pages"
)


def is_personal(sentence: str) -> bool:
    """Check whether a preference is about the person: language, tone, tools everywhere."""
    return bool(_pattern("personal").search(sentence)) and not _pattern("of project").search(
        sentence
    )
