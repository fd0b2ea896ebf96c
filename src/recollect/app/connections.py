"""How agents are connected to us: how we are started, and what `doctor` says about each."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

from .. import flows, hosts
from ..errors import InvalidInput
from ..places import Project, make_folder, own_folder, user_directory, write_once
from . import firings

_RECENT = 50


def command() -> tuple[str, ...]:
    """How to start us from anywhere: absolute, because an agent's PATH may be anything.

    It should stay the same across releases: a changed command must be approved again."""
    program = os.path.abspath(sys.argv[0]) if sys.argv and sys.argv[0] else ""
    if os.path.basename(program) == "recollect" and os.access(program, os.X_OK):
        return (program,)
    beside = os.path.join(os.path.dirname(sys.executable), "recollect")
    if os.access(beside, os.X_OK):
        return (beside,)
    return (sys.executable, "-P", "-m", "recollect")


def connect(
    project: Project,
    environment: Mapping[str, str],
    agents: Sequence[str],
    scope: str,
    remove: bool,
    stamp: str,
) -> tuple[flows.setup.Change, ...]:
    """What agents' settings would become; with a stamp, it is written, and backups bear it."""
    if scope not in ("user", "project"):
        raise InvalidInput(f"{scope!r} is not a scope", where="scope", hint="user or project")
    there = where(project, environment, scope)
    wanted = (agents,) if isinstance(agents, str) else tuple(agents)
    changes = flows.setup.plan(
        wanted or flows.setup.detected(there), there, command(), remove=remove
    )
    if stamp:
        backups = os.path.join(user_directory(environment), "backups", "agents")
        flows.setup.apply(changes, backups, stamp.replace(":", ""))
    return tuple(changes)


def http_token(environment: Mapping[str, str]) -> tuple[str, str]:
    """The token that a client over HTTP must bear, and the file it lies in; made once."""
    folder = user_directory(environment)
    path = os.path.join(folder, "http-token")
    if not os.path.exists(path):
        make_folder(folder)
        write_once(path, os.urandom(24).hex() + "\n")
    with open(path, encoding="utf-8") as file:
        return file.read().strip(), path


def next_step(agent: str) -> str:
    """What the user has to do before an agent takes notice of a change."""
    return flows.setup.NEXT_STEP[agent]


def where(project: Project, environment: Mapping[str, str], scope: str) -> flows.setup.Where:
    """The places where agents keep their settings."""
    home = environment.get("HOME") or os.path.expanduser("~")
    return flows.setup.Where(home, project.root, environment, scope)


def checks(project: Project, environment: Mapping[str, str]) -> list[flows.survey.Check]:
    """For each agent that is here: connected or not, firing or not, how often it failed."""
    user = user_directory(environment)
    fired = firings.latest((own_folder(user, project.root), user))
    seen = {firing.host for firing in fired}
    found = []
    for agent in hosts.HOOKED:
        places = [
            change
            for scope in ("user", "project")
            for change in flows.setup.plan(
                (agent,), where(project, environment, scope), command(), remove=False
            )
        ]
        here = agent in flows.setup.detected(where(project, environment, "user"))
        if here or agent in seen or any(change.state != "missing" for change in places):
            told = _check(agent, places, [item for item in fired if item.host == agent])
            found.append(_with_trust(told, agent, project, environment))
    return found


def _with_trust(
    told: flows.survey.Check, agent: str, project: Project, environment: Mapping[str, str]
) -> flows.survey.Check:
    """What was found, and whether the user approved our hooks where the agent asks for that."""
    for scope in ("user", "project"):
        try:
            trust = flows.setup.trust(agent, where(project, environment, scope))
        except InvalidInput:
            continue  # the file that cannot be read is told of already
        if trust and not trust.complete:
            said = f"{trust.approved} of {trust.wanted} hooks are approved: {trust.step}"
            told = told._replace(ok=False, detail=f"{told.detail}\n{said}")
        elif trust:
            told = told._replace(detail=told.detail.replace("current", "current, trusted", 1))
    return told


def _check(
    agent: str, places: list[flows.setup.Change], fired: list[firings.Firing]
) -> flows.survey.Check:
    states = {change.state for change in places} - {"missing"}
    told = ", ".join(sorted(states)) if states else "not connected (recollect init)"
    recent = fired[-_RECENT:]
    failed = [item for item in recent if item.outcome != "ok"]
    if recent:
        spent = sorted(item.milliseconds for item in recent)[len(recent) // 2]
        told += f"; last seen {recent[-1].at[:19]}, {spent} ms in the middle"
    elif states:
        told += "; never heard of yet"
    if failed:
        kinds = ", ".join(sorted({item.outcome for item in failed}))
        told += f"\n{len(failed)} of the last {len(recent)} hooks failed: {kinds}"
    wrong = [change.error for change in places if change.error]
    told += "".join(f"\n{error}" for error in wrong)
    # A failure that was followed by a success is history; the last one is what counts.
    ok = not wrong and "stale" not in states and not (recent and recent[-1].outcome != "ok")
    return flows.survey.Check(f"agent {agent}", ok, told)
