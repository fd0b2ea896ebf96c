"""What an agent concluded at the end of a task, when evidence followed it.

Kept is one sentence that gives a cause and names something: a path, a symbol or a number. Evidence
is a check that passed last, or a commit; where a check still fails or the user objected there is
none. A session that read the web or foreign servers has no conclusions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache

from ..actions.call_results import CallAttempt, list_attempts
from ..actions.echo import is_own_tool
from ..text.messages import plain_text
from ..types.records import Stored
from .observations import Observation
from .outcomes import commits_of, reaction_to_work
from .task_spans import Span, task_spans

SHORTEST, LONGEST = 40, 220
_WEB = ("webfetch", "websearch", "web_search", "web_fetch", "browser", "fetch_url")


def conclusions_of_session(messages: Sequence[Stored]) -> list[Observation]:
    """Return the conclusion of each task that has one."""
    if any(_is_foreign(call.name) for one in messages for call in one.message.calls):
        return []
    found = []
    for span in task_spans(list(messages)):
        if one := _conclusion(span):
            found.append(one)
    return found


def evidence_after(messages: Sequence[Stored], seq: int) -> str:
    """Return what proves the work of the task that a message stands in; empty without evidence, and
    for a session that read the web or foreign servers."""
    if any(_is_foreign(call.name) for one in messages for call in one.message.calls):
        return ""
    for span in task_spans(list(messages)):
        if any(one.seq == seq for one in span.messages):
            objected = span.after and reaction_to_work(plain_text(span.after.message)) == "bad"
            return "" if objected else _evidence(list_attempts(span.messages))
    return ""


def _is_foreign(tool: str) -> bool:
    """Check whether a tool reads the web or a server that is not ours."""
    name = tool.lower()
    return (name.startswith("mcp") and not is_own_tool(tool)) or any(word in name for word in _WEB)


def _conclusion(span: Span) -> Observation | None:
    tried = list_attempts(span.messages)
    evidence = _evidence(tried)
    if not evidence or (span.after and reaction_to_work(plain_text(span.after.message)) == "bad"):
        return None
    said = [one for one in span.messages if one.message.role == "assistant"]
    if not said or said[-1].message.calls:
        return None
    text = _sentence(plain_text(said[-1].message))
    if not text:
        return None
    last = said[-1]
    session = str(getattr(last, "session", ""))
    body = {"text": text, "session": session, "evidence": evidence}
    return Observation("conclusion", f"{session}:{last.seq}", last.message.at, body)


def _evidence(tried: Sequence[CallAttempt]) -> str:
    """Return what proves the work of a task; empty when its last check failed, or without one."""
    checks = [one for one in tried if one.checks and one.state in ("ok", "failed")]
    if checks and checks[-1].state == "failed":
        return ""
    commits = commits_of(tried)
    if commits:
        return f"commit {commits[-1][1].hash[:10]}"
    return "the last check passed" if checks else ""


def _sentence(text: str) -> str:
    """Return the first sentence that gives a cause and names something."""
    for sentence in _sentences(text):
        fits = SHORTEST <= len(sentence) <= LONGEST and sentence[-1] != "?"
        if fits and _cause().search(sentence) and _named().search(sentence):
            return sentence
    return ""


def _sentences(text: str) -> Iterable[str]:
    for line in text.splitlines():
        if line.lstrip().startswith(("#", "|", "```", ">")):
            continue
        bare = re.sub(r"^\s*(?:[-*+]|\d+[.)])\s+", "", line).replace("**", "")
        for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z`])", bare):
            yield " ".join(sentence.split())


@cache
def _cause() -> re.Pattern[str]:
    return re.compile(
        r"\b(?:because|caused by|root cause|due to|fixed by|turned out"
        r"|the (?:issue|problem|bug|cause|reason) (?:was|is)"
        r"|(?:was|were) (?:failing|missing|broken|wrong))\b",
        re.IGNORECASE,
    )


@cache
def _named() -> re.Pattern[str]:
    return re.compile(
        r"`[^`]{2,60}`|\b[\w-]+/[\w./-]+|\b\w+\.\w{1,4}\b|\b[a-z]+[A-Z]\w+|\w+_\w+|\d"
    )
