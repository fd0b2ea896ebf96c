"""Where one task of a session ends and the next begins.

A request of the user begins a new task when work was done before it and it speaks of other
things, or comes after a long pause. Corrections, questions and short words go on with the task
they stand in. It decides from words and times alone, and does not know what an episode is.
"""

import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from .host_notices import notices
from .messages import Placed, said
from .outcomes import typed
from .terms import query_terms, stems

SHORT = 50
"""A message of fewer characters goes on with the task it stands in."""

NEW_WORDS = 0.7
"""The share of words nobody has spoken of that makes a request a new task."""

PAUSE = 6 * 3_600_000_000
"""After so long a pause the next request is a new task."""


class Span(NamedTuple):
    """The messages of a task, and the message of the user that came after it."""

    messages: tuple[Placed, ...]
    after: Placed | None


def task_spans(messages: Sequence[Placed]) -> list[Span]:
    """The tasks of a session: every message is in exactly one."""
    tasks: list[list[Placed]] = [[]]
    for placed in messages:
        if placed.message.role == "user" and _begins(placed, tasks[-1]):
            tasks.append([])
        tasks[-1].append(placed)
    following = [task[0] for task in tasks[1:]]
    pairs = zip(tasks, [*following, None], strict=True)
    return [Span(tuple(task), after) for task, after in pairs if task]


def _begins(placed: Placed, task: Sequence[Placed]) -> bool:
    """Whether a message of the user begins another task than the one before it."""
    if not any(map(_works, task)):
        return False
    words = typed(said(placed.message))
    if len(words) < SHORT or _goes_on().match(words):
        return False
    last = task[-1].message.at
    if last and placed.message.at - last > PAUSE:
        return True
    spoken: set[str] = set()
    for one in task:
        if one.message.role == "user":
            spoken.update(stems(query_terms(said(one.message)[:4_000])))
        for call in one.message.calls:
            spoken.update(stems(query_terms(call.arguments[:400])))
    answers = [said(one.message) for one in task if one.message.role == "assistant"]
    for answer in answers[-2:]:
        spoken.update(stems(query_terms(answer[-3_000:])))
    asked = set(stems(query_terms(words)))
    return len(asked - spoken) > NEW_WORDS * len(asked)


def _works(placed: Placed) -> bool:
    """Whether a message tells of work: a call, or an edit without one."""
    return bool(placed.message.calls) or any(one.kind != "tokens" for one in notices(placed))


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
