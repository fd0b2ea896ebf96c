"""Find texts that newer ones replace.

Texts that share words are at most about the same thing. One replaces another only if a sentence of
it states the other with a different value, or its opposite, by the same rule with which one memory
supersedes another (`memory.similarity`). Questions, conditions and requests state nothing. Inside a
session, an edit replaces the lines that it takes out of a file, and the result of a command the
earlier result of the same command.

Precision comes before recall: a reader skips what is marked as outdated.

Logs that say the same are shown once (`merge_repeats`): nobody learns anything from the second log
of the same check.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import cache
from itertools import permutations

from ..capture import sentences
from ..fast_typing import NamedTuple
from ..memory import similarity
from ..text.terms import split_terms, stem
from ..types.records import Hit

LONGEST, MOST = 4_000, 8
"""Characters of a text, and sentences about the question, that are compared: a page of text states
nothing."""

FEWEST_WORDS, MOST_WORDS = 3, 25
SHORTEST_LINE = 20
"""Characters of a line of code or text that tell it from others."""

_SAME_PLACE = 0.5
"""The share of lines that an edit and an earlier text have in common if both are of one place."""

_ALIKE = 0.3
"""The least similarity of two sentences that differ only in a value."""


_DIFF_HEADS = ("diff ", "--- ", "+++ ")
_LONGEST_CALL = 500
"""Characters of a call that looks at a file; a longer one mostly asks another agent in prose."""

NO_EDIT = ("", "")


class DatedText(NamedTuple):
    """A text with its time. `settled` is true for a memory: its successor is known already."""

    text: str
    at: int
    settled: bool


class DoneText(NamedTuple):
    """What an agent did or saw, as it is shown."""

    session: str
    seq: int
    shown: str
    edit: tuple[str, str] = NO_EDIT
    """What a call takes out of a file, and what it puts in."""
    file: str = ""
    """The file that a call changes."""
    asked: str = ""
    """The arguments of the call whose result it is."""
    command: str = ""
    """The command whose result it is, if results of it are compared."""


class _Statement(NamedTuple):
    text: str
    words: frozenset[str]


def find_outdated(texts: Sequence[DatedText], searched: Collection[str]) -> dict[int, int]:
    """Return the positions of outdated texts, each with that of the newest text that replaces it.

    Only statements that contain one of the searched stems count.
    """
    stated = [_statements_about(one.text, searched) for one in texts]
    found: dict[int, int] = {}
    for old, new in permutations([place for place, said in enumerate(stated) if said], 2):
        one, other = texts[old], texts[new]
        if one.at >= other.at or (one.settled and other.settled):
            continue
        if other.at > texts[found.get(old, old)].at and _replaces(stated[new], stated[old]):
            found[old] = new
    return found


def find_replaced(done: Sequence[DoneText], searched: Collection[str]) -> dict[int, int]:
    """Return the positions of outdated results and edits, each with that of the newest one in its
    session that replaces it."""
    found: dict[int, int] = {}
    taken_out = [_taken_out(*one.edit) for one in done]
    for old, new in permutations(range(len(done)), 2):
        one, other = done[old], done[new]
        newest = done[found[old]].seq if old in found else one.seq
        if one.session == other.session and newest < other.seq:
            again = one.command == other.command != "" and one.shown != other.shown
            if again or (
                taken_out[new]
                and _shows_file(one, other.file)
                and _takes_out(taken_out[new], one.edit[1] or one.shown, searched)
                and (one.edit == NO_EDIT or _overlap(one.edit[1], other.edit[0]))
            ):
                found[old] = new
    return found


def _taken_out(before: str, after: str) -> list[str]:
    """Return the lines that an edit takes out of a file."""
    kept = {line.strip() for line in after.splitlines()} if before else set()
    return [line for line in _split_lines(before[:LONGEST]) if line not in kept]


def _split_lines(text: str) -> list[str]:
    """Return the lines that can be told from others, without blanks around them."""
    return [line for line in map(str.strip, text.splitlines()) if len(line) >= SHORTEST_LINE]


def _takes_out(lines: Sequence[str], held: str, searched: Collection[str]) -> bool:
    """Check whether the lines are half of what a text holds, or it holds half of them, and one is
    about the question: a single line may stand in several places of a file."""
    common = [line for line in lines if line in held]
    return (
        bool(common)
        and len(common) >= _SAME_PLACE * min(len(lines), len(_split_lines(held)))
        and any(stem(word) in searched for line in common for word in split_terms(line))
    )


def _overlap(put: str, taken: str) -> bool:
    """Check whether what an edit put into a file and what a later one takes out are of one place:
    one holds the other, or one ends as the other begins. Tests and tables repeat the lines between
    these ends in many places of a file."""
    first, second = ([line for line in text.splitlines() if line.strip()] for text in (put, taken))
    if taken in put or {*first} <= {*second} or {*second} <= {*first}:
        return bool(first and second)
    return any(
        one[-size:] == other[:size] and any(len(line) >= SHORTEST_LINE for line in other[:size])
        for one, other in ((first, second), (second, first))
        for size in range(1, min(len(one), len(other)))
    )


def _shows_file(one: DoneText, path: str) -> bool:
    """Check whether a text is of a file: the same line may stand in another one. Of a result its
    call names the file, or a line of it begins with the file, as of a search or a diff; a report
    that quotes the file stays true."""
    name = "/".join(path.split("/")[-2:])
    if one.file:
        return one.file == path or one.file.endswith(f"/{name}")
    is_prompt = len(one.asked) > _LONGEST_CALL
    return (name in one.asked and not is_prompt) or any(
        name in line.split(None, 1)[0] or (name in line and line.startswith(_DIFF_HEADS))
        for line in one.shown.splitlines()
        if line.strip()
    )


def _statements_about(text: str, searched: Collection[str]) -> list[_Statement]:
    found = [
        _Statement(one, similarity.split_words("", one))
        for one in split_statements(strip_pasted(text))
    ]
    return [one for one in found if any(stem(word) in searched for word in one.words)][:MOST]


def strip_pasted(text: str) -> str:
    """Return the text without pasted parts: these are not statements of the user."""
    text = text[:LONGEST]
    kept, at = [], 0
    for start, end in sentences.find_pasted(text):
        kept.append(text[at:start])
        at = end
    return "\n".join([*kept, text[at:]])


def split_statements(text: str) -> list[str]:
    """Return the sentences of a text that are statements by themselves."""
    found = []
    for piece in _sentence_end_pattern().split(text):
        sentence = _bullet_pattern().sub("", piece.strip())
        if FEWEST_WORDS <= len(
            sentence.split()
        ) <= MOST_WORDS and not _no_statement_pattern().search(sentence):
            found.append(sentence)
    return found


def _replaces(new: Sequence[_Statement], old: Sequence[_Statement]) -> bool:
    return any(
        similarity.jaccard(one.words, other.words) >= _ALIKE
        and similarity.find_relation(("", one.text), ("", other.text)) in ("revises", "contradicts")
        for one in old
        for other in new
    )


@cache
def _sentence_end_pattern() -> re.Pattern[str]:
    return re.compile(r"(?<=[.!?…])(?=\s|$)|(?<=[。！？])|\n+")


@cache
def _bullet_pattern() -> re.Pattern[str]:
    return re.compile(r"^(?:[-*•+>]|\d{1,3}[.)]|#{1,6})\s+")


@cache
def _no_statement_pattern() -> re.Pattern[str]:
    return re.compile(
        r"[?？]\s*$|^(?:(?:and|but|so|ok|okay|also),? )*(?:what|which|who|whose|when|where|why|how|"
        r"is|are|was|were|do|does|did|can|could|should|would|will|has|have|if|maybe|perhaps|let's|"
        r"let me|please)\b",
        re.IGNORECASE,
    )


# ---------------------------------------------------------------- what was printed again

_SAYS_THE_SAME = 0.7
"""The share of common words from which on two shown texts say the same."""

_AS_GOOD = 0.6
"""The share of the best one's score from which on a newer one stands for the others."""

_FEWEST_LINES = 3
"""Lines below which texts say the same only if they are equal: one line may tell a value."""

_FAILED = "fail failed failing failure failures error errors panic exit denied"
"""Words that tell a log from that of another outcome."""


class RankedText(NamedTuple):
    """A hit with its score before calibration."""

    hit: Hit
    score: float
    printed: bool = False
    """Whether it is output, a paste or a call that writes nothing."""
    command: str = ""
    """The command asked about whose call or result it is: that of another one is no repeat."""


class _Group(NamedTuple):
    words: frozenset[str]
    members: list[RankedText]


def merge_repeats(ranked: Sequence[RankedText], by_time: bool) -> list[Hit]:
    """Return one hit for all printed texts that say the same, in the place of the best, with the
    addresses of the others. Of the rest only equal texts of agents are merged.

    by_time: let the newest of those that match almost as well stand for the others, which shows
        the current state; otherwise the best does
    """
    groups: list[_Group] = []
    by_form: dict[tuple[str, bool, str], list[_Group]] = {}
    for one in ranked:
        words = _split_words(one.hit.text) if _is_log(one) else frozenset()
        near = by_form.setdefault((one.hit.role, one.printed, one.command), [])
        # Memories have no role, and none repeats another.
        group = next((item for item in near if _is_repeat(one, words, item)), None)
        if group is None:
            group = _Group(words, [])
            groups.append(group)
            if one.hit.role:
                near.append(group)
        group.members.append(one)
    return [_merge(group.members, by_time) for group in groups]


def _is_log(one: RankedText) -> bool:
    return one.printed and one.hit.text.strip().count("\n") >= _FEWEST_LINES - 1


def _split_words(text: str) -> frozenset[str]:
    """Return the words of a text without numbers: logs of one check differ in counts and times."""
    return frozenset(re.findall(r"[^\W\d_]{2,}", text.casefold()))


def _is_repeat(one: RankedText, words: frozenset[str], group: _Group) -> bool:
    """Check whether a text says the same as those of a group of its form."""
    hit, other = one.hit, group.members[0].hit
    if not words or not group.words:
        near = hit.role == "tool" or (hit.role == "assistant" and hit.session == other.session)
        return near and hit.text.split() == other.text.split()
    common, either = words & group.words, words | group.words
    return len(common) >= _SAYS_THE_SAME * len(either) and (either - common).isdisjoint(
        _FAILED.split()
    )


def _merge(members: Sequence[RankedText], by_time: bool) -> Hit:
    chosen = first = members[0]
    if len(members) == 1:
        return first.hit
    if by_time:
        good = [one for one in members if one.score >= _AS_GOOD * first.score]
        chosen = max(good, key=lambda one: (one.hit.at, one.score))
    others = sorted([one.hit for one in members if one is not chosen], key=lambda hit: -hit.at)
    alike = tuple([hit.address for hit in others])
    return chosen.hit._replace(score=first.hit.score, alike=alike)
