"""Decide which sentences of a user's message are worth keeping, without a model.

Two questions, both answered from the text alone:

- `find_pasted`: which parts of a prompt the person did not type (fences, quotes, logs, tagged
  blocks, walls of text). Those parts have the trust of a tool result, not of the user.
- `capture`: which typed sentences state a rule, a preference or a correction (`statements`), and
  which of them may be another person's text (`authorship`).

Nothing is captured from a pasted document, an assistant's answer or a wall of data (`authorship`).
The module knows nothing about sessions, agents or the store, and takes linear time.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from itertools import chain

from ..fast_typing import TYPE_CHECKING, NamedTuple
from ..text.display import MEMORY_TAG, SUMMARY_TAG
from ..text.messages import attached_spans, plain_text
from ..types.records import Message
from . import statements

if TYPE_CHECKING:
    from .forms import Form

Span = tuple[int, int]

_REWORDING = (
    "translat rephras word paraphras proof spell summari shorten grammar say übersetz formulier"
)
"""Pieces of the words that ask to work on a text."""

_ORDERS = ("constraint", "preference")
"""Rules that tell the agent what to do: they need an object that is named."""

SHORTEST, LONGEST = 10, 2_000
SHORTEST_UNSPACED = 6
"""Characters of a sentence in a script that is written without spaces."""
LONGEST_TOGETHER = 300
"""Characters of a statement and the sentence that goes on with it."""
MOST_PER_MESSAGE = 3
MOST_TYPED_LINES = 15
LONG = 2_000


class Captured(NamedTuple):
    """A statement to learn.

    `text` makes sense alone; `quote` is the original wording, at `span` in the message. `doubt` is
    the reason why it may be another person's text, or "". `scope` are globs of the files it is
    about. `withdraws` names the rule that it takes back: see `withdrawals`.
    """

    kind: str
    text: str
    priority: str
    span: Span
    rule: str
    doubt: str
    quote: str
    scope: tuple[str, ...] = ()
    personal: bool = False
    withdraws: statements.Withdrawal | None = None


def find_pasted(text: str) -> tuple[Span, ...]:
    """Return the parts of a prompt that were not typed by hand, in order and not overlapping."""
    blocks = _merge_spans(sorted([*_elements(text), *_fences(text), *_expansion(text)]))
    typed_lines = 0
    lines: list[Span] = []
    for start, end in _lines_outside(text, blocks):
        line = text[start:end]
        if _pattern("pasted").match(line):
            lines.append((start, end))
        elif line.strip():
            typed_lines += 1
    if typed_lines > MOST_TYPED_LINES:
        return ((0, len(text)),)
    return tuple(_merge_spans(sorted([*blocks, *lines])))


def without_attachments(message: Message) -> str:
    """Return the text of a message with its attachments blanked; the length stays the same."""
    return _blank(plain_text(message), attached_spans(message))


def _blank(text: str, spans: Iterable[Span]) -> str:
    """Return the text with some spans replaced by as many line ends."""
    kept: list[str] = []
    position = 0
    for start, end in spans:
        kept += (text[position:start], "\n" * (end - start))
        position = end
    return "".join((*kept, text[position:]))


def find_untyped(message: Message) -> tuple[Span, ...]:
    """Return the parts of a message's text that were not typed by hand: pasted or attached."""
    beside = attached_spans(message)
    spans = find_pasted(without_attachments(message))
    return tuple(_merge_spans(sorted([*beside, *spans]))) if beside else spans


def capture(text: str) -> list[Captured]:
    """Return the statements to learn from one typed message; at most three, in their order."""
    return list(_capture_typed(text)) if len(text) <= LONG else _capture(text)


@lru_cache(maxsize=2048)
def _capture_typed(text: str) -> tuple[Captured, ...]:
    """Return the statements of a typed text. Cached: building the episodes of an import reads its
    messages a second time."""
    return tuple(_capture(text))


def _capture(text: str) -> list[Captured]:
    forms = statements.forms_in(text)
    if not forms:
        return []
    masked = mask(text)
    stated = _stated(text, masked, forms)
    first = next(stated, None)
    if first is None:
        return []
    # Imported on demand, as is `standalone`: a hook reads every prompt, and most state nothing.
    from . import authorship

    if authorship.is_document(text, masked):
        return []
    troubles = [match.start() for match in _pattern("trouble").finditer(text)]
    doubt = authorship.doubts(text, masked)
    found: list[Captured] = []
    for one in chain((first,), stated):
        start, end = one.span
        if (
            one.rule == "constraint"
            and troubles
            and (troubles[0] < start or troubles[-1] >= end)
            and not _pattern("addressed").search(masked, start, end)
        ):
            continue  # the text of an error: "each child must have a unique key"
        found.append(one._replace(doubt=doubt(one.span)))
        if len(found) == MOST_PER_MESSAGE:
            break
    return found


def _stated(text: str, masked: str, forms: list[Form]) -> Iterator[Captured]:
    """Yield the sentences that state something, completed so that they make sense alone."""
    from . import standalone

    rule_of = statements.rule_of
    spans = [span for span in sentence_spans(masked) if span[0] < span[1]]
    for number, (start, end) in enumerate(spans):
        if not _has_length(masked, start, end):
            continue
        if standalone.asks_to_remember_previous(masked[start:end]):
            if number and not masked[slice(*spans[number - 1])].endswith(("?", "？")):
                yield _remembered(text, spans[number - 1])
            continue
        end = start + standalone.statement_length(masked[start:end])
        if masked.startswith(", why ", end) and not _pattern("order").match(masked, start):
            continue  # "it will always do so, why would you …?" gives a reason for the question
        own = start + standalone.lead_length(masked[start:end])
        before = spans[number - 1] if number else None
        subject, rest = _subject(masked, before, own) if before else (None, own)
        filler = f"{text[slice(*subject)]}{standalone.copula(text[own:rest])}" if subject else ""
        rule = rule_of(f"{filler}{masked[rest:end]}", forms) if filler else ""
        if not rule:
            filler, rest = "", own
            rule = rule_of(masked[start:end], forms) or rule_of(masked[own:end], forms)
            if not rule and (opening := standalone.opening_length(masked[own:end])):
                rule = rule_of(masked[own + opening : end], forms)
        if not rule or (rule in _ORDERS and standalone.is_bare(masked[rest:end])):
            continue
        after = spans[number + 1] if number + 1 < len(spans) else None
        last = _find_end(masked, end, after, forms)
        kind, priority = statements.RULES[rule]
        words, scope = f"{filler}{text[rest:last]}", standalone.scope_of(text[start:end])
        if rule in _ORDERS and (there := standalone.find_there(masked[rest:end])):
            # "In src/api we …. Never return bare lists there." is about the folder named before.
            scope = standalone.scope_of(text[slice(*before)]) if before else ()
            if not scope:
                continue
            place = f"in {scope[0].removesuffix('/**')}"
            words = f"{text[rest : rest + there[0]]}{place}{text[rest + there[1] : last]}"
        yield Captured(
            kind=kind,
            text=words,
            priority=priority,
            span=(start, end),
            rule=rule,
            doubt="",
            quote=text[start:last],
            scope=scope,
            personal=kind in ("preference", "fact") and standalone.is_personal(masked[start:end]),
        )


def _remembered(text: str, span: Span) -> Captured:
    """Return the sentence before "remember this"."""
    kind, priority = statements.RULES["remember"]
    words = text[slice(*span)]
    return Captured(kind, words, priority, span=span, rule="remember", doubt="", quote=words)


def _has_length(masked: str, start: int, end: int) -> bool:
    """Check whether a sentence is long enough to say something, and not too long to be one."""
    shortest = SHORTEST if masked[start : start + 2].isascii() else SHORTEST_UNSPACED
    return shortest <= end - start <= LONGEST


def _subject(masked: str, before: Span, start: int) -> tuple[Span | None, int]:
    """Return the span of the subject in the sentence before that this one's pronoun refers to, and
    the place after the pronoun."""
    from . import standalone

    length = standalone.pronoun_length(masked[start : start + 20])
    if not length or masked[before[1] : start].count("\n") > 1:
        return None, start
    found = standalone.subject_of(masked[slice(*before)], masked[start : start + length])
    if found is None:
        return None, start
    return (before[0] + found[0], before[0] + found[1]), start + length


def _find_end(masked: str, end: int, after: Span | None, forms: list[Form]) -> int:
    """Return the end of the statement: that of the next sentence if it only continues it."""
    from . import standalone

    if after is None or "\n" in masked[end : after[0]] or after[1] - end > LONGEST_TOGETHER:
        return end
    next_one = masked[slice(*after)]
    asks = next_one.endswith(("?", "？"))
    goes_on = not asks and standalone.follows(next_one) and not statements.rule_of(next_one, forms)
    return after[1] if goes_on else end


_SOURCES = {
    "sentence": r"[。！？]+|(?<!\be\.g)(?<!\bi\.e)(?<!\bvs)[.!?…]+(?=[\s\"')\]]|$)|\n+",
    "order": r"(?:(?:please|and|but|so|ok|okay|no|also)[, ]+)*(?:always|never|don't|do not|use|"
    r"stop|avoid|(?:you|we) (?:should|must))\b",
    "expansion": r"(?m)^--- (?:Cursor )?Command: [^\n]*---$",
    "trouble": r"\b(?:errors?|warnings?|exception|failed|traceback|emerg|denying|invalid|"
    r"spec states)\b",
    "addressed": r"\b(?:i|we|you|please|let's|lets|always|never|our|my)\b",
    "bullet": r"(?:[-*•+]|\d{1,3}[.)]|#{1,6})\s+",
    "inline": r"`[^`\n]+`|\"[^\"\n]{1,400}\"|“[^”\n]{1,400}”|«[^»\n]{1,400}»|"
    r"(?<!\w)'[^'\n]{1,400}'(?!\w)|"
    # The text of an error follows its name.
    r"(?-i:\b(?:\w*(?:Error|Exception|Warning)|error|warning|fatal|ERROR|WARNING))"
    r"(?:\[\w+\])?: [^\n]+",
    # A text to work on: "translate to German: …".
    "material": r"(?m)(^[^:\n]{0,40}\b(?:translate|translation|rephrase|reword|paraphrase|"
    r"proofread|spell-?check|summari[sz]e|shorten|(?:fix|check|correct|improve) (?:the |my |this )?"
    r"(?:grammar|spelling|wording)|(?:do|would|can|should) (?:you|i|we|one) say|übersetze?|"
    r"formuliere)\b"
    r"[^:\n]{0,60}: *)(\S[^\n]*)",
    # The second form is no valid fence: people type "it says: ```" and paste below it.
    "loose fence": r"(?m)^[ \t]*(`{3,}|~{3,})[^\n]*$|(?<=[^\n`])(`{3,})[\w+-]*[ \t]*$",
    "open": r"(?m)^[ \t]*<([A-Za-z][\w.:-]*)(?:\s[^<>\n]*)?>",
    "close": r"</([A-Za-z][\w.:-]*)>",
    # Starts of lines of terminals, logs, diffs, tables and stack traces.
    "pasted": r".*[│┃┌└├╭╰═━█]|.*\bline \d+,? col(?:umn)? \d|"
    # Cells of a table, posts of a thread, comments of code, settings.
    r".*\S\t\S|\d{1,6}(?:;|,(?=[^\W\d]))|\d{1,2}/ |(?:--|//|/\*) |[\w.-]{2,40} ?= ?\S|"
    r"\s*(?:[>|⨯✗✖]|[$❯➜%»] |#! |at \S+\(|@@ |diff --git |\+\+\+ |--- \S|"
    r"\[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:|\[?\d\d:\d\d:\d\d|(?-i:ERROR|WARN|WARNING|INFO|DEBUG|"
    r"TRACE|FATAL)\b|(?-i:(?:[A-Z]\w*)?(?:Error|Exception): )|(?-i:(?:error|fatal|warning|remote|"
    r"hint|npm ERR!)[:\[ ])|File \".*\", line \d|Traceback \(|\w+@[\w-]+:\S*[$#] )|"
    r"(?: {4,}|\t)\S",
}


@cache
def _pattern(name: str) -> re.Pattern[str]:
    """Compile a pattern on first use: most messages need only the first of them."""
    return re.compile(_SOURCES[name], re.IGNORECASE)


def mask(text: str) -> str:
    """Return the text with pasted parts blanked to line ends and quoted parts to one long word.

    Lengths stay, so that a span in the mask is a span in the text.
    """
    masked = _blank(text, find_pasted(text)).replace("’", "'")
    if ":" in masked and any(map(masked.lower().__contains__, _REWORDING.split())):
        masked = _pattern("material").sub(lambda found: found[1] + "_" * len(found[2]), masked)
    return _pattern("inline").sub(lambda match: "_" * len(match[0]), masked)


def sentence_spans(masked: str) -> Iterator[Span]:
    """Yield the spans of sentences, without bullets and surrounding white space."""
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
    """Find tagged blocks `<name …>…</name>`: ours anywhere, others at the start of a line."""
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
    for tag in (MEMORY_TAG, SUMMARY_TAG, "system-reminder"):
        start = text.find(f"<{tag}")
        while start >= 0:
            found.add((start, tag))
            start = text.find(f"<{tag}", start + 1)
    return sorted(found)


def _fences(text: str) -> Iterator[Span]:
    """Find fenced blocks; an unclosed one runs to the end."""
    opened: re.Match[str] | None = None
    for match in _pattern("loose fence").finditer(text):
        if opened is None:
            opened = match
        elif match[1] and match[1].startswith(opened[1] or opened[2]):
            yield opened.start(), match.end()
            opened = None
    if opened is not None and opened[1]:
        yield opened.start(), len(text)


def _expansion(text: str) -> Iterator[Span]:
    """Find the expanded text of a slash command after the words of the user."""
    found = _pattern("expansion").search(text) if "Command: " in text else None
    if found:
        yield found.start(), len(text)


def _lines_outside(text: str, blocks: list[Span]) -> Iterator[Span]:
    position = 0
    for start, end in [*blocks, (len(text), len(text))]:
        while position < start:
            line_end = text.find("\n", position, start)
            line_end = start if line_end < 0 else line_end
            yield position, line_end
            position = line_end + 1
        position = max(position, end)


def _merge_spans(spans: list[Span]) -> list[Span]:
    joined: list[Span] = []
    for start, end in spans:
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined
