"""Phase 1 by rules: what one session says about commands, errors, places, workflows and
conclusions, each with the messages that say so.

The observations are those of `episodes.session_observations`; here each is traced back to the calls
it was made from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ..actions.call_results import CallAttempt, list_attempts
from ..actions.command_forms import below, runs_of
from ..actions.command_output import signatures
from ..actions.command_words import is_lasting
from ..episodes import outcomes, session_observations
from ..episodes.session_errors import SessionObservation
from ..types.records import Stored
from .statements import Evidence, Span

MOST_SPANS = 4
_MISSING = ("command not found", "ERR_PNPM_", "not recognized as", "No such file or directory")
_PASSING = ("Merge ", "WIP", "wip", "fixup!", "squash!")


def extract(
    messages: Sequence[Stored],
    cwd: str,
    scripts: Mapping[str, str],
    tasks: Sequence[Evidence] = (),
) -> tuple[Evidence, ...]:
    """Return the evidence of a session; `tasks` are the episodes that were read out of it. What
    cannot be traced to a message is left out."""
    found = session_observations.observe(messages, cwd, scripts)
    tried = list_attempts([one for one in messages if one.origin != "import"])
    traced = []
    for one in found:
        if one.kind == "place":
            edits = _edits(one, tried, cwd)
            one = one._replace(body={**one.body, "edits": edits})
        spans = tuple(dict.fromkeys(_spans(one, tried, cwd)))[:MOST_SPANS]
        if spans:
            label = "agent" if one.kind == "conclusion" else "system"
            traced.append(Evidence(one.kind, one.subject, one.at, one.body, spans, label))
    told = filter(None, (_task(task, tried, cwd) for task in tasks))
    return (*traced, *_commits(tried, cwd), *told)


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


def _commits(tried: Sequence[CallAttempt], cwd: str) -> Iterator[Evidence]:
    """Yield the commits that were made, each with the files that were edited for it. The subject is
    the agent's own: it stands in the call, and not only in what git printed."""
    files: dict[str, None] = {}
    made = outcomes.commits_of(tried)
    for attempt in tried:
        if attempt.state == "ok" and not attempt.script:
            names = [below(name, cwd) for name in attempt.writes]
            inside = [name for name in names if is_lasting(name) and name[0] not in "/~"]
            files |= dict.fromkeys(inside)
        for commit in [one for asked, one in made if asked == attempt.asked]:
            if commit.subject in attempt.script and not commit.subject.startswith(_PASSING):
                body = {"subject": commit.subject, "hash": commit.hash, "files": list(files)}
                title, spans = commit.subject.casefold(), (_span(attempt),)
                yield Evidence("commit", title, attempt.at, body, spans, "agent")
            files = {}


def _spans(one: SessionObservation, tried: Sequence[CallAttempt], cwd: str) -> Iterator[Span]:
    trace = {"command": _command, "error": _error, "place": _place, "workflow": _workflow}
    if one.kind == "conclusion":
        seq = int(one.subject.rpartition(":")[2])
        yield seq, seq
    elif one.kind in trace:
        yield from trace[one.kind](one, tried, cwd)


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
    """Yield the last call that failed so, and the one that passed afterwards."""
    line = str(one.body["line"])
    broken = [a for a in tried if a.state == "failed" and a.script and line in signatures(a.output)]
    if not broken:
        return
    yield _span(broken[-1])
    for attempt in tried:
        if attempt.asked > broken[-1].asked and attempt.at == one.at and attempt.state == "ok":
            yield _span(attempt)
            return


def _place(one: SessionObservation, tried: Sequence[CallAttempt], cwd: str) -> Iterator[Span]:
    """Yield the last edit of each of the files."""
    yield from ((first, last) for first, last in one.body["edits"].values())


def _edits(one: SessionObservation, tried: Sequence[CallAttempt], cwd: str) -> dict[str, list[int]]:
    """Return the span of the last edit of each of the files of a place."""
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
    commits = [a for a in tried if a.at == one.at and a.state == "ok" and "commit" in a.script]
    if not commits:
        return
    yield _span(commits[-1])
    for step in one.body["steps"]:
        for attempt in reversed(tried):
            if attempt.asked <= commits[-1].asked and _ran(attempt, str(step), "ok", cwd):
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
