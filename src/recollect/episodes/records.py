"""The record of an episode: one task with its goal, calls, errors and files, read from a session.

`episodes.tasks` decides where a task begins and how it ended, `actions.call_results` how calls
ended, `episodes.resolutions` what resolved an error.

The label of an episode is that of its least trusted message. It is never read from JSON.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple, cast

from ..actions.call_results import CallAttempt, list_attempts
from ..actions.tool_calls import AgentNotice, find_notices
from ..capture.sentences import capture
from ..capture.statements import forms_in
from ..text.display import shorten
from ..text.messages import NumberedMessage, PlacedMessage, plain_text, range_address
from ..types.json_records import RecordFormat, choice_value, number_value, records_value, time_value
from ..types.records import Json, Message
from ..types.trust import least_trusted
from .resolutions import Fix, fixes
from .tasks import (
    OUTCOMES,
    SHORT,
    Reaction,
    Span,
    attempts_in,
    commits_of,
    importance_of,
    outcome_of,
    phase_of,
    reaction_to_work,
    task_spans,
    typed_words,
)

GOAL = 300
_SCRATCH = frozenset(("tmp", "private", "var", "dev"))
"""Folders at the root of the file system whose files do not last."""


class Action(NamedTuple):
    """One step: seconds after the start, the action, its target, and its result."""

    t: float = 0
    action: str = ""
    target: str = ""
    result: str = ""
    error: str = ""
    extra: Mapping[str, Json] = {}


class ErrorSeen(NamedTuple):
    """An error; without a resolution it was never resolved."""

    type: str = ""
    message: str = ""
    resolution: str = ""
    reason: str = ""
    extra: Mapping[str, Json] = {}


class Episode(NamedTuple):
    """The work on one task. `files` were read or changed, `artifacts` were made or changed."""

    id: str = ""
    task_id: str = ""
    at: int = 0
    duration_seconds: float = 0
    agent: str = ""
    phase: str = ""
    goal: str = ""
    constraints: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    actions: tuple[Action, ...] = ()
    outcome: str = "unknown"
    errors: tuple[ErrorSeen, ...] = ()
    artifacts: tuple[str, ...] = ()
    commit: str = ""
    tokens: int = 0
    importance: float = 0.5
    session: str = ""
    sources: tuple[str, ...] = ()
    label: str = "import"
    extra: Mapping[str, Json] = {}

    @property
    def resolved(self) -> tuple[ErrorSeen, ...]:
        """Return the errors that were resolved."""
        return tuple(error for error in self.errors if error.resolution)


# ---------------------------------------------------------------- as JSON

_ACTION = RecordFormat(Action, t=number_value())
_EPISODE = RecordFormat(
    Episode,
    at=time_value("timestamp"),
    duration_seconds=number_value(),
    phase="context.phase",
    goal="context.goal",
    constraints="context.constraints",
    files="context.files_involved",
    actions=records_value(_ACTION, "action_log"),
    outcome=choice_value(OUTCOMES),
    errors=records_value(RecordFormat(ErrorSeen), "errors_encountered"),
    artifacts="artifacts_produced",
    commit="git_commit",
    label=None,
)


def from_json(given: Json, label: str = "import", actions: bool = True) -> Episode:
    """Return the episode in a JSON object, under the label of its source.

    actions: False leaves out the actions, which are most of the text
    """
    return _EPISODE.load(given, leave_out="" if actions else "actions")._replace(label=label)


def to_json(episode: Episode) -> dict[str, Json]:
    """Return the episode as JSON; unknown fields of the given JSON are kept."""
    return _EPISODE.dump(episode)


# ---------------------------------------------------------------- out of a session


def build(
    messages: Iterable[PlacedMessage | tuple[int, Message]],
    session: str = "",
    agent: str = "",
    cwd: str = "",
    tried: Sequence[CallAttempt] | None = None,
) -> list[Episode]:
    """Return the episodes of a session, in their order. Every tool call is in exactly one of them.
    Talk without work is an episode without actions.

    cwd: the prefix to remove from paths
    tried: the session's calls, if they were listed already
    """
    numbered = [NumberedMessage(*one) if type(one) is tuple else one for one in messages]
    placed = cast("list[PlacedMessage]", numbered)
    spans = task_spans(placed)
    calls = list_attempts(placed) if tried is None else tried
    found = (
        _episode(span, attempts_in(span, calls), session, agent, cwd.rstrip("/")) for span in spans
    )
    return [episode for episode in found if episode.goal or episode.actions or episode.commit]


def _episode(
    span: Span, tried: Sequence[CallAttempt], session: str, agent: str, cwd: str
) -> Episode:
    task = span.messages
    fixed = fixes(tried)
    notices = list(chain.from_iterable(map(find_notices, task)))
    users = [placed for placed in task if placed.message.role == "user"]
    later = [*users[1:], *([span.after] if span.after else [])]
    commits = [(at, commit.hash) for at, commit in commits_of(tried)]
    commits += [(one.seq, one.text) for one in notices if one.kind == "commit"]
    times = [placed.message.at for placed in task if placed.message.at] or [0]
    made = _paths(chain(_touched(tried, "writes"), _edited(notices)), cwd)
    # Without work, praise or criticism of the user is about something else.
    judged = later if made or commits else []
    reactions = [Reaction(one.seq, reaction_to_work(plain_text(one.message))) for one in judged]
    resolved = {fix.failed.asked for fix in fixed}
    goal = _goal(_first_request([plain_text(one.message) for one in users]))
    spent = sum(one.tokens for one in notices)
    bad = sum(one.verdict == "bad" for one in reactions)
    return Episode(
        id=_id(session, task[0].seq),
        task_id=f"{session}:{task[0].seq}" if session else "",
        at=times[0],
        duration_seconds=round((max(times) - times[0]) / 1_000_000, 3),
        agent=agent,
        phase=_phase(goal, bool(made)),
        goal=goal,
        constraints=_constraints(users),
        files=tuple(dict.fromkeys((*made, *_paths(_touched(tried, "reads"), cwd)))),
        actions=(*(_action(one, times[0], cwd) for one in tried), *_noticed_actions(notices)),
        outcome=outcome_of(tried, reactions, [at for at, _ in commits], resolved),
        errors=(*_errors_seen(tried, fixed, cwd), *_noticed_errors(notices)),
        artifacts=made,
        commit=commits[-1][1] if commits else "",
        tokens=spent + sum(map(_tokens, task)),
        importance=importance_of(tried, len(fixed), bad, len(commits)),
        session=session,
        sources=(range_address(session, task[0].seq, task[-1].seq),) if session else (),
        label=least_trusted(map(_origin, task)),
    )


def _id(session: str, seq: int) -> str:
    """Return the id of a task, which depends only on its session and first message."""
    from hashlib import sha256

    return f"e-{sha256(f'{session}:{seq}'.encode()).hexdigest()[:12]}"


def _origin(placed: PlacedMessage) -> str:
    by_role = {"user": "user", "assistant": "agent", "tool": "tool"}
    return str(getattr(placed, "origin", "") or by_role.get(placed.message.role, "system"))


def _first_request(texts: Sequence[str]) -> str:
    """Return the first message that is not a bare slash command such as `/clear`."""
    requests = (text for text in texts if not re.match(_BARE_COMMAND, text))
    return next(requests, "".join(texts[:1]))


_BARE_COMMAND = r"(?s)\s*(?:/[\w:-]+\s*(?:⎿.*)?)?$"


def _goal(words: str) -> str:
    """Return the goal in the words of the user: the first paragraph, with the next one if it ends
    with a colon."""
    own = typed_words(words)
    paragraphs = [part for part in words.strip().split("\n\n") if part.strip()]
    if not paragraphs:
        return ""
    goal = " ".join(paragraphs[0].split())
    if goal.endswith(":") and len(paragraphs) > 1:
        goal = f"{goal} {' '.join(paragraphs[1].lstrip('# ').split())}"
    if len(own) >= SHORT and not words.strip().startswith(own[:20]):
        goal = own
    return shorten(goal, GOAL)


def _constraints(users: Sequence[PlacedMessage]) -> tuple[str, ...]:
    texts = (plain_text(user.message) for user in users)
    # `forms_in` is cheap, and rules out most messages.
    found = (one for text in texts if forms_in(text, "constraint") for one in capture(text))
    return tuple(dict.fromkeys(one.text for one in found if one.kind == "policy"))


def _phase(goal: str, wrote: bool) -> str:
    """Return the phase that the goal names; implementation without a write is exploration."""
    phase = phase_of(goal)
    return "exploration" if phase == "implementation" and not wrote else phase


def _action(attempt: CallAttempt, began: int, cwd: str) -> Action:
    results = {"ok": "pass" if attempt.checks else "ok", "failed": "fail"}
    error = attempt.trouble.message if attempt.trouble else ""
    if attempt.state == "missed":
        error = next((line.strip() for line in attempt.output.splitlines() if line.strip()), "")
    return Action(
        t=round((attempt.at - began) / 1_000_000, 3) if began and attempt.at else 0,
        action=_verb(attempt),
        target=_short_path(attempt.target, cwd),
        result=results.get(attempt.state, attempt.state),
        error=error[:GOAL],
    )


def _verb(attempt: CallAttempt) -> str:
    if attempt.script:
        tests = any("test" in word for command in attempt.commands for word in command[:4])
        return "run_test" if attempt.checks and tests else "run_command"
    if attempt.writes:
        return "edit_file"
    return "read_file" if attempt.reads else attempt.call.name


def _errors_seen(
    tried: Sequence[CallAttempt], fixed: Sequence[Fix], cwd: str
) -> tuple[ErrorSeen, ...]:
    """Return the errors, each type, message and resolution once."""
    ends = {(fix.failed.asked, fix.failed.call.id): fix for fix in fixed}
    found: dict[tuple[str, str, str], ErrorSeen] = {}
    for attempt in tried:
        if attempt.trouble is None:
            continue
        fix = ends.get((attempt.asked, attempt.call.id))
        resolution = _short_path(fix.resolution, cwd) if fix else ""
        message = _short_path(attempt.trouble.message, cwd)
        error = ErrorSeen(attempt.trouble.type, message, resolution, fix.reason if fix else "")
        found.setdefault(error[:3], error)
    return tuple(found.values())


def _short_path(words: str, cwd: str) -> str:
    return words.replace(f"{cwd}/", "") if cwd else words


def _paths(paths: Iterable[str], cwd: str) -> tuple[str, ...]:
    """Return each path once, without those of scratch files."""
    kept = (path for path in paths if path[:1] != "/" or path.split("/")[1] not in _SCRATCH)
    return tuple(dict.fromkeys(_short_path(path, cwd) for path in kept))


def _touched(tried: Sequence[CallAttempt], how: str) -> Iterable[str]:
    return (path for one in tried if one.state == "ok" for path in getattr(one, how))


def _tokens(placed: PlacedMessage) -> int:
    usage = placed.message.usage or {}
    return int(usage.get("input_tokens", 0)) + int(usage.get("output_tokens", 0))


# ---------------------------------------------------------------- agents without calls


def _edited(notices: Sequence[AgentNotice]) -> Iterator[str]:
    return (notice.text for notice in notices if notice.kind == "edit")


def _noticed_actions(notices: Sequence[AgentNotice]) -> Iterable[Action]:
    for notice in notices:
        if notice.kind == "edit":
            yield Action(action="edit_file", target=notice.text, result="ok")
        elif notice.kind == "failed":
            yield Action(action="edit_file", result="fail", error=notice.text[:GOAL])


def _noticed_errors(notices: Sequence[AgentNotice]) -> Iterable[ErrorSeen]:
    """Return failed edits that the agent sent again, each resolved by the next applied one."""
    found: dict[str, ErrorSeen] = {}
    for place, notice in enumerate(notices):
        if notice.kind == "failed":
            again = next(_edited(notices[place:]), "")
            how = f"sent the edit of {again} again with its exact text" if again else ""
            found[how] = ErrorSeen("edit mismatch", notice.text[:GOAL], how)
    return found.values()
