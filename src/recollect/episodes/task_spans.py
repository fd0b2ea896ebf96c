"""Where one task of a session ends and the next begins.

A request of the user begins a new task when work was done before it and it speaks of other
things, or comes after a long pause. Corrections, questions and short words go on with the task
they stand in. It decides from words and times alone, and does not know what an episode is.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from ..actions.command_output import find_notices
from ..text.messages import PlacedMessage, plain_text
from ..text.terms import query_terms, stem_all
from .outcomes import typed

SHORT = 50
"""A message of fewer characters goes on with the task it stands in."""

NEW_WORDS = 0.7
"""The share of words nobody has spoken of that makes a request a new task."""

PAUSE = 6 * 3_600_000_000
"""After so long a pause the next request is a new task."""


class Span(NamedTuple):
    """The messages of a task, and the message of the user that came after it."""

    messages: tuple[PlacedMessage, ...]
    after: PlacedMessage | None


def task_spans(messages: Sequence[PlacedMessage]) -> list[Span]:
    """The tasks of a session: every message is in exactly one."""
    tasks = [_Task()]
    for placed in messages:
        if placed.message.role == "user" and tasks[-1].ends_before(placed):
            tasks.append(_Task())
        tasks[-1].add(placed)
    following = [task.messages[0] for task in tasks[1:]]
    pairs = zip(tasks, [*following, None], strict=True)
    return [Span(tuple(task.messages), after) for task, after in pairs if task.messages]


class _Task:
    """A task as far as it was read: its messages, and the words that were spoken in it."""

    def __init__(self) -> None:
        self.messages: list[PlacedMessage] = []
        self._works = False
        self._spoken: set[str] = set()
        self._answers: deque[str] = deque(maxlen=2)

    def add(self, placed: PlacedMessage) -> None:
        message = placed.message
        self.messages.append(placed)
        self._works = self._works or _works(placed)
        if message.role == "user":
            self._spoken.update(_roots(plain_text(message)[:4_000]))
        elif message.role == "assistant" and (answer := plain_text(message)):
            self._answers.append(answer[-3_000:])
        for call in message.calls:
            self._spoken.update(_roots(call.arguments[:400]))

    def ends_before(self, placed: PlacedMessage) -> bool:
        """Whether a message of the user begins another task."""
        words = typed(plain_text(placed.message))
        if not self._works or len(words) < SHORT or _goes_on().match(words):
            return False
        last = self.messages[-1].message.at
        if last and placed.message.at - last > PAUSE:
            return True
        new = _roots(words) - self._spoken
        asked = len(_roots(words))
        return len(new.difference(*map(_roots, self._answers))) > NEW_WORDS * asked


def _roots(text: str) -> set[str]:
    return set(stem_all(query_terms(text)))


def _works(placed: PlacedMessage) -> bool:
    """Whether a message tells of work: a call, or an edit without one."""
    return bool(placed.message.calls) or any(one.kind != "tokens" for one in find_notices(placed))


@cache
def _goes_on() -> re.Pattern[str]:
    return re.compile(
        r"(?:ok(?:ay)?|yes|no|nope|yeah|sure|also|and|but|so|still|now|then|hmm+|sorry|wait|"
        r"actually|great|thanks|perfect|continue|instead|it|that|this|the (?:error|issue)|why|"
        r"what|how|can it|commit|push|remote:|error)\b"
        r"|(?:is|are|was|do|does|did|can|could|should|would|will) [^.?]{0,30}?"
        r"\b(?:this|it|that|these|those)\b",
        re.IGNORECASE,
    )
