"""Decide whether a statement of the user makes sense without its message, and word it so.

- When it is captured: a leading "And" is dropped, a pronoun as the subject is replaced by the
  subject of the sentence before, a question after the statement is cut off. `scope_of` returns the
  path that a rule names, `is_personal` checks whether it is about the person and not the code.
- Before it is shown without its conversation (`is_durable`): a sentence is left out when it refers
  to something outside of it, wonders, orders work of the moment, or was taken back by the next
  messages. It is shown when it was meant for good, was repeated in several sessions, or is about
  the way of working.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from ..text import terms
from .forms import LANGUAGES, SAKE

LONGEST_SUBJECT = 60
"""Characters. A longer subject is not copied from the sentence before."""

_REPLIES = "answers|replies|responses|explanations|summaries"

_SOURCES = {
    "lead": rf"(?:(?:(?:and|but|so|also|ok|okay|yes|yeah|yep|hmm+|um+|oh|btw|{SAKE}|"
    r"actually)\b[,;:.!… –—-]+|(?:no|nope|right|great|cool|nice|perfect|thanks|sorry|wait|well|"
    r"however|then|plus)\b ?[,;:.!…–—-]+ *|(?:that|this|it)(?:'s| is) (?:wrong|incorrect|not "
    r"(?:right|true|correct)) ?[,;:–—-]+ *))+(?=\S)"
    # In "this should not be changed, only X should do Y" the rule follows the comma.
    r"|(?:this|that|it) (?:should|must)(?:n't| not)? \w+(?: \w+)?, (?=only\b)",
    "numbered": r"\b(?:pr|pull request|issue|ticket) #?\d+|#\d+\b|(?-i:\b[A-Z]{2,}-\d+\b)",
    # "Before you go doing that, …" is about the moment; the rest may be a repeated request.
    "aside": r"(?:before|after|while|once) [^,;:?]{0,40}\b(?:this|that|it)\b[^,;:?]{0,20}, (?=\w)",
    "asking": r"(?:can|could|would|will) (?:you|we) (?:please |also |now |then |just )*(?=\w)",
    "intro": r"(?:please )?(?:remember|note|(?:have|keep|bear) in mind)(?: that\b|:) (?=\w)|"
    r"my (?:\w+ )?(?:issue|concern|worry|problem)\b[^,;:?]{0,60}? is that (?=\w)",
    # A report before the request that it leads to: "the build is red - can we run …".
    "reported": r"[^,;:?]{3,60}? - (?:can|could) (?:you|we) (?:maybe |please |also )*(?=\w)",
    # A request before the statement.
    "request": r"(?:can|could|would|will|should) (?:you|we|i)\b[^;:?]{1,100}?(?:,| and|"
    r" but) (?=(?:i|we|let's|lets|don'?t|do not|never|always|no) )|"
    # An order for now, before a habit of the team or a rule for all of a kind.
    r"(?:please )?(?:spawn|launch|spin up|kick off|suggest|add|check|commit|create|delete|fix|go|"
    r"implement|investigate|look|merge|move|open|push|refactor|remove|rename|replace|review|run|"
    r"start|update|write) [^;:?]{1,160}?"
    r"(?:(?:[,;]| and| but| since| because| as) (?=(?:we (?:never|always|only|usually|do not|"
    r"don'?t|decided|agreed)|from now on|going forward|in future|(?:make sure|ensure) (?:each|"
    r"every|all)) )|[,;]? (?=we no longer ))",
    "pronoun": r"(?:it|this|that)(?:'s(?! (?:our|the|been|got)\b)|(?= (?!is (?:our|the)\b)\w))|"
    r"(?:they|these|those)(?:'re|(?= \w))",
    # A verb follows a pronoun that is a subject; a noun follows one that is not.
    "verb": r" (?:is|are|was|were|must|mustn't|should|shouldn't|can|can't|cannot|has|"
    r"have|needs?|will|won't|never|always|only|uses?|lives?|runs?|belongs?|stays?|goes|go|may|"
    r"does|doesn't|do|don't)\b",
    "subject": r"(?P<subject>(?:the|our|my|all|every|each|an?) (?!(?:one|same|thing)\b)[^,;:.!?]"
    r"{1,60}?|[^\W\d_][\w./-]*(?: [\w./-]+){0,2}?|_+)(?P<verb> (?:is|are|was|were|has|have|should|"
    r"must|can|will|needs?|uses?|lives?|runs?|contains?|comes?|holds?|breaks?|takes?)\b|'s\b)",
    "no subject": r"(?:i|we|you|they|he|she|it|this|that|there|here|what|who|why|how|if|when|can|"
    r"could|would|please|let's|lets|then|now|these|those|and|but|so)\b",
    # A question behind a statement: "this should be X now, where is Y still used?"
    "question": r", (?:(?:why|where|what|how|which|who)\b|(?:can|could|would|will|do|does|did|is|"
    r"are) (?:you|we|i|it|there|the|this|that)\b)[^,]*\?+$",
    "follows": r"(?:(?:fix|solve|address) the (?:actual|real|root|underlying)\b|(?:mark|keep|make|"
    r"put|use|treat|leave|store|call|name|write|run|add) (?:them|it|these|those)\b|(?:that|this|"
    r"it|they) (?:still |always |also )?(?:remains?|stays?|should|must|belongs?|means)\b|"
    r"(?:otherwise|instead),? )",
    "remember": r"(?:(?:and|also|ok|okay|yes|please|so|great|btw)\b[, ]+)*(?:please )?(?:remember|"
    r"memori[sz]e|note|save|keep|(?:don'?t|do not) forget) (?:this|that|it|"
    r"what i (?:just )?said)(?: down| in mind)?(?: for (?:next time|later|good|the future|"
    r"future sessions|me))?(?:,? please)?[.! ]*",
    "path": r"(?:^|[\s(])(?:(?P<files>(?:files? (?:in|under|below)|under|below|"
    r"(?:edit|touch|modify)(?! files?\b| and/or\b)) )|"
    r"(?:in|inside|within|for|of|to|on|at) )(?:the )?"
    r"[`'\"]?(?P<path>(?:\./)?[\w.@-]+(?:/[\w.@*-]+)*/?)[`'\"]?(?P<noun> (?:folder|directory|"
    r"package|module)\b)?(?=[\s,.;:)]|$)",
    # A rule whose object is a pronoun: "don't ever put it in there".
    "bare": r"(?:(?:you|we|i|please|should|must)[, ]+)*(?:never|always|don'?t|do not|stop|avoid)"
    r"(?: ever)? \w+(?: \w+ly)? (?:it|them|him|her|(?:this|that|these|those)(?! \w))\b",
    "there": r"\b(?:(?:in|out|over|up|from) )?there(?=[,;.!]|$)",
    "opening": r"(?:in|under|inside|within|below|for) (?:the )?"
    r"(?:[\w.@-]*/[\w./@*-]*|_+|\S+ (?:folder|directory|package|module)),? (?=\w)",
    "file": r"[^/]*\.[A-Za-z][\w]{0,5}",
    "personal": rf"(?<!error )(?<!api )(?<!http )(?<!server )\b(?:{_REPLIES}|explain|"
    r"answer|reply|respond|summari[sz]e)\b(?:(?!\b(?:comments?|commits?|docs?|code|tests?|"
    r"docstrings?|errors?)\b)[^,;:]){0,40}?\b(?:max(?:imum)?|at most|more than|less than|fewer "
    r"than|"
    r"under|below|within|up to|in|to) (?:(?:max|at most|about|only) )?"
    r"(?:\d+|an?|a single|one|two|three|four|five|six|eight|ten|a few) (?:short )?"
    r"(?:words?|sentences?|lines?|paragraphs?|bullets?|bullet points?|points?|pages?)\b|"
    rf"\b(?:your|all) (?:{_REPLIES})\b (?:\w+ ){{0,2}}?(?:short|brief|concise|terse|crisp|"
    rf"compact)\b|"
    r"\b(?:antworte|antworten|erkläre)\b.{0,40}\b(?:sätzen?|zeilen?|wörtern|absätzen|kurz|knapp)\b|"
    r"(?:回答|回复|回覆|答案).{0,12}(?:句|字|行|简短|简洁|簡短)|"
    r"\b(?:answers?|respond|responses|reply|replies|talk|speak|explain|communicate|"
    r"write)\b(?! \w+ (?:tests?|docs|comments|code))(?:(?!\b(?:comments?|commits?|docs?|code|"
    rf"readme)\b).){{0,40}}\b(?:in|auf) (?:\w+ )?(?:{LANGUAGES})\b|"
    r"\b(?:antworte|responde|contesta|réponds|parles?|отвечай|"
    rf"пиши)\b.{{0,40}}\b(?:{LANGUAGES})\b|"
    r"(?:用|使用|以)(?:中文|英文|英语|日文|日语)(?:来)?(?:回答|回复|交流|沟通)|日本語で(?:答|回答|"
    r"返信)|"
    r"한국어로 (?:답|대답)|"
    r"\b(?:short|shorter|concise|brief|terse|long|verbose) (?:\w+ )?(?:answers|replies|responses|"
    r"sentences|explanations|summaries)\b|\bbe (?:more )?(?:concise|brief|terse|direct)\b|"
    r"\bstop (?:apologi[sz]ing|praising|saying|telling me)\b|\b(?:don'?t|never) (?:apologi[sz]e|"
    r"praise|flatter)\b|\bcall me \w+|\bmy (?:name|time ?zone|editor|shell|keyboard) is\b|"
    r"\b(?:in|across|for|on) (?:all|every|any) (?:of )?(?:my )?(?:projects?|repos|repositories|"
    r"machines?)\b|\beverywhere i work\b",
    "of project": r"\b(?:we|our|this (?:repo|project|package|codebase|app|file|service)|here)\b",
    # The subject is elsewhere, or the sentence refers to its context.
    "pointing": r"^(?:this|that|these|those|it|they|both|he|she|there(?:'s| is| are))\b"
    r"(?! (?:repo(?:sitory)?|project|codebase|app|package|service|team|monorepo)\b)"
    r"|\b(?:all|both|of|in|for|on|with|by) (?:these|those)\b|\bboth of them\b"
    r"|\b(?:get|do|make|put|have|bring|take|fix|like|want|see|use|with|of|for|about) (?:this|it)\b"
    r"|\b(?:in|at|on|for|with) this (?!repo|project|codebase|app|package|service|team|monorepo)\w+"
    r"|\bthis (?:\w+ )?(?:refactor|change|branch|pr|feature|work|phase|fix|commit|approach)\b"
    r"|\b(?:being|been) (?:complained|asked|mentioned|discussed)\b|\bthe (?:above|following)\b"
    r"|\bdoing (?:this|that|it)\b",
    "wondering": r"\bi(?:'m| am)? (?:honestly |really |just |also |starting to |am )*"
    r"(?:feel|feeling|wonder|wondering|guess|suspect|thinking)\b|\bmy (?:\w+ )?(?:issue|concern|"
    r"worry|question)\b|\bhonestly\b|\bplaying with\b|\bnot (?:quite |really )?sure\b"
    r"|\bcorrect me\b|\bif i understand\b"
    r"|\bprobably\b|\bmaybe\b|\bperhaps\b|\binternal discussion\b|\bcurrently\b|\bat this point\b",
    "for good": r"\b(?:always|never|ever|every time|whenever|from now on|going forward|in (?:the )?"
    r"future|as a rule|by default|no longer|remember|(?:do not|don'?t|never) forget|by convention|"
    r"convention is|in (?:this|our) (?:repo|repository|project|codebase|app|package|monorepo))\b"
    r"|\b(?:do not|don'?t|never)\b[^.]{1,60}\b(?:directly|by hand|manually|blindly)\b",
    "moment": r"\b(?:have|has) been \w+(?:ed|en|ne|wn)\b(?! (?:to|by|in|since)\b)|\bnew feedback\b"
    r"|\bpr #?\d+|\b(?:on|to|from) (?:the|that|this) pr\b|\b[A-Z]{2,}-\d+\b|\bmerge conflicts?\b"
    r"|\bstill failing\b|\b(?:right|for) now\b|\btop prio|\bfirst,? then\b|\bone more time\b"
    r"|\bwe (?:should|need to|have to|can|could) (?:also |then |now )?(?:delete|remove|add|record|"
    r"rename|fix|implement|move|create|update|change|drop|merge|split|write|test)\b",
    # An order without a condition is about the work at hand.
    "order": r"^(?:please |pls |then |and |now |so |ok,? |okay,? |also |just )*"
    r"(?:create|file|open|read|look|check|review|fix|implement|bring|let'?s|lets|add|update|"
    r"remove|move|rename|commit|push|merge|rebase|run|try|go|get|make|mark|replace|change|"
    r"address|log|include|write|put|set|show|start|continue|follow|have in mind|note that|"
    r"(?:can|could|would|will) (?:you|we)|i want|i'?d like|we (?:want|need) to|instead)\b",
    "wish": r"^(?:please |pls |then |and |also )*(?:use|keep|do|don'?t|make|avoid|ensure|prefer)\b"
    r"|\bshould(?:n't| not)?\b|\bmust\b|\bneeds? to\b",
    "task": r"^/\w|^(?:ok(?:ay)?,? |yes,? |now |so |please )*(?:commit|push|implement|create|add|"
    r"fix|update|refactor|rename|remove|move|merge|write|make|build|change) (?:this|that|it|the|"
    r"an?|these|those|all|some)\b",
    "going on": r"^,? (?:or|but|no|not|actually|well|wait)\b",
    "objection": r"^(?:(?:oh|hmm+|ah|ok(?:ay)?|well|but|and)[, ]+)*(?:no\b|nope|not\b|actually|"
    r"wait|sorry|never ?mind|scratch that|forget (?:it|that)|instead)|\bi was wrong\b|"
    r"\bmy mistake\b|\bchanged my mind\b|\blet'?s not\b|\b(?:revert|undo) (?:it|this|that)\b|"
    r"\bon second thought\b",
}


@cache
def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(_SOURCES[name], re.IGNORECASE)


# Patterns are compiled only for sentences that begin with one of these words.
_JOINING = frozenset(
    ("and", "but", "so", "also", "ok", "okay", "yes", "yeah", "yep", "oh", "btw", "actually", "no",
     "nope", "right", "great", "cool", "nice", "perfect", "thanks", "sorry", "wait", "well",
     "however", "then", "plus", "can", "could", "would", "will", "should", "this", "that", "it",
     "please", "remember", "note", "have", "keep", "bear", "my", "spawn", "launch", "spin", "kick",
     "for", "seriously", "damn", "suggest", "add", "check", "commit", "create",
     "delete", "fix", "go", "implement", "investigate", "look", "merge", "move", "open", "push",
     "refactor", "remove", "rename", "replace", "review", "run", "start", "update", "write")
)  # fmt: skip
_OPENINGS = ("in ", "under ", "inside ", "within ", "below ", "for ")
_KEEPING = ("remember", "memori", "forget", "note ", "save ", "keep ")
_POINTING = frozenset(("it", "it's", "this", "that", "that's", "they", "they're", "these", "those"))


def _first_word(masked: str) -> str:
    return masked[:12].split(" ", 1)[0].lower().rstrip(",;:.!…–—-")


def lead_length(masked: str) -> int:
    """Return the length of a sentence's lead: words that only join it to the one before, or
    introduce the statement ("remember that", "my issue with it is that")."""
    first_word, first, opening = _first_word(masked), 0, None
    if first_word in _JOINING or first_word.startswith(("hm", "um")):
        found = _pattern("lead").match(masked)
        first = found.end() if found else 0
        opening = _pattern("request").match(masked, first) or _pattern("intro").match(masked, first)
    if not opening and " - c" in masked[first : first + LONGEST_SUBJECT]:
        opening = _pattern("reported").match(masked, first)
    return opening.end() if opening else first


def statement_length(masked: str) -> int:
    """Return the length of a sentence without a question that follows the statement."""
    found = _pattern("question").search(masked) if masked.endswith("?") else None
    return found.start() if found else len(masked)


def pronoun_length(masked: str) -> int:
    """Return the length of a pronoun as the subject ("it", "they're"), or 0."""
    if _first_word(masked) not in _POINTING:
        return 0
    found = _pattern("pronoun").match(masked)
    if not found:
        return 0
    has_verb = "'" in found[0] or _pattern("verb").match(masked, found.end())
    return found.end() if has_verb else 0


def subject_of(masked: str, pronoun: str) -> tuple[int, int] | None:
    """Return the span of a sentence's subject if the pronoun of the next sentence refers to it."""
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
    """Check whether a sentence only continues the statement before it."""
    return not masked.endswith("?") and _pattern("follows").match(masked) is not None


def opening_length(masked: str) -> int:
    """Return the length of a path that opens a sentence: "in src/api never …"."""
    found = _pattern("opening").match(masked) if masked[:7].lower().startswith(_OPENINGS) else None
    return found.end() if found else 0


def is_bare(masked: str) -> bool:
    """Check whether a rule is about something that only a pronoun stands for."""
    return _pattern("bare").match(masked) is not None


def find_there(masked: str) -> tuple[int, int] | None:
    """Return the span of "there" or "in there", if the sentence names no place for it."""
    found = _pattern("there").search(masked) if "there" in masked.lower() else None
    is_named = found and re.search(
        r"(?i)\b(?:in|into|under|at|inside|on|to|from) ", masked[: found.start()]
    )
    return found.span() if found and not is_named else None


def asks_to_remember_previous(text: str) -> bool:
    """Check whether a sentence only asks to remember the statement before it."""
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
        elif folder or _looks_like_folder(name) or (found["files"] and "/" in name):
            return (name if name.endswith("*") else f"{name}/**",)
    return ()


def _looks_like_folder(name: str) -> bool:
    """Check for a known first folder; "and/or", "ci/cd" and "origin/main" are no folders."""
    first, slash, _ = name.partition("/")
    return bool(slash) and first.lower() in _FOLDERS


_FOLDERS = frozenset(
    ("src", "lib", "app", "apps", "packages", "package", "pkg", "cmd", "internal", "test", "tests",
     "spec", "docs", "doc", "scripts", "tools", "bin", "web", "server", "client", "api", "backend",
     "frontend", "services", "modules", "components", "config", "migrations", "db", "infra",
     "deploy", "examples", "bench", "tasks", "plugins", "crates", "include", "public", "assets",
     "styles", "pages")
)  # fmt: skip


def is_personal(sentence: str) -> bool:
    """Check whether a preference is about the person: language, tone, tools everywhere."""
    return _found("personal", sentence) and not _found("of project", sentence)


# ---------------------------------------------------------------- statements that last

MOST_AFTER = 8
"""Messages after a statement in which it may be taken back."""


def is_durable(text: str, message: str = "", after: Sequence[str] = (), sessions: int = 1) -> bool:
    """Check whether a captured statement may be shown in later sessions without its context.

    message: the message that holds it
    after: the next messages that the person typed in that session
    sessions: the number of sessions with this statement
    """
    doubtful = text.rstrip().endswith("?") or _found("wondering", text)
    if doubtful or _found("pointing", text) or is_taken_back(text, after):
        return False
    if _found("for good", text):
        return True
    if _found("moment", text):
        return False
    if _found("order", text):
        return sessions > 2
    # A wish in a message that gives a task may be about the task only.
    return sessions > 1 or not (_found("task", message.strip()) and _found("wish", text))


def is_taken_back(text: str, after: Sequence[str]) -> bool:
    """Check whether one of the next messages takes a statement back: it objects, and shares two
    words with the statement, or one word if it comes directly after."""
    own, said = set(terms.query_stems(text)), " ".join(text.split()).rstrip(".! ")
    for place, message in enumerate(after[:MOST_AFTER]):
        if said in message and _found("going on", message.partition(said)[2]):
            return True  # sent again with an end that changes it
        shared = own & set(terms.query_stems(message[:400]))
        if len(shared) >= (1 if place == 0 else 2) and _found("objection", message):
            return True
    return False


def _found(name: str, text: str) -> bool:
    return _pattern(name).search(text.replace("’", "'")) is not None


def points_elsewhere(text: str) -> bool:
    """Check whether an instruction refers to its context ("bring it up to date"), or to one
    occasion: a pull request or ticket by its number."""
    return _found("pointing", text) or _found("numbered", text)


def order_of(request: str) -> str:
    """Return a request as an order: without "can you" and words that join it to others."""
    text = request[lead_length(request) :]
    if aside := _pattern("aside").match(text):
        text = text[aside.end() :]
    found = _pattern("asking").match(text)
    return text[found.end() :].rstrip("?") if found else text
