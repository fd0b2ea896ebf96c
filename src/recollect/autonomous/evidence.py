"""Phase 1 by rules: what one session says about commands, errors, places, workflows, conclusions,
commits and answers, each with the messages that say so.

The observations are those of `episodes.session_observations`; here each is traced back to the calls
it was made from.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from ..actions.call_results import CallAttempt, list_attempts
from ..actions.command_forms import ELSEWHERE, CommandRun, below, runs_of
from ..actions.command_output import signatures
from ..episodes import session_observations
from ..episodes.session_errors import SessionObservation
from ..text.messages import parse_arguments
from ..types.records import Json, Stored
from . import commits
from .statements import Evidence, Span

MOST_SPANS = 7
"""Messages of one piece of evidence: a commit and the six commands that may lead up to it."""

DIALOGUES = frozenset(("AskUserQuestion",))
"""Tools with which an agent asks its user, by their exact names: a server that calls its own tool
alike cannot put words into the user's mouth."""

LONGEST_QUESTION, LONGEST_ANSWER = 240, 300
FEWEST_WORDS = 5
"""A shorter question means something that was on the screen."""

_MISSING = ("command not found", "ERR_PNPM_", "not recognized as", "No such file or directory")


def extract(
    messages: Sequence[Stored],
    cwd: str,
    scripts: Mapping[str, str],
    tasks: Sequence[Evidence] = (),
) -> tuple[Evidence, ...]:
    """Return the evidence of a session; `tasks` are the episodes that were read out of it. What
    cannot be traced to a message is left out."""
    found = session_observations.observe(messages, cwd, scripts)
    ours = [one for one in messages if one.origin != "import"]
    tried = list_attempts(ours)
    ran = session_observations.list_runs(tried, cwd)
    traced = []
    for one in found:
        if one.kind == "command":
            one = one._replace(body={**one.body, "exact": _exact(one.subject, ran)})
        if one.kind == "place":
            one = one._replace(body={**one.body, "edits": _edits(one, tried, cwd)})
        spans = tuple(dict.fromkeys(_spans(one, tried, cwd)))[:MOST_SPANS]
        if spans:
            label = "agent" if one.kind == "conclusion" else "system"
            traced.append(Evidence(one.kind, one.subject, one.at, one.body, spans, label))
    told = filter(None, (_task(task, tried, cwd) for task in tasks))
    made = (*commits.commits_of(ours, tried, cwd), *commits.pulls_of(ours, tried))
    return (*traced, *made, *_answers(tried), *told)


def _task(task: Evidence, tried: Sequence[CallAttempt], cwd: str) -> Evidence | None:
    """Return a task with what proves it: the request, the last edit of each file, and how the last
    check ended; None when nothing was edited, or the user refused something after it."""
    first, last = task.spans[0]
    inside = [one for one in tried if first <= one.asked <= last]
    edits: dict[str, CallAttempt] = {}
    for one in inside:
        if one.state == "ok" and not one.script:
            edits |= {below(name, cwd): one for name in one.writes}
    files = [path for path in task.body["files"] if path in edits]
    checks = [one for one in inside if one.checks and one.state in ("ok", "failed")]
    if not files or inside[-1].state == "refused":
        return None
    proof = {"ok": "the last check passed", "failed": "the last check failed"}
    end = proof[checks[-1].state] if checks else ""
    spans = [(first, first), *(_span(edits[path]) for path in files[:3])]
    spans += [_span(checks[-1])] if checks else []
    body = {**task.body, "files": files, "outcome": end}
    return task._replace(body=body, spans=tuple(dict.fromkeys(spans)))


# ---------------------------------------------------------------- messages of an observation


def _spans(one: SessionObservation, tried: Sequence[CallAttempt], cwd: str) -> Iterator[Span]:
    trace = {"command": _command, "error": _error, "place": _place, "workflow": _workflow}
    if one.kind == "conclusion":
        seq = int(one.subject.rpartition(":")[2])
        yield seq, seq
    elif one.kind in trace:
        yield from trace[one.kind](one, tried, cwd)


def _exact(key: str, ran: Sequence[tuple[CallAttempt, list[CommandRun]]]) -> list[list[Json]]:
    """Return each wording in which a command worked, with all its arguments: the folder, the
    command, and the messages of its last run."""
    found: dict[tuple[str, str], Span] = {}
    for attempt, runs in ran:
        worked = [run.form for run in runs if run.form.key == key and run.state == "ok"]
        if len(worked) == 1 and _shows(attempt):
            [form] = worked
            if form.exact and form.folder != ELSEWHERE and "REDACTED" not in form.exact:
                found[form.folder, form.exact] = _span(attempt)
    return [[folder, said, *span] for (folder, said), span in found.items()]


def _command(one: SessionObservation, tried: Sequence[CallAttempt], cwd: str) -> Iterator[Span]:
    """Yield the last call that shows that the command worked; without one, in which it failed."""
    wanted = "ok" if one.body["ok"] else "failed"
    for attempt in reversed(tried):
        if _ran(attempt, one.subject, wanted, cwd) and (wanted == "failed" or _shows(attempt)):
            yield _span(attempt)
            return


def _shows(attempt: CallAttempt) -> bool:
    """Check whether a call shows how its command ended: it did not go on in the background, and
    a pipe did not hide that there is no such program."""
    line = attempt.script.strip()
    if line.endswith("&") or "&\n" in line or "running in background" in attempt.output:
        return False
    return not any(sign in attempt.output for sign in _MISSING)


def _error(one: SessionObservation, tried: Sequence[CallAttempt], cwd: str) -> Iterator[Span]:
    """Yield the last call that failed so, the one that passed afterwards, and the last edit of the
    file that resolved it."""
    line = str(one.body["line"])
    broken = [a for a in tried if a.state == "failed" and a.script and line in signatures(a.output)]
    if not broken:
        return
    yield _span(broken[-1])
    after = [attempt for attempt in tried if attempt.asked > broken[-1].asked]
    passed = [attempt for attempt in after if attempt.at == one.at and attempt.state == "ok"][:1]
    yield from map(_span, passed)
    files = one.body["remedy"]["files"]
    edits = [a for a in after if passed and a.asked < passed[0].asked and a.state == "ok"]
    told = [a for a in edits if any(below(name, cwd) in files for name in a.writes)]
    yield from map(_span, told[-1:])


def _place(one: SessionObservation, tried: Sequence[CallAttempt], cwd: str) -> Iterator[Span]:
    """Yield the last edit of each of the files."""
    yield from ((first, last) for first, last in one.body["edits"].values())


def _edits(one: SessionObservation, tried: Sequence[CallAttempt], cwd: str) -> dict[str, list[int]]:
    """Return the span of the last edit of each file of a place."""
    found: dict[str, list[int]] = {}
    for path in (one.subject, *one.body["files"]):
        for attempt in reversed(tried):
            written = [below(name, cwd) for name in attempt.writes]
            if attempt.state == "ok" and not attempt.script and path in written:
                found[path] = list(_span(attempt))
                break
    return found


def _workflow(one: SessionObservation, tried: Sequence[CallAttempt], cwd: str) -> Iterator[Span]:
    """Yield the commit, and the last run of each step before it."""
    made = [a for a in tried if a.at == one.at and a.state == "ok" and "commit" in a.script]
    if not made:
        return
    yield _span(made[-1])
    for step in one.body["steps"]:
        for attempt in reversed(tried):
            if attempt.asked <= made[-1].asked and _ran(attempt, str(step), "ok", cwd):
                yield _span(attempt)
                break


def _ran(attempt: CallAttempt, key: str, state: str, cwd: str) -> bool:
    if not attempt.script:
        return False
    return any(
        run.form.key == key and run.state == state
        for run in runs_of(attempt.script, attempt.state, cwd)
    )


def _span(attempt: CallAttempt) -> Span:
    return attempt.asked, max(attempt.asked, attempt.answered)


# ---------------------------------------------------------------- answers


def _answers(tried: Sequence[CallAttempt]) -> Iterator[Evidence]:
    """Yield the answers of the user that decide something, to questions that stand in the call."""
    for attempt in tried:
        if attempt.call.name not in DIALOGUES or attempt.state != "ok":
            continue
        asked = (parse_arguments(attempt.call.arguments) or {}).get("questions")
        for one in asked if isinstance(asked, list) else ():
            question = _flat(one.get("question")) if isinstance(one, dict) else ""
            answer = _answer_to(question, attempt.output) if question else ""
            if answer and _decides(question, answer):
                body = {"question": question, "answer": answer, "meant": _meaning(one, answer)}
                key, spans = question.casefold(), (_span(attempt),)
                yield Evidence("answer", key, attempt.at, body, spans, "agent")


def _flat(text: Json) -> str:
    return " ".join(str(text or "").split())


def _answer_to(question: str, output: str) -> str:
    end = r"(?=[.,](?:\s|$)| user notes:|$)"
    found = re.search(rf'"{re.escape(question)}"="(.*?)"{end}', output, re.DOTALL)
    return _flat(found[1]) if found else ""


def _meaning(question: Json, answer: str) -> str:
    """Return the description of the chosen option."""
    options = question.get("options")
    for option in options if isinstance(options, list) else ():
        if isinstance(option, dict) and option.get("label") == answer:
            meant = _flat(option.get("description"))
            return meant if len(meant) <= LONGEST_ANSWER else ""
    return ""


def _decides(question: str, answer: str) -> bool:
    """Check whether an answer decides something about the work."""
    return (
        len(question) <= LONGEST_QUESTION
        and len(answer) <= LONGEST_ANSWER
        and len(question.split()) >= FEWEST_WORDS
        and not re.search(_ABOUT_GOING_ON, question)
        and not re.search(_OPEN, answer)
    )


_ABOUT_GOING_ON = (
    r"(?i)\b(?:would you like|do you want|want me to|shall i|should i|ready to|more questions"
    r"|next|proceed|which areas?|todo|can you|commit\w*|pr|push|these|those|this task|direction"
    r"|based on)\b"
)
"""Match questions about how the agent should go on, or about what is on the screen."""

_OPEN = (
    r"(?i)\?\s*$|^you decide\b|^(?:hm+|skip|next|done|none|later|not sure|yes|no|ok)\b"
    r"|\bdepends?\b|\bnot sure\b|\bi (?:guess|think|wonder)\b|\bhonestly\b|\bunderstanding\b"
)
"""Match answers that decide nothing."""
