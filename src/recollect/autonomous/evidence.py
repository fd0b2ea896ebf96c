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
_PASSING = ("Merge ", "WIP", "wip", "fixup!", "squash!")


def extract(
    messages: Sequence[Stored], cwd: str, scripts: Mapping[str, str]
) -> tuple[Evidence, ...]:
    """Return the evidence of a session. An observation without a message is left out."""
    found = session_observations.observe(messages, cwd, scripts)
    tried = list_attempts([one for one in messages if one.origin != "import"])
    traced = []
    for one in found:
        spans = tuple(dict.fromkeys(_spans(one, tried, cwd)))[:MOST_SPANS]
        if spans:
            label = "agent" if one.kind == "conclusion" else "system"
            traced.append(Evidence(one.kind, one.subject, one.at, one.body, spans, label))
    return (*traced, *_commits(tried, cwd))


def _commits(tried: Sequence[CallAttempt], cwd: str) -> Iterator[Evidence]:
    """Yield the commits that were made, each with the files that were edited for it. The subject is
    the agent's own: it stands in the call, and not only in what git printed."""
    files: dict[str, None] = {}
    made = outcomes.commits_of(tried)
    for attempt in tried:
        if attempt.state == "ok" and not attempt.script:
            names = (below(name, cwd) for name in attempt.writes)
            files |= dict.fromkeys(
                name for name in names if is_lasting(name) and name[0] not in "/~"
            )
        for commit in [one for asked, one in made if asked == attempt.asked]:
            if commit.subject in attempt.script and not commit.subject.startswith(_PASSING):
                body = {"subject": commit.subject, "hash": commit.hash, "files": list(files)}
                yield Evidence(
                    "commit", commit.hash[:7], attempt.at, body, (_span(attempt),), "agent"
                )
            files = {}


def _spans(one: SessionObservation, tried: Sequence[CallAttempt], cwd: str) -> Iterator[Span]:
    trace = {"command": _command, "error": _error, "place": _place, "workflow": _workflow}
    if one.kind == "conclusion":
        seq = int(one.subject.rpartition(":")[2])
        yield seq, seq
    elif one.kind in trace:
        yield from trace[one.kind](one, tried, cwd)


def _command(one: SessionObservation, tried: Sequence[CallAttempt], cwd: str) -> Iterator[Span]:
    """Yield the last call in which the command worked; without one, in which it failed."""
    wanted = "ok" if one.body["ok"] else "failed"
    for attempt in reversed(tried):
        if _ran(attempt, one.subject, wanted, cwd):
            yield _span(attempt)
            return


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
    for path in (one.subject, *one.body["files"]):
        for attempt in reversed(tried):
            written = [below(name, cwd) for name in attempt.writes]
            if attempt.state == "ok" and not attempt.script and path in written:
                yield _span(attempt)
                break


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
