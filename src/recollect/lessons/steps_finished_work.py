"""Settle: when work is over, read its episodes and let them teach.

Episodes are read out of conversations that ended, or in which nobody spoke for an hour; then
consolidation runs, if it is due or a task was just completed. It runs beside the agent or at the
end of a task, never in a hook. Whoever finds another one at it leaves it to them.
"""

from __future__ import annotations

from typing import NamedTuple

from ..archive.steps_sessions import IDLE_AFTER
from ..episodes import steps as episodes_steps
from ..errors import RecollectError
from ..storage.database import Database
from . import steps, steps_observed


class Settled(NamedTuple):
    """What came of it; `note` says why nothing was consolidated."""

    built: episodes_steps.Built = episodes_steps.Built(0, 0, 0, 0)
    lessons: tuple[steps.Line, ...] = ()
    note: str = ""


def settle(
    space: Database,
    owner: str,
    means: steps.Means,
    learn: episodes_steps.Learn,
    task_done: bool = False,
) -> Settled:
    """Read episodes of what is over, and consolidate weekly; after a task, of all and at once."""
    if not space.present():
        return Settled()
    quiet_since = 0 if task_done else means.clock() - IDLE_AFTER
    built = episodes_steps.build(space, "", means.clock, quiet_since, learn)
    if built.sessions:
        space.write(lambda tx: steps_observed.propose_workflows(tx, means.clock(), means.new_id))
    # What a person took back is not forced on them again before it is due.
    weekly = not task_done or space.read(steps.was_undone)
    if why := space.read(lambda tx: steps.resting(tx, means.clock())):
        return Settled(built, note=why)
    try:
        done = steps.run(space, owner, means, only_if_due=weekly)
    except RecollectError as error:
        # Somebody else consolidates, or has changed a memory meanwhile: there is a next time. What
        # failed is noted with the job, and what was done before stands.
        return Settled(built, note=error.message)
    return Settled(built, done.lines, done.note)


def told(settled: Settled) -> tuple[str, ...]:
    """What was learned, in lines; that episodes grow old is no lesson."""
    return tuple(
        f"{one.sign} {one.text}" for one in settled.lessons if not one.what.startswith("e-")
    )
