"""What one session found out by working: commands, error fixes, files changed together, commands
that lead up to a commit, conclusions.

All but conclusions is read from tool calls and their exit statuses alone. Calls of our own commands
and tools teach nothing, and neither does anything that came from an import.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..actions.call_results import CallAttempt, list_attempts
from ..actions.command_forms import below, runs_of
from ..actions.command_words import is_lasting
from ..actions.echo import is_own_call
from ..types.records import Stored
from .observations import Observation
from .session_commands import commands_of_session
from .session_conclusions import conclusions_of_session
from .session_errors import errors_of_session

MOST_TOGETHER = 8
"""Where more files were changed they were not changed for one thing."""

FEWEST_STEPS, MOST_STEPS = 2, 6
_STEPS = frozenset(("test", "lint", "format", "typecheck", "check", "build", "generate", "migrate"))


def observe(messages: Sequence[Stored], cwd: str, scripts: Mapping[str, str]) -> list[Observation]:
    """Return everything that a session says; the same messages say the same."""
    ours = [one for one in messages if one.origin != "import"]
    tried = [one for one in list_attempts(ours) if not is_own_call(one.call)]
    return [
        *commands_of_session(tried, cwd, scripts),
        *errors_of_session(tried, cwd),
        *_places(tried, cwd),
        *_workflows(tried, cwd),
        *conclusions_of_session(ours),
    ]


def _places(tried: Sequence[CallAttempt], cwd: str) -> list[Observation]:
    """Return for each edited file which others were edited in the same session."""
    edited: dict[str, int] = {}
    for one in tried:
        if one.state == "ok" and not one.script:
            for path in one.writes:
                edited[below(path, cwd)] = one.at
    files = [path for path in edited if is_lasting(path) and "/" in path]
    if not 1 < len(files) <= MOST_TOGETHER:
        return []
    return [
        Observation("place", path, edited[path], {"files": [one for one in files if one != path]})
        for path in files
    ]


def _workflows(tried: Sequence[CallAttempt], cwd: str) -> list[Observation]:
    """Return an observation for each sequence of commands that led up to a commit."""
    found: dict[str, Observation] = {}
    since_edit: dict[str, str] = {}
    for one in tried:
        if one.state != "ok":
            continue
        if one.writes and not one.script:
            since_edit = {}
        for run in runs_of(one.script, one.state, cwd) if one.script else ():
            if run.state == "ok" and run.form.purpose in _STEPS and not run.form.is_dangerous:
                since_edit.setdefault(run.form.key, run.form.purpose)
        if ("git", "commit") in (command[:2] for command in one.commands):
            if FEWEST_STEPS <= len(since_edit) <= MOST_STEPS:
                subject = " && ".join(since_edit)
                body = {"steps": list(since_edit), "purposes": list(since_edit.values())}
                found[subject] = Observation("workflow", subject, one.at, body)
            since_edit = {}
    return list(found.values())
