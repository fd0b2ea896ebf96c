"""Records of what one session found out by working, before sessions are put together."""

from __future__ import annotations

from collections.abc import Mapping

from ..fast_typing import NamedTuple
from ..types.records import Json


class Observation(NamedTuple):
    """What one session says about a subject, such as a command or an error. `at` is when it was
    last true; `body` is JSON that `lessons.findings` understands."""

    kind: str
    subject: str
    at: int
    body: Mapping[str, Json]


class Remedy(NamedTuple):
    """The difference that made a failed call pass; at least one field is filled."""

    gained: tuple[str, ...] = ()
    """Words that the command gained."""
    lost: tuple[str, ...] = ()
    """Words that the command lost."""
    step_before: str = ""
    """A command that was run before."""
    other_form: str = ""
    """The command that was run in place of the failed one."""
    files: tuple[str, ...] = ()
    """Files that were edited in between, as paths from the project."""
    symbol: str = ""
