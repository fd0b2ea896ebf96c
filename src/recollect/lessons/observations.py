"""Records of what earlier sessions found out by working: commands, error fixes, places.

They are computed from tool calls and exit statuses alone, except `Conclusion`, which quotes an
agent. `lessons.steps_observed` reads them; the briefing decides when to show them.
"""

from __future__ import annotations

from ..episodes.observations import Remedy as Remedy
from ..fast_typing import NamedTuple


class KnownCommand(NamedTuple):
    """A command in canonical form, with how often it worked. Times are microseconds."""

    form: str
    purpose: str
    """test, lint, format, typecheck, build, run, migrate, generate, install, deploy, or empty."""
    sessions_succeeded: int
    sessions_failed: int
    failed_in_a_row: int
    """How many of the latest sessions that ran it saw only failures."""
    last_success: int
    replaces: tuple[str, ...] = ()
    """Forms that fail and that this one replaced."""
    retired: str | None = None
    """Why it is not to be shown at the start of a session; None when it may be shown."""
    folder: str = ""
    """The folder below the project's root that it was always run in."""
    script: str = ""
    """The script of a manifest that it runs."""


class CommandAdvice(NamedTuple):
    """A command that failed in several sessions, and the form that worked since."""

    form: str
    better: str
    sessions_failed: int
    sessions_succeeded: int
    last: int


class KnownResolution(NamedTuple):
    """An error that came up before, and what resolved it."""

    signature: str
    """The normalised first telling line of the output."""
    command: str
    remedy: Remedy
    sessions: int
    last: int
    confirmed: bool
    """Whether two sessions or more resolved it this way."""


class KnownPlace(NamedTuple):
    """Files that are changed together with a file."""

    files: tuple[str, ...]
    sessions: int


class Conclusion(NamedTuple):
    """The outcome that an agent reported at the end of an episode, with the evidence after it."""

    text: str
    session: str
    at: int
    evidence: str
