"""Statements that quote: memories in use, conclusions, sentences that a model picked, past tasks
and commits."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ..actions import command_words
from ..briefing import rendering, selection, wording
from ..capture import standalone
from ..fast_typing import NamedTuple
from ..lessons import findings
from ..text import addresses, display, terms
from ..types.records import BASELINE_KINDS, Json, Memory
from .statements import (
    CLAIMS,
    DECISIONS,
    HISTORY,
    MOST_SOURCES,
    PROPOSED,
    RULES,
    PageStatement,
    SessionEvidence,
    gives_cause,
    gives_reason,
    sources_of,
)

FEWEST_WORDS = 4
"""Content words. A shorter goal means nothing to a later reader."""

RECURRING = 3
"""The minimum number of sessions with a request for a line, unless it was stated as a rule."""

FEWEST_CHARACTERS = 60
"""Characters. A shorter description of a pull request only repeats its title."""

SMALL, LARGE = 20, 40
"""Changed lines. A smaller commit must give a cause; a larger one of several files needs no
reason."""

SAME, SAME_PULL = 0.5, 0.4
"""The minimum share of common words for a later commit to replace an earlier one of the same file,
and for a commit to replace the pull request about it."""

MOST_FILES, LONGEST_GOAL, LONGEST_QUOTE = 3, 160, 400
_PLANS = ("Implement the following plan: ", "Plan: ")
_SMALL_TYPES = ("docs:", "docs(", "style:", "style(")
_RULE_KINDS = (*BASELINE_KINDS, "workflow")


class CitedMemory(NamedTuple):
    """A memory in use, and the addresses of the messages that state it. If it was captured from a
    conversation, `message` is the newest of them and `after` the user's next messages."""

    memory: Memory
    sources: tuple[str, ...]
    message: str = ""
    after: tuple[str, ...] = ()


def messages_around(
    address: str, typed: Mapping[str, Sequence[tuple[int, str]]]
) -> tuple[str, tuple[str, ...]]:
    """Return a typed message, and those that the person typed after it in its session."""
    place = addresses.parse_address(address)
    if place.kind != "messages":
        return "", ()
    rows = typed.get(place.name, ())
    own_text = next((text for seq, text in rows if seq == place.first), "")
    return own_text, tuple(text for seq, text in rows if seq > place.first)[: standalone.MOST_AFTER]


def memory_statement(cited: CitedMemory) -> PageStatement | None:
    """Return a memory as a statement; None if it may not be injected."""
    memory, sources = cited.memory, cited.sources
    if selection.why_excluded(memory) or not sources:
        return None
    captured = str(memory.detail.get("captured", ""))
    sessions = len({source.partition("/messages/")[0] for source in sources})
    if captured == "repetition" and sessions < RECURRING:
        return None
    if captured and not standalone.is_durable(memory.text, cited.message, cited.after, sessions):
        return None
    section = CLAIMS
    if memory.label in ("user", "system"):
        section = RULES if memory.kind in _RULE_KINDS else DECISIONS
    item = selection.memory_item(memory, "")
    scope = f"for {', '.join(memory.scope)}" if memory.scope else ""
    line = rendering.line(item._replace(note=scope))
    # A claim of an agent is injected only with evidence.
    is_injected = section != CLAIMS or selection.has_evidence(memory, "")
    return PageStatement(
        key=f"memory:{memory.root}",
        section=section,
        line=line,
        label=memory.label,
        sources=sources[:MOST_SOURCES],
        at=memory.last_reinforced or memory.valid_from,
        weight=memory.reinforcement + memory.confidence,
        refs=(memory.id,),
        in_summary=is_injected,
    )


def conclusion_statement(
    subject: str, finding: findings.MergedFinding, seen: Sequence[SessionEvidence]
) -> PageStatement | None:
    """Return the conclusion of an agent as a quotation."""
    known = findings.read_conclusion(finding.body, finding.at)
    if command_words.suggests_danger(known.text):
        return None
    item = wording.conclusion_line(known)
    return PageStatement(
        key=f"conclusion:{subject}",
        section=CLAIMS,
        line=rendering.line(item),
        label="agent",
        sources=sources_of(seen),
        at=finding.at,
        refs=(item.address,),
    )


def quotes_statement(subject: str, seen: Sequence[SessionEvidence]) -> PageStatement | None:
    """Return a sentence that a model picked from a session, quoted."""
    newest = seen[0].evidence
    body = newest.body
    if newest.label not in ("user", "agent") or command_words.suggests_danger(str(body["quote"])):
        return None
    is_users = newest.label == "user"
    who = "user" if is_users else f"unconfirmed {body['kind']}, agent"
    date = display.format_time(newest.at)[:10]
    quote = display.quote_data(str(body["quote"])[:LONGEST_QUOTE])
    return PageStatement(
        key=f"quote:{subject}",
        section=PROPOSED if is_users else CLAIMS,
        line=f"> {who} {date}: {quote}",
        label=newest.label,
        sources=sources_of(seen),
        at=newest.at,
        weight=len(seen),
        in_summary=not is_users and bool(body.get("evidence")),
    )


def task_statement(subject: str, seen: Sequence[SessionEvidence]) -> PageStatement | None:
    """Return a plan that was carried out without a commit: its quoted title, the changed files, the
    last check. Other requests are left out: they need their conversation to be understood."""
    body = seen[0].evidence.body
    goal = str(body["goal"])
    title = next((goal.removeprefix(lead) for lead in _PLANS if goal.startswith(lead)), "")
    title = title.removeprefix("Plan: ")
    if not title or not body["outcome"] or not body["files"] or body["commit"]:
        return None
    words = set(terms.query_terms(title))
    if (
        len(words - _PASSING) < FEWEST_WORDS
        or words & _ELSEWHERE
        or all(map(_is_test, body["files"]))
    ):
        return None
    changed = _changed(body["files"], len(body["files"]))
    short = f"carried out the plan {_quote_title(title)}"
    return _past(f"task:{subject}", f"{short}{changed}; {body['outcome']}", seen, short)


def commit_statement(subject: str, seen: Sequence[SessionEvidence]) -> PageStatement | None:
    """Return a commit of an agent with its reason and files, quoted; None if it is not useful to
    later sessions."""
    body = seen[0].evidence.body
    title, reason = str(body["subject"]), str(body.get("reason", ""))
    words = set(terms.query_terms(title))
    if len(words - _PASSING) < FEWEST_WORDS - 1:
        return None
    if words & _MOVES or (words & (_ELSEWHERE | _CHORES) and not gives_reason(reason)):
        return None
    if title.lower().startswith(_SMALL_TYPES) or not _is_useful(body, f"{title}. {reason}"):
        return None
    hash = f" ({rendering.code(str(body['hash'])[:10])})" if body["hash"] else ""
    line = f"committed {_quote_title(title)}{hash}"
    short = line
    if reason:
        line += f": {display.quote_data(reason)}"
    line += _changed(body["files"], int(body["count"]))
    made = _past(f"commit:{subject}", line, seen[:1], short)
    # Text of a session that read the web is not injected.
    return made._replace(in_summary=not body.get("foreign"))


def pull_statement(subject: str, seen: Sequence[SessionEvidence]) -> PageStatement | None:
    """Return a pull request of an agent with its reasons, quoted; None if it is too short."""
    body = seen[0].evidence.body
    title, reason = str(body["subject"]), str(body["reason"])
    words = set(terms.query_terms(title))
    if len(words - _PASSING) < FEWEST_WORDS - 1 or words & (_ELSEWHERE | _CHORES):
        return None
    if title.lower().startswith(_SMALL_TYPES) or len(reason) < FEWEST_CHARACTERS:
        return None
    line = f"opened pull request {body['number']} {_quote_title(title)}"
    made = _past(f"pull:{subject}", f"{line}: {display.quote_data(reason)}", seen[:1])
    return made._replace(in_summary=False)


def _is_useful(body: Mapping[str, Json], text: str) -> bool:
    """Check whether a commit is worth a line: it gives a cause with a reason; or, if it is neither
    small nor only tests, a reason; or it is large and not routine."""
    files = [str(path) for path in body["files"]]
    kind = str(body["subject"]).partition("(")[0].partition(":")[0].lower()
    lines, tests = int(body["lines"]), bool(files) and all(map(_is_test, files))
    if gives_cause(text):
        return bool(body.get("reason"))
    if tests or lines < SMALL:
        return False
    if gives_reason(str(body.get("reason", ""))):
        return True
    routine = body.get("reviewed") or kind in ("chore", "test", "refactor")
    return lines >= LARGE and int(body["count"]) > 1 and not routine


def _is_test(path: str) -> bool:
    return re.search(r"(?i)(?:^|[/_.-])(?:tests?|specs?|e2e)(?:[/_.-]|$)", path) is not None


def answer_statement(subject: str, seen: Sequence[SessionEvidence]) -> PageStatement | None:
    """Return a question of an agent with the user's answer, both quoted."""
    newest = seen[0].evidence
    date = display.format_time(newest.at)[:10]
    question, answer = (display.quote_data(str(newest.body[key])) for key in ("question", "answer"))
    meant = str(newest.body["meant"])
    line = f"chose {answer} ({display.quote_data(meant)})" if meant else f"answered {answer}"
    return PageStatement(
        key=f"answer:{subject}",
        section=DECISIONS,
        line=f"> {date}: asked {question}, the user {line}",
        label="agent",
        sources=sources_of(seen[:1]),
        at=newest.at,
        in_summary=False,
    )


def _past(key: str, line: str, seen: Sequence[SessionEvidence], short: str = "") -> PageStatement:
    newest = seen[0].evidence
    date = display.format_time(newest.at)[:10]
    return PageStatement(
        key=key,
        section=HISTORY,
        line=f"> {date}: {line}",
        label="agent",
        sources=sources_of(seen, each=MOST_SOURCES),
        at=newest.at,
        short=f"> {date}: {short or line}",
    )


def _changed(files: Sequence[str], count: int) -> str:
    """Return the names of some changed files, sources first; `count` is the number of all."""
    clear = [path for path in files if "REDACTED" not in path]
    named = sorted(clear, key=lambda path: (path.endswith(".md"), _is_test(path)))[:MOST_FILES]
    if not named:
        return ""
    more = count - len(named)
    listed = ", ".join(map(rendering.code, named))
    return f"; changed {listed}" + (f" and {more} more" if more > 0 else "")


_PASSING = frozenset((
    *("can", "could", "please", "look", "take", "address", "fix", "review", "pr", "comment"),
    *("comments", "branch", "changes", "open", "implement", "following", "plan", "need", "let"),
    *("think", "want", "see", "check", "update", "make", "feedback", "issue", "issues"),
))  # fmt: skip
"""Words that name the kind of work, not its subject."""

_ELSEWHERE = frozenset(("comment", "comments", "feedback", "pr", "coderabbit", "bugbot", "image"))
"""Words of goals that refer to a text elsewhere."""

_MOVES = frozenset(("rebase", "rebased", "merge", "merged", "conflict", "conflicts"))
_CHORES = frozenset(
    ["review", "findings", "todo", "todos", "nit", "typo", "changelog", "bump", "conversation"]
)
"""Words in the subject of commits that say little about the code."""


def _quote_title(title: str) -> str:
    return display.quote_data(display.shorten(title, LONGEST_GOAL))


# ---------------------------------------------------------------- attempts


def newest_attempts(
    found: Sequence[PageStatement], groups: Mapping[tuple[str, str], Sequence[SessionEvidence]]
) -> list[PageStatement]:
    """Leave out commits that a later one replaces, plans whose files a later one changed, and pull
    requests about commits in the list."""
    keys = {one.key for one in found}
    made = [
        _Attempt(kind, one.at, set(terms.query_stems(key)), set(one.body.get("files", ())), key)
        for (kind, key), ((_, one), *_) in groups.items()
        if kind in ("commit", "pull", "task") and f"{kind}:{key}" in keys
    ]
    dropped = {
        f"{one.kind}:{one.key}" for one in made if any(_replaces(other, one) for other in made)
    }
    return [one for one in found if one.key not in dropped]


class _Attempt(NamedTuple):
    """A commit, a pull request or a task, with its words and files."""

    kind: str
    at: int
    words: set[str]
    files: set[str]
    key: str


def _replaces(new: _Attempt, old: _Attempt) -> bool:
    shared = old.files & new.files
    if old.kind == "task":
        return new.kind == "task" and new.at > old.at and 2 * len(shared) >= len(old.files)
    if new.kind != "commit" or not (old.kind == "pull" or (new.at > old.at and shared)):
        return False
    enough = SAME_PULL if old.kind == "pull" else SAME
    return len(old.words & new.words) >= enough * len(old.words | new.words)


WORDED = {
    "task": task_statement,
    "commit": commit_statement,
    "pull": pull_statement,
    "answer": answer_statement,
    "quote": quotes_statement,
}
"""The function that makes a statement of each kind of evidence."""
