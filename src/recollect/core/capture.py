"""Decides which sentences of a user's message are worth keeping, without a model.

Two questions, both answered from the text alone:

- `pasted`: which parts of a prompt the person did not type (fences, quotes, logs, tagged
  blocks, walls of text). Those parts have the trust of a tool result, not of the user.
- `capture`: which typed sentences state a rule, a preference or a correction.

It knows English phrasing only, and nothing about sessions, agents or the store. Precision comes
before recall: a missed preference is said again, a wrong policy is obeyed. Everything here is
linear in the length of the text.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import cache
from itertools import chain

from ..nouns import NamedTuple
from ..types import Message
from .messages import MEMORY_TAG, SUMMARY_TAG, attached, said

Span = tuple[int, int]

SHORTEST, LONGEST = 20, 2_000
FEWEST_WORDS = 5
MOST_PER_MESSAGE = 3
MOST_TYPED_LINES = 15


class Captured(NamedTuple):
    """A sentence to learn: verbatim, where it stands in the message, and the rule that saw it."""

    kind: str
    text: str
    priority: str
    span: Span
    rule: str


def pasted(text: str) -> tuple[Span, ...]:
    """The parts of a prompt that were not typed by hand, in order and not overlapping."""
    blocks = _joined(sorted([*_elements(text), *_fences(text)]))
    typed_lines = 0
    lines: list[Span] = []
    for start, end in _lines_outside(text, blocks):
        line = text[start:end]
        if _looks_pasted(line):
            lines.append((start, end))
        elif line.strip():
            typed_lines += 1
    if typed_lines > MOST_TYPED_LINES:
        return ((0, len(text)),)
    return tuple(_joined(sorted([*blocks, *lines])))


def without_attachments(message: Message) -> str:
    """The words of a message with everything that was added to them blanked; lengths stay."""
    words = said(message)
    for start, end in attached(message):
        words = words[:start] + "\n" * (end - start) + words[end:]
    return words


def untyped(message: Message) -> tuple[Span, ...]:
    """The parts of a message's words that were not typed by hand: pasted into them, or added."""
    beside = attached(message)
    spans = pasted(without_attachments(message))
    return tuple(_joined(sorted([*beside, *spans]))) if beside else spans


def capture(text: str) -> list[Captured]:
    """What to learn from one message that the user typed; at most three, in their order."""
    if not _pattern("trigger").search(text):
        return []
    found: list[Captured] = []
    masked = _masked(text)
    for start, end in _sentences(masked):
        if (
            not SHORTEST <= end - start <= LONGEST
            or masked.count(" ", start, end) < FEWEST_WORDS - 1
        ):
            continue
        rule = _rule(masked[start:end])
        if rule:
            kind, priority = _RULES[rule]
            found.append(Captured(kind, text[start:end], priority, (start, end), rule))
            if len(found) == MOST_PER_MESSAGE:
                break
    return found


_RULES = {
    "constraint": ("policy", "critical"),
    "preference": ("preference", "medium"),
    "correction": ("fact", "high"),
    "remember": ("fact", "high"),
}


def _rule(sentence: str) -> str:
    """The first rule that the sentence meets: what binds most is asked first."""
    if not _pattern("trigger").search(sentence):
        return ""
    if sentence.endswith("?") or _pattern("question").match(sentence):
        return ""
    if _pattern("hedge").search(sentence) or _pattern("passing").search(sentence):
        return ""
    for rule in _RULES:
        if _pattern(rule).search(sentence) and not _pattern(f"not {rule}").search(sentence):
            return rule
    return ""


_VERBS = (
    "add answer apply ask assume avoid branch build bump call catch change check commit copy "
    "create define delete deploy document edit ensure expose follow force format handle hardcode "
    "hard-code ignore import include install keep leave lint log make merge mock modify name open "
    "pass pin prefer prefix push put raise rebase rely remove reply respond return revert review "
    "rewrite run send set skip squash start store test throw touch trust update use validate "
    "verify wrap write"
).replace(" ", "|")

_CLAUSE_STARTS = (
    "i|i'm|i've|it|it's|its|we|you|they|he|she|there|that|this|when|if|then|now|still|also|just|"
    "not|how|what|why|can|could|would|will|maybe|please|only|so|is|are|was|have|has|do|does"
)

_STATES = (
    "is|are|was|were|isn't|aren't|has|have|should|shouldn't|use|uses|needs?|lives?|belongs?|"
    "means?|meant|called|it's|that's|they're|doesn't|don't|can't|cannot"
)

_FEELINGS = (
    r"an?|some|so|such|really|very|quite|that|because|the|something|why|how|\w+ing|\w*ful|nice|"
    "hard|tough|great|fun|wrong|awesome|incredible|proud|happy|excited|thrilled|tired|stoked"
)

# A rule matches where its pattern is found and its "not …" pattern is nowhere in the sentence.
_SOURCES = {
    "question": r"(?:(?:and|but|so|ok|okay|also|hmm+)[, ]+)*"
    r"(?:(?:can|could|would|will|should|do|does|did|is|are|was|were|must|may|shall)\s+"
    r"(?:i|you|we|it|they|he|she|there|this|that|the|these|those|my|our)\b"
    r"|(?:what|why|how|where|which|who|whose)\b)",
    "hedge": r"\b(?:i (?:think|guess|wonder|suppose|assume)|maybe|perhaps|probably|possibly|might|"
    r"not sure|unsure|wondering|i'm thinking|seems?|looks like|if you prefer|theoretically|"
    r"in theory)\b|^for (?:example|instance)\b",
    # What is meant for this moment, or for something that stands elsewhere, is no lasting rule.
    "passing": r"\bfor this[.!]*$|\b(?:do|did|does|like|make sure) (?:this|that|it)\b|"
    r"\b(?:this|that) (?:one|route|way|time)\b|\byet\b|\bagain\b|\bplease check\b|"
    r"\b(?:bugs?|errors?|crash(?:es|ed)?|broken) (?:is|are|was|where|when|because|in)\b|"
    r"\bthere (?:is|are) (?:\w+ ){1,2}(?:bugs?|errors?|issues?|problems?)\b|^if (?:not|so)\b|"
    r"\bnot the one\b|\bwhen i (?:go|click|open|press|run|try)\b",
    "constraint": r"\bmust\b|\bmustn't\b|\b(?:don'?t|do not) ever\b|\bnever ever\b|"
    r"\b(?:is|are|be|it's|that's) (?:always |strictly |absolutely |strongly )?"
    r"(?:required|mandatory|non-negotiable|forbidden|prohibited|not allowed)\b",
    # "must" that infers or admits, and requirements that are denied or only mentioned.
    "not constraint": r"\b(?:rule|description|instructions?) (?:that|which) (?:says?|states?)\b|"
    rf"\bmust(?:'ve| have| feel| love| really| currently| be (?:{_FEELINGS}))\b|"
    r"\b(?:there|it|that|this|i|he|she) must\b|^must (?:be|feel)\b|\byou must be\b|"
    r"\b(?:a|the|if \w+) must\b|\bmust-\w|"
    r"\b(?:if|as|when|where|not|isn't|aren't|no longer|no \w+(?: \w+)?) "
    r"(?:is |are |be )?(?:required|mandatory)\b|"
    r"\brequired (?:fields?|sections?|tokens?|changes?|to)\b|"
    r"\bever (?:forget|quit|give up)\b",
    "preference": r"\bi(?:'d| would)?(?: \w+ly| much| still| always)? prefer\b|"
    r"(?:^|\b(?:but|and) )would prefer\b|\b(?:from now on|going forward)\b|"
    r"\bshould (?:always|never) \w|\bi(?: \w+)? (?:always|never) want\b|"
    r"^(?:please )?(?:always|never) (?!(?:the|an?|mind|again|ever|here|there|up|in|on|at|so|good|"
    r"nice|great|happy|glad|fun|been|had|saw|knew|thought|got|felt|\w+ed|\w+ing|\w+s)\b)\w|"
    r"(?:^|[,;:(–—-] *|\b(?:please|and|then|so|but|should|you|we|i|to|will|i'll) +)"
    rf"(?:always|never) +(?:{_VERBS})\b",
    "not preference": r"\b(?:from now on|going forward),? (?:i|we)(?:'m|'ll| am| will)\b|"
    r"\bthat (?:\w+ )?(?:format|style|pattern|approach)\b|"
    r"\b(?:i|we)(?:'m|'ll| am| will)\b.*\b(?:from now on|going forward)\b|"
    r"^(?:they|it|he|she|his|her|their|this|that|these|those)\b.*"
    r"\b(?:and|so|but) (?:always|never)\b|"
    r"\b(?:i|we)(?:'ve| have|'d| had)? never (?:knew|heard|thought|seen|saw|got|been|tried|had|"
    r"did|really)\b|\bused to prefer\b|\bcurrently (?:always|never)\b|"
    r"(?:n't|not) (?:need|have|want) to (?:always|never)\b",
    "correction": r"^(?:(?:oh|ah|hmm+|wait|sorry|well|ok|okay|but|no)[,.!… ]+)*actually\b.*"
    rf"\b(?:{_STATES})\b|"
    r"^(?:no|nope)[,;:–—-]+ *(?:(?:the|our|my|all|every|these|those|this \w+) |"
    r"we (?=(?:use|need|have|should|don't)\b)|"
    rf"[\w./-]+[._/-][\w./-]+ |_+ ?).*\b(?:{_STATES})\b|"
    rf"\bnot +\S+(?: +\S+){{0,4}}?,? +but +(?!(?:{_CLAUSE_STARTS})\b)\w|"
    r"\bnot\b[^;:]{1,120}\bbut (?:instead|rather)\b|"
    r"\b(?:is|are|it's|that's|use|uses|should be|called|means|meant|want) +"
    r"(?:[^\s,;]+ +){0,11}[^\s,;]+, *not +(?!\w+ing\b)\w",
    # A statement whose subject stands in another sentence says nothing by itself.
    "not correction": r"^(?:(?:but|and|so) )?(?:it|they|these|those|the key|for|"
    r"(?:this|that) (?!is |project|repo|code|app|package|module|service|library|team)\w+)\b|"
    r"\b(?:it is|it's|it was)\b|"
    r"\bnot (?:only|just|sure|bad|great|perfect|ideal|working|too|very|yet|"
    r"really|that|so|many|much|long)\b|\b(?:why|if|or) not\b|"
    r"\bactually,? i(?:'\w+)?\b(?! (?:meant|mean|want|wanted|said|asked|need|prefer))|"
    r"\bactually,? (?:can|could|what|how|why)\b",
    "remember": r"^(?:please +|and +|also +|so +)*remember *(?:: *| +that +| +to +)\w",
    # Advice to somebody is not a fact for later.
    "not remember": r"\bremember(?: that)? +\w+ing\b|\byour?\b|\bdon't hesitate\b",
    # One cheap look at the whole message before any work is done on it.
    "trigger": r"\b(?:prefer|always|never|actually|must|mustn't|required|mandatory|forbidden|"
    r"prohibited|allowed|ever|from now on|going forward|remember|no|nope|not)\b",
    "sentence": r"(?<!\be\.g)(?<!\bi\.e)(?<!\bvs)[.!?…]+(?=[\s\"')\]]|$)|\n+",
    "bullet": r"(?:[-*•+]|\d{1,3}[.)]|#{1,6})\s+",
    "inline": r"`[^`\n]+`|\"[^\"\n]{1,400}\"|“[^”\n]{1,400}”|«[^»\n]{1,400}»|"
    r"(?<!\w)'[^'\n]{1,400}'(?!\w)",
    "fence": r"(?m)^[ \t]*(`{3,}|~{3,})[^\n]*$",
    "open": r"(?m)^[ \t]*<([A-Za-z][\w.:-]*)(?:\s[^<>\n]*)?>",
    "close": r"</([A-Za-z][\w.:-]*)>",
    # What a terminal, a log, a diff, a table or a stack trace starts its lines with.
    "pasted": r".*[│┃┌└├╭╰═━█]|.*\bline \d+,? col(?:umn)? \d|"
    r"\s*(?:>|\||[$❯➜%»] |#! |at \S+\(|@@ |diff --git |\+\+\+ |--- \S|"
    r"\[?\d{4}-\d\d-\d\d[T ]\d\d:|\[?\d\d:\d\d:\d\d|"
    r"(?-i:ERROR|WARN|WARNING|INFO|DEBUG|TRACE|FATAL)\b|(?-i:(?:[A-Z]\w*)?(?:Error|Exception): )|"
    r"(?-i:(?:error|fatal|warning|remote|hint|npm ERR!)[:\[ ])|"
    r"File \".*\", line \d|Traceback \(|\w+@[\w-]+:\S*[$#] )|"
    r"(?: {4,}|\t)\S",
}


@cache
def _pattern(name: str) -> re.Pattern[str]:
    """Compiled on first use: most messages need only the first of them."""
    return re.compile(_SOURCES[name], re.IGNORECASE)


def _masked(text: str) -> str:
    """The text with pasted parts blanked to line ends and quoted parts to one long word.

    Lengths stay, so that a span in the mask is a span in the text.
    """
    out: list[str] = []
    position = 0
    for start, end in pasted(text):
        out.append(text[position:start])
        out.append("\n" * (end - start))
        position = end
    out.append(text[position:])
    masked = "".join(out).replace("’", "'")
    return _pattern("inline").sub(lambda match: "_" * len(match[0]), masked)


def _sentences(masked: str) -> Iterator[Span]:
    bullet = _pattern("bullet")
    start = 0
    for match in chain(_pattern("sentence").finditer(masked), (None,)):
        end = match.end() if match else len(masked)
        inner_start, inner_end = start, end
        while inner_start < inner_end and masked[inner_start].isspace():
            inner_start += 1
        while inner_end > inner_start and masked[inner_end - 1].isspace():
            inner_end -= 1
        lead = bullet.match(masked, inner_start, inner_end)
        yield (lead.end() if lead else inner_start), inner_end
        start = end


def _elements(text: str) -> Iterator[Span]:
    """Tagged blocks `<name …>…</name>`: ours anywhere, any other from the start of a line."""
    if "</" not in text:
        return
    closes: dict[str, list[int]] = {}
    for match in _pattern("close").finditer(text):
        closes.setdefault(match[1].lower(), []).append(match.end())
    position = 0
    for start, name in _opens(text):
        if start < position:
            continue
        ends = closes.get(name, [])
        index = bisect_left(ends, start)
        if index < len(ends):
            position = ends[index]
            yield start, position


def _opens(text: str) -> list[tuple[int, str]]:
    found = {(match.start(), match[1].lower()) for match in _pattern("open").finditer(text)}
    for tag in (MEMORY_TAG, SUMMARY_TAG):
        start = text.find(f"<{tag}")
        while start >= 0:
            found.add((start, tag))
            start = text.find(f"<{tag}", start + 1)
    return sorted(found)


def _fences(text: str) -> Iterator[Span]:
    """Fenced blocks; one that is never closed runs to the end."""
    opened: re.Match[str] | None = None
    for match in _pattern("fence").finditer(text):
        if opened is None:
            opened = match
        elif match[1][0] == opened[1][0] and len(match[1]) >= len(opened[1]):
            yield opened.start(), match.end()
            opened = None
    if opened is not None:
        yield opened.start(), len(text)


def _lines_outside(text: str, blocks: list[Span]) -> Iterator[Span]:
    position = 0
    for start, end in [*blocks, (len(text), len(text))]:
        while position < start:
            line_end = text.find("\n", position, start)
            line_end = start if line_end < 0 else line_end
            yield position, line_end
            position = line_end + 1
        position = max(position, end)


def _looks_pasted(line: str) -> bool:
    return bool(_pattern("pasted").match(line))


def _joined(spans: list[Span]) -> list[Span]:
    joined: list[Span] = []
    for start, end in spans:
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined
