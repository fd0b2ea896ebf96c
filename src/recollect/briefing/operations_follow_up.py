"""Operations that follow up what was shown."""

from __future__ import annotations

from ..context import Context
from . import steps_follow_up


def follow_up(context: Context, session: str) -> int:
    """Judge what was shown in a session that is over; return how many lines could be judged."""
    space = context.project_space
    if not space.present():
        return 0
    root, now = context.top, context.clock()
    return space.write(lambda tx: steps_follow_up.judge_session(tx, session, root, now))
