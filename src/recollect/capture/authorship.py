"""Decide whether a captured sentence may be another person's text that the user pasted.

A sentence is the user's unless something speaks against it: its own content (a URL, a command that
runs downloaded code, a credential, a permission), or the message around it (more text than a person
types, a letter, several speakers, the layout of a document, a lead-in, statements that are not
addressed to an agent). `doubts` names the reason; a doubted sentence is only proposed, until a
person confirms it.

A paste without any of these signs cannot be told from typed text. The module knows nothing about
rules, sessions or the store, and takes linear time. The signs are in `authorship_signs`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from ..fast_typing import NamedTuple
from .authorship_signs import sign

Span = tuple[int, int]

MOST_TYPED = 2_000
"""Characters. Of 88 real messages with a rule the longest that a person wrote has 1,660."""

LEAST_TYPED = 0.4
"""The share of a long message that is typed; the rest of it is data."""

MOST_STATED = 2
"""Statements not addressed to the agent that a person types in a message of several lines."""

FEWEST_WORDS = 4
"""Words of a full sentence; "OK." and "Looks good." have fewer."""

LONG_SENTENCE = 100
"""Characters. People seldom type so long a sentence with a capital and a full stop."""

LONGEST_LINE = 400
"""Characters. Of a longer line only the two ends are searched for a lead-in."""

LEAST_WRAPPED, LONGEST_STAMPED = 40, 60
"""Characters of a line that may run on in the next one, and of one that is only a date."""

LETTER, FIELDS = "it reads as a letter", "the message has several speakers or fields"
DOCUMENT, LED_IN = "it reads as a document", "it follows a lead-in"
FOREIGN = "it stands in another person's text"
LONG = "the message is longer than people type"


class TypedLine(NamedTuple):
    """A line with text: its span, its typed words ("" if it is marked as pasted), whether it opens
    a paragraph, and its indentation."""

    start: int
    end: int
    words: str
    opens: bool
    indent: int


def is_document(text: str, masked: str) -> bool:
    """Check whether a text is a document, an answer of an assistant or a wall of data: it has
    headings, several fenced blocks, phrases of an assistant or mostly data."""
    typed = len(masked) - masked.count("\n")
    return (
        (len(text) > MOST_TYPED and typed < LEAST_TYPED * len(text))
        or len(sign("fence").findall(text)) > 2
        or len(sign("heading").findall(masked)) > 1
        or sign("phrase").search(masked) is not None
    )


def doubts(text: str, masked: str) -> Callable[[Span], str]:
    """Return a function that returns the reason to doubt a sentence of this message, or "".

    `masked` is the text with marked pastes blanked and quotes masked, of the same length.
    """
    lines = list(_lines(text, masked))
    about_message = _doubt_message(lines)

    def of_sentence(span: Span) -> str:
        reason = (
            _doubt_content(text[slice(*span)])
            or about_message
            or _doubt_lead_in(lines, span)
            or _doubt_voice(lines, span)
        )
        return "" if reason in (DOCUMENT, FOREIGN) and _is_casual(lines, span) else reason

    return of_sentence


def _lines(text: str, masked: str) -> Iterator[TypedLine]:
    start, opens = 0, True
    for raw in text.split("\n"):
        if raw.strip():
            indent = len(raw) - len(raw.lstrip())
            first = start + indent
            end = start + len(raw.rstrip())
            words = masked[first:end].replace("\n", " ")
            yield TypedLine(first, end, words if words.strip() else "", opens, indent)
        opens = not raw.strip()
        start += len(raw) + 1


def _doubt_content(sentence: str) -> str:
    """Return the reason to doubt a sentence by its content alone."""
    if sign("url").search(sentence) or (
        sign("host").search(sentence) and sign("traffic").search(sentence)
    ):
        return "it has a URL"
    if sign("run").search(sentence):
        return "it runs downloaded code"
    for name, reason in (
        ("credential", "it names a credential"),
        ("permission", "it gives a permission"),
    ):
        if any(not _is_banned(sentence, found) for found in sign(name).finditer(sentence)):
            return reason
    return "it gives a permission" if sign("unasked").search(sentence) else ""


def _is_banned(sentence: str, found: re.Match[str]) -> bool:
    """Check whether the sentence forbids what was found in it: "never commit secrets"."""
    orders = list(sign("order").finditer(sentence, 0, found.start()))
    return bool(orders and orders[-1]["ban"]) or bool(sign("banned").match(sentence, found.end()))


def _doubt_message(lines: Sequence[TypedLine]) -> str:
    """Return the reason to doubt every sentence of the message."""
    typed = [line.words for line in lines if line.words]
    if sum(map(len, typed)) > MOST_TYPED:
        return LONG
    if any(map(sign("addressee").match, typed)):
        return LETTER
    if any(map(sign("of itself").search, typed)):
        return DOCUMENT
    if len(typed) < 2:
        return ""
    if any(map(sign("letter").match, typed)) or sign("signature").match(typed[-1]):
        return LETTER
    labels = [found[1] for words in typed if (found := sign("label").match(words))]
    answered = any(
        asked.endswith("?") and sign("answer").match(below) for asked, below in pairwise(typed)
    )
    tabled = sum(words.count("|") > 1 for words in typed) > 1
    if answered or tabled or sum(not sign("own").search(label) for label in labels) > 1:
        return FIELDS
    if any(map(_is_layout, typed)) or _has_fragments(typed) or _is_wrapped(lines):
        return DOCUMENT
    return ""


def _is_layout(words: str) -> bool:
    """Check whether a line is a heading, a section number, a rule, a date, or begins with a sign
    that people do not type."""
    return bool(
        sign("layout").match(words)
        or sign("trail").search(words)
        or (len(words) <= LONGEST_STAMPED and sign("stamp").search(words))
        or (sign("title").fullmatch(words) and len(sign("capital").findall(words)) > 1)
    )


def _has_fragments(typed: Sequence[str]) -> bool:
    """Check for lines that are no sentences: headings, names, fields, menus, lines of a log.

    People type such a first line, and one line of a word or two in lower case.
    """
    short = 0
    before: list[str] = []
    for number, words in enumerate(typed):
        start = [] if sign("person").search(words) else words.split(maxsplit=2)[:2]
        if sign("item").match(words) or is_addressed(words) or sign("polite").match(words):
            start = []
        elif words.endswith((":", "：")):
            below = typed[number + 1] if number + 1 < len(typed) else ""
            own = not number or sign("item").match(below) or sign("own").search(words)
            short += 0 if own else 2
        elif words[-1] in ".!?。！？,;":
            pass
        elif len(words) <= 24 and len(words.split()) <= 2 and words.isascii():
            short += 1 if words[0].islower() else 2
        elif number and words[0].isupper() and not sign("clause").search(words):
            short += 2
        if short > 1 or (len(start) == 2 and start == before):
            return True
        before = start
    return False


def _is_wrapped(lines: Sequence[TypedLine]) -> bool:
    """Check whether sentences run over line ends, as in a mail or a file."""
    pairs = 0
    for line, below in pairwise(lines):
        follows = bool(line.words) and not below.opens and below.words[:1].islower()
        if follows and below.indent > 1 and not sign("item").match(below.words):
            return True
        runs_on = follows and len(line.words) >= LEAST_WRAPPED and line.words[-1] not in ".!?:;"
        pairs = pairs + 1 if runs_on else 0
        if pairs > 1 or (runs_on and sign("open end").search(line.words)):
            return True
    return False


def _is_casual(lines: Sequence[TypedLine], span: Span) -> bool:
    """Check whether a sentence is in the last paragraph and all its lines are in lower case.

    People type like this below a paste; documents do not end like this.
    """
    first = len(lines) - 1
    while first and not lines[first].opens:
        first -= 1
    last = lines[first:]
    return span[0] >= last[0].start and all(
        line.words[:1].islower() and not any(map(_is_full, _sentences(line, span)))
        for line in last
        if line.words
    )


def _doubt_lead_in(lines: Sequence[TypedLine], span: Span) -> str:
    """Return the reason if other lines of the message introduce the sentence as text to work on."""
    at = next(number for number, line in enumerate(lines) if span[1] <= line.end)
    before, colon, _ = lines[at].words.partition(": ")
    if colon and _presents(before):
        return LED_IN
    for number, line in enumerate(lines):
        if not line.words or number == at:
            continue
        beside = lines[number + 1] if number < at else lines[number - 1]
        if not beside.words:
            continue  # a lead-in of a block that is marked as pasted
        if _presents(line.words) or (number < at and _announces(line, beside)):
            return LED_IN
    return ""


def _presents(words: str) -> bool:
    """Check whether a line asks for work on a text, or gives the source of a text."""
    if len(words) > LONGEST_LINE:
        words = f"{words[: LONGEST_LINE // 2]}\n{words[-LONGEST_LINE // 2 :]}"
    names = ("strong", "weak", "asking", "source", "present", "saying")
    if any(sign(name).search(words) for name in names):
        return True
    named = words.endswith((":", "：")) and sign("noun").search(words)
    return bool(named) and not is_addressed(words)


def _announces(line: TypedLine, below: TypedLine) -> bool:
    """Check whether a line that ends in a colon announces prose, and not the user's own list."""
    if not line.words.endswith((":", "：")):
        return False
    if sign("item").match(below.words) or sign("own").search(line.words):
        return False
    return below.opens or len(sign("stop").findall(below.words)) > 1


def _doubt_voice(lines: Sequence[TypedLine], span: Span) -> str:
    """Return the reason if the sentence is among statements that are not addressed to the agent."""
    typed = [line for line in lines if line.words]
    at = next(number for number, line in enumerate(typed) if span[1] <= line.end)
    beside = list(_sentences(typed[at], span))
    asked = sum(map(is_addressed, beside))
    if len(typed) == 1:
        stated = sum(map(_states, beside))
        return FOREIGN if stated > max(1, 2 * asked) else ""
    if sum(map(_weight, beside)) > asked:
        return FOREIGN
    said = [piece for line in typed for piece in _sentences(line, span)]
    most = MOST_STATED if at == len(typed) - 1 else MOST_STATED - 1
    if sum(map(_weight, said)) > max(most, sum(map(is_addressed, said))):
        return FOREIGN
    if _is_listed(typed, at):
        return FOREIGN
    ends = [number for number in (0, len(typed) - 1) if number != at]
    pointers = [number for number in ends if sign("points").fullmatch(typed[number].words)]
    if not pointers:
        return ""
    is_among = not all(map(sign("order first").match, _beside(typed, at, span, pointers)))
    return FOREIGN if is_among or any(map(_states, said)) else ""


def _beside(
    typed: Sequence[TypedLine], at: int, span: Span, without: Sequence[int]
) -> Iterator[str]:
    """Return the other sentences of a sentence's paragraph."""
    first, last = at, at + 1
    while first and not typed[first].opens:
        first -= 1
    while last < len(typed) and not typed[last].opens:
        last += 1
    for number in range(first, last):
        if number not in without:
            yield from _sentences(typed[number], span)


def _is_listed(typed: Sequence[TypedLine], at: int) -> bool:
    """Check whether a line is an item of a list with few requests and without a lead-in of the
    user."""
    items = [bool(sign("item").match(line.words)) for line in typed]
    first, last = at, at
    while first and items[first - 1]:
        first -= 1
    while last < len(typed) and items[last]:
        last += 1
    others = [next(_sentences(typed[n], (0, 0)), "") for n in range(first, last) if n != at]
    lead = typed[first - 1].words if first else ""
    own = lead.endswith((":", "：")) and (is_addressed(lead) or sign("own").search(lead))
    if not others or not items[at] or own:
        return False
    return 2 * sum(map(is_addressed, others)) < len(others)


def _sentences(line: TypedLine, without: Span) -> Iterator[str]:
    """Return the sentences of a line except the given one."""
    words = line.words
    if line.start <= without[0] < line.end:
        first, last = without[0] - line.start, without[1] - line.start
        words = f"{words[:first]}\n{words[last:]}"
    for name in ("item", "label"):
        if lead := sign(name).match(words):
            words = words[lead.end() - 1 :]
    for found in sign("sentence").finditer(words):
        yield found[0]


def is_addressed(words: str) -> bool:
    """Check whether a sentence is addressed to an agent: a request, a question, a wish."""
    return bool(sign("asks").search(words))


def _states(words: str) -> bool:
    """Check whether a full sentence is a statement, neither about its writer nor to the agent."""
    own = sign("polite").match(words) or sign("person").search(words)
    return _is_full(words) and not own and not is_addressed(words)


def _weight(words: str) -> int:
    """Return 1 for a statement, 0 for others, and enough to decide for a long full sentence: those
    are written for a document."""
    if len(words) >= LONG_SENTENCE and _is_full(words) and not sign("order first").match(words):
        return MOST_STATED + 1
    return int(_states(words))


def _is_full(words: str) -> bool:
    return words[0].isupper() and words[-1] in ".!" and words.count(" ") >= FEWEST_WORDS - 1
