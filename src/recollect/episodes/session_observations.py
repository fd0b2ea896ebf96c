"""What one session found out by working: commands, error fixes, files changed together.

Read from tool calls and their exit statuses alone. Calls of our own commands and tools teach
nothing, and neither does anything that came from an import.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..actions.call_results import CallAttempt, list_attempts
from ..actions.command_forms import is_lasting
from ..actions.echo import is_own_call
from ..types.records import Stored
from .observations import Observation
from .session_commands import commands_of_session
from .session_errors import errors_of_session

MOST_TOGETHER = 8
"""Where more files were changed they were not changed for one thing."""


def observe(messages: Sequence[Stored], cwd: str, scripts: Mapping[str, str]) -> list[Observation]:
    """Return everything that a session says; the same messages say the same."""
    ours = [one for one in messages if one.origin != "import"]
    tried = [one for one in list_attempts(ours) if not is_own_call(one.call)]
    return [
        *commands_of_session(tried, cwd, scripts),
        *errors_of_session(tried, cwd),
        *_places(tried, cwd),
    ]


def _places(tried: Sequence[CallAttempt], cwd: str) -> list[Observation]:
    """Return for each edited file which others were edited in the same session."""
    root = f"{cwd.rstrip('/')}/"
    edited: dict[str, int] = {}
    for one in tried:
        if one.state == "ok" and not one.script:
            for path in one.writes:
                edited[path.removeprefix(root)] = one.at
    files = [path for path in edited if is_lasting(path) and "/" in path]
    if not 1 < len(files) <= MOST_TOGETHER:
        return []
    return [
        Observation("place", path, edited[path], {"files": [one for one in files if one != path]})
        for path in files
    ]
