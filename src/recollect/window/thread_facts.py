"""Extract facts from messages that leave the window, and merge them over all trims.

A fact has its position in the session, so merging is a union that keeps the newest facts of each
kind; the result does not depend on the order and batches in which messages leave. `window.summary`
renders the facts, `window.trim` decides when messages leave.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ..actions.command_output import find_commits
from ..actions.tool_calls import (
    is_failed,
    read_approved_plan,
    read_effects,
    read_question,
    read_todos,
    unwrap_output,
)
from ..text.display import MEMORY_TAG, SUMMARY_TAG, shorten
from ..text.messages import PlacedMessage, plain_text
from ..types.records import Json, Message, ToolCall

LONGEST_REQUEST, LONGEST_EXCHANGE, LONGEST_LINE = 300, 1_000, 250
"""Characters kept of a request, of each side of an exchange, and of anything else."""


class Fact(NamedTuple):
    """One fact and its position; of facts of a kind with the same key the newest is kept."""

    at: int
    nth: int
    key: str
    text: str


class Facts(NamedTuple):
    """The facts of a summary. All fields but `span` and `tools` are facts, oldest first."""

    span: tuple[int, int] = (0, 0)
    tools: tuple[tuple[str, int], ...] = ()
    task: tuple[Fact, ...] = ()
    original: tuple[Fact, ...] = ()
    requests: tuple[Fact, ...] = ()
    exchanges: tuple[Fact, ...] = ()
    commits: tuple[Fact, ...] = ()
    listed: tuple[Fact, ...] = ()
    written: tuple[Fact, ...] = ()
    read: tuple[Fact, ...] = ()
    decisions: tuple[Fact, ...] = ()
    phase: tuple[Fact, ...] = ()
    constraints: tuple[Fact, ...] = ()
    blocked: tuple[Fact, ...] = ()
    resolved: tuple[Fact, ...] = ()
    todo_anew: tuple[Fact, ...] = ()
    todo_texts: tuple[Fact, ...] = ()
    todo_statuses: tuple[Fact, ...] = ()


CAPS: Mapping[str, int] = {
    "task": 1,
    "requests": 7,
    "exchanges": 5,
    "commits": 15,
    "listed": 15,
    "written": 30,
    "read": 40,
    "decisions": 3,
    "phase": 1,
    "constraints": 10,
    "blocked": 50,
    "resolved": 50,
    "todo_anew": 1,
    "todo_texts": 50,
    "todo_statuses": 50,
}
"""The number of newest facts kept of each kind; of `original` only the oldest is kept. Of 40 read
files 10 are shown: those that were also written are left out."""

STANDING = (
    *("original", "phase", "constraints", "blocked", "resolved"),
    *("todo_anew", "todo_texts", "todo_statuses"),
)
"""The kinds that describe the current state; a trim reads them from the whole window."""


def merge_facts(a: Facts, b: Facts) -> Facts:
    """Merge facts: associative, commutative, and lossless within the caps."""
    united: dict[str, Json] = {
        kind: _keep_newest((*getattr(a, kind), *getattr(b, kind)), cap)
        for kind, cap in CAPS.items()
    }
    calls = dict(a.tools)
    for name, count in b.tools:
        calls[name] = calls.get(name, 0) + count
    return Facts(
        span=_join_spans(a.span, b.span),
        tools=tuple(sorted(calls.items())),
        original=tuple(sorted((*a.original, *b.original))[:1]),
        **united,
    )


def standing_facts(facts: Facts) -> Facts:
    """Return only the kinds in `STANDING`: merging them twice changes nothing."""
    return Facts(**{kind: getattr(facts, kind) for kind in STANDING})


def _keep_newest(facts: Iterable[Fact], cap: int) -> tuple[Fact, ...]:
    last: dict[str, Fact] = {}
    for fact in facts:
        known = last.get(fact.key)
        if known is None or known < fact:
            last[fact.key] = fact
    return tuple(sorted(last.values())[-cap:])


def _join_spans(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    if not a[1] or not b[1]:
        return max(a, b)
    return min(a[0], b[0]), max(a[1], b[1])


# ---------------------------------------------------------------- JSON


def facts_to_json(facts: Facts) -> dict[str, Json]:
    """Convert facts to JSON, without empty kinds."""
    return {kind: value for kind, value in facts._asdict().items() if value not in ((), (0, 0))}


def facts_from_json(body: Mapping[str, Json]) -> Facts:
    """Parse facts from JSON."""
    known: dict[str, Json] = {
        kind: tuple(Fact(*fact) for fact in body.get(kind, ())) for kind in (*CAPS, "original")
    }
    first, last = body.get("span", (0, 0))
    tools = tuple((name, count) for name, count in body.get("tools", ()))
    return Facts(span=(first, last), tools=tools, **known)


# ---------------------------------------------------------------- extraction


def extract_facts(batch: Iterable[PlacedMessage], around: Iterable[PlacedMessage] = ()) -> Facts:
    """Extract the facts of the messages in `batch`, which leave the window. The messages `around`
    them stay; only answers to questions in `batch` are read from them."""
    leaving = {placed.seq: placed.message for placed in batch}
    messages = sorted({**{placed.seq: placed.message for placed in around}, **leaving}.items())
    results: dict[str, list[Message]] = {}
    for message in leaving.values():
        if message.role == "tool":
            results.setdefault(message.call_id, []).append(message)
    notes = _FactCollector()
    for seq, message in messages:
        if seq not in leaving:
            notes.read_staying(message)
            continue
        notes.set_position(seq)
        if message.role == "user":
            _read_user(notes, plain_text(message))
        elif message.role == "assistant":
            _read_assistant(notes, message, results)
    return notes.facts((min(leaving), max(leaving)) if leaving else (0, 0))


class _FactCollector:
    """Facts found so far, the current position, and the question that is still open."""

    def __init__(self) -> None:
        self._found: dict[str, list[Fact]] = {}
        self._calls: dict[str, int] = {}
        self.at = self._nth = 0
        self.asked = ""
        self._asked_at = 0

    def set_position(self, seq: int) -> None:
        self.at, self._nth = seq, 0

    def note(self, kind: str, text: str, key: str | None = None) -> None:
        self._nth += 1
        fact = Fact(self.at, self._nth, text if key is None else key, text)
        self._found.setdefault(kind, []).append(fact)

    def count(self, name: str) -> None:
        self._calls[name] = self._calls.get(name, 0) + 1

    def ask(self, question: str) -> None:
        self.asked, self._asked_at = question, self.at

    def answer(self, text: str) -> str:
        """Close the open question with its answer; return the question."""
        question, self.asked = self.asked, ""
        if question and text.strip():
            asked, reply = clip(question, LONGEST_EXCHANGE), clip(text, LONGEST_EXCHANGE)
            self._found.setdefault("exchanges", []).append(Fact(self._asked_at, 0, asked, reply))
        return question

    def read_staying(self, message: Message) -> None:
        """Read a message that stays: it may answer the question of one that leaves."""
        if message.role == "user":
            self.answer(plain_text(message))
        self.asked = ""

    def facts(self, span: tuple[int, int]) -> Facts:
        lists: dict[str, Json] = {
            kind: _keep_newest(self._found.get(kind, ()), cap) for kind, cap in CAPS.items()
        }
        original = tuple(sorted(self._found.get("original", ()))[:1])
        return Facts(span, tuple(sorted(self._calls.items())), original=original, **lists)


def _read_user(notes: _FactCollector, text: str) -> None:
    if not text.strip():
        return
    question = notes.answer(text)
    request = clip(text, LONGEST_REQUEST)
    notes.note("original", request)
    notes.note("requests", request, f"#{notes.at}")
    _note_marked_lines(notes, text, by_user=True)
    if approves(text, bool(question)):
        _note_decision(notes, f"approved: {clip(question or text, LONGEST_LINE)}")


def _read_assistant(
    notes: _FactCollector, message: Message, results: Mapping[str, Sequence[Message]]
) -> None:
    text = plain_text(message)
    notes.asked = ""
    _note_marked_lines(notes, text, by_user=False)
    if text.rstrip().endswith("?") and not message.calls:
        notes.ask(text)
    for call in message.calls:
        notes.count(call.name)
        answers = results.get(call.id, ())
        output = "\n".join(map(unwrap_output, answers))
        _note_question(notes, call, output)
        _note_todos(notes, call, output)
        signs = read_effects(call)
        if answers and not any(map(is_failed, answers)):
            for path in signs.writes:
                notes.note("written", path)
            for path in signs.reads:
                notes.note("read", path)
        if signs.git:
            _note_commits(notes, signs.git, output)


def _note_question(notes: _FactCollector, call: ToolCall, output: str) -> None:
    """Record a question that a tool asked the user, or a plan that the user approved."""
    if question := read_question(call):
        notes.ask(question)
        notes.answer(output)
        if approves(output, True):
            _note_decision(notes, f"approved: {clip(question, LONGEST_LINE)}")
    elif (plan := read_approved_plan(call)) and approves(output[:LONGEST_REQUEST], False):
        _note_decision(notes, f"approved plan: {clip(plan, LONGEST_LINE)}")


def _note_todos(notes: _FactCollector, call: ToolCall, output: str) -> None:
    changed = read_todos(call, output)
    if changed is None:
        return
    if changed.anew:
        notes.note("todo_anew", "", "")
    for entry in changed.entries:
        if entry.text:
            notes.note("todo_texts", clip(entry.text, LONGEST_LINE), entry.key)
        if entry.status:
            notes.note("todo_statuses", entry.status, entry.key)


def _note_commits(notes: _FactCollector, commands: Iterable[Sequence[str]], output: str) -> None:
    # Git lists the newest commit first; the newest must get the highest position.
    for commit in reversed(find_commits(commands, output)):
        digest = commit.hash if len(commit.hash) <= 12 else commit.hash[:7]
        kind = "commits" if commit.made else "listed"
        notes.note(kind, f"{digest} {clip(commit.subject, 100)}", commit.hash[:7])


def _note_decision(notes: _FactCollector, text: str) -> None:
    notes.note("decisions", text, _normalise(text))


# ---------------------------------------------------------------- wording


_MARKED_LINE = (
    r"(?im)^[ \t>*_#-]*(decision|decided|approved|blocker|blocked|resolved|unblocked|phase"
    r"|policy|policies|constraint)s?[*_]*:[*_]*[ \t]*(\S.*)$"
)
_APPROVAL = r"(?i)\b(?:approved?|lgtm|ship it|go ahead|sounds good|agreed)\b"
_YES = r"(?i)^\W*(?:yes|yep|yeah|ok|okay|sure|do it)\b"
_NO = (
    r"(?i)\b(?:no(?! (?:problems?|worries|objections?|issues?|concerns?)\b)|not|never|don['’]?t"
    r"|doesn['’]t|isn['’]t|without|unless)\b"
)


def approves(text: str, asked: bool) -> bool:
    """Check whether a short text is an approval; a bare yes is one only after a question."""
    if len(text) > LONGEST_REQUEST or re.search(_NO, text):
        return False
    return bool(re.search(_APPROVAL, text)) or (asked and bool(re.match(_YES, text)))


def _note_marked_lines(notes: _FactCollector, text: str, by_user: bool) -> None:
    """Record marked lines: `Decision: …`, `Blocker: …`, `Phase: …`."""
    if ":" not in text:
        return
    for found in re.finditer(_MARKED_LINE, text):
        mark, words = found[1].lower(), clip(found[2].strip("*_ "), LONGEST_LINE)
        if mark in ("decision", "decided", "approved"):
            _note_decision(notes, words if mark != "approved" else f"approved: {words}")
        elif mark in ("blocker", "blocked"):
            key = _normalise(words)
            nothing = key in ("none", "no", "nothing", "n a")
            notes.note("resolved" if nothing else "blocked", words, "*" if nothing else key)
        elif mark in ("resolved", "unblocked"):
            notes.note("resolved", words, _normalise(words))
        elif mark == "phase":
            notes.note("phase", words, "")
        elif by_user:
            notes.note("constraints", words, _normalise(words))


def _normalise(text: str) -> str:
    """Normalise a text: case, punctuation and spaces do not matter."""
    return " ".join(re.sub(r"\W+", " ", text.casefold()).split())


def clip(text: str, limit: int) -> str:
    """Return the text on one line of at most `limit` characters, with our own tags escaped."""
    line = " ".join(text.split())
    for tag in (SUMMARY_TAG, MEMORY_TAG):
        line = line.replace(f"<{tag}", f"‹{tag}").replace(f"</{tag}", f"‹/{tag}")
    return shorten(line, limit)
