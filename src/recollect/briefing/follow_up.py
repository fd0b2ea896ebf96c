"""Judge what came of what was shown: the command was run, the file was opened, the failing form was
avoided.

Only what can be seen in the calls of the session is judged. That an error did not come back proves
nothing by itself: a warning must not confirm itself. A rule that names no command and no file is
never judged by silence.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..fast_typing import NamedTuple
from .sql import FOLLOWED, IGNORED

COMMAND, FILE = "command:", "file:"


class SessionActs(NamedTuple):
    """What an agent did in a session: forms of commands and files by time, and how many chances to
    speak there were at each moment."""

    forms: tuple[tuple[int, str], ...] = ()
    files: tuple[tuple[int, str], ...] = ()
    chances: tuple[tuple[str, int], ...] = ()


class ShownRef(NamedTuple):
    """One thing that was shown: the row's id, the moment, what it names, when."""

    id: str
    moment: str
    ref: str
    at: int


def judge(shown: Sequence[ShownRef], acts: SessionActs) -> list[tuple[str, str]]:
    """Return the outcome of each row that can be judged."""
    judged = ((one.id, _outcome(one, acts)) for one in shown)
    return [(id, outcome) for id, outcome in judged if outcome]


def _outcome(one: ShownRef, acts: SessionActs) -> str:
    if one.ref.startswith(COMMAND):
        return _of_command(one, acts.forms)
    if one.ref.startswith(FILE):
        path = one.ref.removeprefix(FILE)
        after = [name for at, name in acts.files if one.moment == "start" or at >= one.at]
        return FOLLOWED if path in after else IGNORED if after else ""
    return ""


def _of_command(one: ShownRef, forms: Iterable[tuple[int, str]]) -> str:
    """A shown command was run; where other commands were run in its place it was ignored. Before a
    command the failing form is named first: running it again ignores the advice."""
    form = one.ref.removeprefix(COMMAND)
    ran = [name for at, name in forms if one.moment == "start" or at > one.at]
    if form in ran:
        return FOLLOWED
    return IGNORED if ran else ""
