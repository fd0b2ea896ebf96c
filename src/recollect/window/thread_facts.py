"""What is worth knowing of messages that leave the window: extracted once, merged for ever.

Decides which facts a summary is made of, and which of them stay when there are too many. A fact
knows its place in the session, so merging is a union that keeps the newest: it does not matter
in which order or in which portions messages leave. It does not know how a summary looks
(`window.summary` does), nor when a trim happens (`window.trim` does).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
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
from ..text.messages import MEMORY_TAG, SUMMARY_TAG, PlacedMessage, plain_text
from ..types.records import Json, Message, ToolCall

LONGEST_REQUEST, LONGEST_EXCHANGE, LONGEST_LINE = 300, 1_000, 250
"""Up to how many characters of a request, of a side of an exchange, of anything else are kept."""


class Fact(NamedTuple):
    """One fact at its place: facts of one kind with the same key are the same, newest wins."""

    at: int
    nth: int
    key: str
    text: str


class Facts(NamedTuple):
    """Everything a summary knows. All but `span` and `tools` are facts, oldest first."""

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
    "read": 10,
    "decisions": 3,
    "phase": 1,
    "constraints": 10,
    "blocked": 50,
    "resolved": 50,
    "todo_anew": 1,
    "todo_texts": 50,
    "todo_statuses": 50,
}
"""How many facts of a kind stay: the newest. `original` alone keeps the oldest, and only that."""

STANDING = (
    "original",
    "phase",
    "constraints",
    "blocked",
    "resolved",
    "todo_anew",
    "todo_texts",
    "todo_statuses",
)
"""The kinds that say how things stand, and so are read from the whole window at a trim."""


def merge_facts(a: Facts, b: Facts) -> Facts:
    """What both know: associative and commutative, and nothing within its cap disappears."""
    united: dict[str, Json] = {
        kind: _newest((*getattr(a, kind), *getattr(b, kind)), cap) for kind, cap in CAPS.items()
    }
    calls = dict(a.tools)
    for name, count in b.tools:
        calls[name] = calls.get(name, 0) + count
    return Facts(
        span=_spanned(a.span, b.span),
        tools=tuple(sorted(calls.items())),
        original=tuple(sorted((*a.original, *b.original))[:1]),
        **united,
    )


def standing_facts(facts: Facts) -> Facts:
    """Only how things stand: merging it twice is merging it once."""
    return Facts(**{kind: getattr(facts, kind) for kind in STANDING})


def _newest(facts: Iterable[Fact], cap: int) -> tuple[Fact, ...]:
    last: dict[str, Fact] = {}
    for fact in facts:
        known = last.get(fact.key)
        if known is None or known < fact:
            last[fact.key] = fact
    return tuple(sorted(last.values())[-cap:])


def _spanned(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    if not a[1] or not b[1]:
        return max(a, b)
    return min(a[0], b[0]), max(a[1], b[1])


# ---------------------------------------------------------------- kept as JSON


def facts_to_json(facts: Facts) -> dict[str, Json]:
    """The facts as JSON, without what is empty."""
    return {kind: value for kind, value in facts._asdict().items() if value not in ((), (0, 0))}


def facts_from_json(body: Mapping[str, Json]) -> Facts:
    """The facts that `facts_body` wrote down."""
    known: dict[str, Json] = {
        kind: tuple(Fact(*fact) for fact in body.get(kind, ())) for kind in (*CAPS, "original")
    }
    first, last = body.get("span", (0, 0))
    tools = tuple((name, count) for name, count in body.get("tools", ()))
    return Facts(span=(first, last), tools=tools, **known)


# ---------------------------------------------------------------- extraction


def extract_facts(batch: Iterable[PlacedMessage], around: Iterable[PlacedMessage] = ()) -> Facts:
    """The facts in these messages. What stays `around` them is only asked for answers."""
    leaving = {placed.seq: placed.message for placed in batch}
    messages = sorted({**{placed.seq: placed.message for placed in around}, **leaving}.items())
    results: dict[str, list[Message]] = {}
    for message in leaving.values():
        if message.role == "tool":
            results.setdefault(message.call_id, []).append(message)
    notes = _Notes()
    for seq, message in messages:
        if seq not in leaving:
            notes.pass_by(message)
            continue
        notes.turn_to(seq)
        if message.role == "user":
            _user_said(notes, plain_text(message))
        elif message.role == "assistant":
            _assistant_did(notes, message, results)
    return notes.facts((min(leaving), max(leaving)) if leaving else (0, 0))


class _Notes:
    """What has been found so far, at which place, and the question that is still open."""

    def __init__(self) -> None:
        self._found: dict[str, list[Fact]] = {}
        self._calls: dict[str, int] = {}
        self.at = self._nth = 0
        self.asked = ""
        self._asked_at = 0

    def turn_to(self, seq: int) -> None:
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
        """Close the open question with its answer; the question is given back."""
        question, self.asked = self.asked, ""
        if question and text.strip():
            fact = Fact(
                self._asked_at, 0, clip(question, LONGEST_EXCHANGE), clip(text, LONGEST_EXCHANGE)
            )
            self._found.setdefault("exchanges", []).append(fact)
        return question

    def pass_by(self, message: Message) -> None:
        """A message that stays: it may answer the question of one that leaves."""
        if message.role == "user":
            self.answer(plain_text(message))
        self.asked = ""

    def facts(self, span: tuple[int, int]) -> Facts:
        lists: dict[str, Json] = {
            kind: _newest(self._found.get(kind, ()), cap) for kind, cap in CAPS.items()
        }
        original = tuple(sorted(self._found.get("original", ()))[:1])
        return Facts(span, tuple(sorted(self._calls.items())), original=original, **lists)


def _user_said(notes: _Notes, text: str) -> None:
    if not text.strip():
        return
    question = notes.answer(text)
    request = clip(text, LONGEST_REQUEST)
    notes.note("original", request)
    notes.note("requests", request, f"#{notes.at}")
    _marks(notes, text, by_user=True)
    if approves(text, bool(question)):
        _decide(notes, f"approved: {clip(question or text, LONGEST_LINE)}")


def _assistant_did(
    notes: _Notes, message: Message, results: Mapping[str, Sequence[Message]]
) -> None:
    text = plain_text(message)
    notes.asked = ""
    _marks(notes, text, by_user=False)
    if text.rstrip().endswith("?") and not message.calls:
        notes.ask(text)
    for call in message.calls:
        notes.count(call.name)
        answers = results.get(call.id, ())
        output = "\n".join(map(unwrap_output, answers))
        _talked(notes, call, output)
        _todo(notes, call, output)
        signs = read_effects(call)
        if answers and not any(map(is_failed, answers)):
            for path in signs.writes:
                notes.note("written", path)
            for path in signs.reads:
                notes.note("read", path)
        if signs.git:
            _commits(notes, signs.git, output)


def _talked(notes: _Notes, call: ToolCall, output: str) -> None:
    """A question put to the user through a tool, and a plan that the user approved."""
    if question := read_question(call):
        notes.ask(question)
        notes.answer(output)
        if approves(output, True):
            _decide(notes, f"approved: {clip(question, LONGEST_LINE)}")
    elif (plan := read_approved_plan(call)) and approves(output[:LONGEST_REQUEST], False):
        _decide(notes, f"approved plan: {clip(plan, LONGEST_LINE)}")


def _todo(notes: _Notes, call: ToolCall, output: str) -> None:
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


def _commits(notes: _Notes, commands: Iterable[Sequence[str]], output: str) -> None:
    # Git names the newest first; the newest must get the highest place.
    for commit in reversed(find_commits(commands, output)):
        digest = commit.hash if len(commit.hash) <= 12 else commit.hash[:7]
        kind = "commits" if commit.made else "listed"
        notes.note(kind, f"{digest} {clip(commit.subject, 100)}", commit.hash[:7])


def _decide(notes: _Notes, text: str) -> None:
    notes.note("decisions", text, _plain(text))


# ---------------------------------------------------------------- what words say


@cache
def _marked() -> re.Pattern[str]:
    return re.compile(
        r"^[ \t>*_#-]*(decision|decided|approved|blocker|blocked|resolved|unblocked|phase"
        r"|policy|policies|constraint)s?[*_]*:[*_]*[ \t]*(\S.*)$",
        re.IGNORECASE | re.MULTILINE,
    )


@cache
def _approval() -> re.Pattern[str]:
    return re.compile(r"\b(?:approved?|lgtm|ship it|go ahead|sounds good|agreed)\b", re.IGNORECASE)


@cache
def _yes() -> re.Pattern[str]:
    return re.compile(r"^\W*(?:yes|yep|yeah|ok|okay|sure|do it)\b", re.IGNORECASE)


@cache
def _no() -> re.Pattern[str]:
    return re.compile(
        r"\b(?:no|not|never|don't|dont|doesn't|isn't|without|unless)\b", re.IGNORECASE
    )


def approves(text: str, asked: bool) -> bool:
    """Whether short words approve; a bare yes does so only where something was asked."""
    if len(text) > LONGEST_REQUEST or _no().search(text):
        return False
    return bool(_approval().search(text)) or (asked and bool(_yes().match(text)))


def _marks(notes: _Notes, text: str, by_user: bool) -> None:
    """Lines that say themselves what they are: `Decision: …`, `Blocker: …`, `Phase: …`."""
    if ":" not in text:
        return
    for found in _marked().finditer(text):
        mark, words = found[1].lower(), clip(found[2].strip("*_ "), LONGEST_LINE)
        if mark in ("decision", "decided", "approved"):
            _decide(notes, words if mark != "approved" else f"approved: {words}")
        elif mark in ("blocker", "blocked"):
            nothing = _plain(words) in ("none", "no", "nothing", "n a")
            notes.note(
                "resolved" if nothing else "blocked", words, "*" if nothing else _plain(words)
            )
        elif mark in ("resolved", "unblocked"):
            notes.note("resolved", words, _plain(words))
        elif mark == "phase":
            notes.note("phase", words, "")
        elif by_user:
            notes.note("constraints", words, _plain(words))


def _plain(text: str) -> str:
    """Text by which two wordings of the same are recognised."""
    return " ".join(re.sub(r"\W+", " ", text.casefold()).split())


def clip(text: str, limit: int) -> str:
    """Text on one line, up to `limit` characters, in which our own tags cannot close anything."""
    line = " ".join(text.split())
    for tag in (SUMMARY_TAG, MEMORY_TAG):
        line = line.replace(f"<{tag}", f"‹{tag}").replace(f"</{tag}", f"‹/{tag}")
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


# ---------------------------------------------------------------- how things stand


def open_blockers(facts: Facts) -> list[str]:
    """Blockers that nothing said later resolves."""
    resolved = {fact.key: fact for fact in facts.resolved}
    everything = resolved.get("*")
    return [
        fact.text
        for fact in facts.blocked
        if not _later(resolved.get(fact.key), fact) and not _later(everything, fact)
    ]


def todos(facts: Facts) -> Iterator[tuple[str, str]]:
    """The todo list as it stands: status and text, in the order it was written."""
    start = facts.todo_anew[0][:2] if facts.todo_anew else (0, 0)
    statuses = {fact.key: fact.text for fact in facts.todo_statuses if fact[:2] >= start}
    for fact in facts.todo_texts:
        status = statuses.get(fact.key, "pending")
        if fact[:2] >= start and status != "dropped":
            yield status, fact.text


def _later(candidate: Fact | None, than: Fact) -> bool:
    return candidate is not None and candidate[:2] > than[:2]
