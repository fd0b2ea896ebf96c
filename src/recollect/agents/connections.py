"""How agents are connected to us: how we are started, and what `doctor` says about each."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

from ..errors import InvalidInput
from ..project import Project, private_folder, user_directory
from ..types import agents as types_agents
from ..types import records
from . import hook_log_io, registry
from .settings import plan_io
from .settings.entries import HookApproval

_RECENT = 50


def find_own_command() -> tuple[str, ...]:
    """How to start us from anywhere: absolute, because an agent's PATH may be anything.

    It should stay the same across releases: a changed command must be approved again."""
    program = os.path.abspath(sys.argv[0]) if sys.argv and sys.argv[0] else ""
    if os.path.basename(program) == "recollect" and os.access(program, os.X_OK):
        return (program,)
    beside = os.path.join(os.path.dirname(sys.executable), "recollect")
    if os.access(beside, os.X_OK):
        return (beside,)
    return (sys.executable, "-P", "-m", "recollect")


_TOOL_ENVIRONMENT_FILES = ("pipx_metadata.json", "uv-receipt.toml")
"""Files in the virtual environments that pipx and uv make for one program, and keep."""


def describe_unstable_install() -> str:
    """Say that our program is in a virtual environment that may be deleted; "" if it is not."""
    lasting = any(
        os.path.exists(os.path.join(sys.prefix, name)) for name in _TOOL_ENVIRONMENT_FILES
    )
    if lasting or sys.prefix == sys.base_prefix:
        return ""
    return (
        f"agents start {find_own_command()[0]}, which is in a virtual environment ({sys.prefix})\n"
        "If it is deleted or moved, agents work on without memory and report failed hooks.\n"
        "For a path that stays: `pipx install .` or `uv tool install .` in Recollect's source, "
        "then `recollect init`"
    )


def connect_agents(
    project: Project,
    environment: Mapping[str, str],
    agents: Sequence[str],
    scope: str,
    remove: bool,
    stamp: str,
) -> tuple[types_agents.SettingsChange, ...]:
    """What agents' settings would become; with a stamp, it is written, and backups bear it."""
    if scope not in ("user", "project"):
        raise InvalidInput(
            f"{scope!r} is not a scope",
            where="scope",
            hint="user or project; another directory is named with --project",
        )
    there = locate_settings(project, environment, scope)
    wanted = (agents,) if isinstance(agents, str) else tuple(agents)
    changes = plan_io.plan_changes(
        wanted or plan_io.detect_agents(there), there, find_own_command(), remove=remove
    )
    if stamp:
        plan_io.apply_changes(changes, find_backup_folder(environment), stamp.replace(":", ""))
        # In your home an empty folder says that the agent is there; in a repository, nothing.
        if remove and scope == "project":
            plan_io.drop_empty_folders(changes, project.root)
    return tuple(changes)


def find_backup_folder(environment: Mapping[str, str]) -> str:
    """The folder that keeps agents' settings as they were before we changed them."""
    return os.path.join(user_directory(environment), "backups", "agents")


def get_next_step(agent: str) -> str:
    """What the user has to do before an agent takes notice of a change."""
    return plan_io.NEXT_STEPS[agent]


def locate_settings(
    project: Project, environment: Mapping[str, str], scope: str
) -> plan_io.SettingsPlaces:
    """The places where agents keep their settings."""
    home = environment.get("HOME") or os.path.expanduser("~")
    return plan_io.SettingsPlaces(home, project.root, environment, scope)


def check_agents(project: Project, environment: Mapping[str, str]) -> list[records.Check]:
    """For each agent that is here: connected or not, firing or not, how often it failed."""
    user = user_directory(environment)
    fired = hook_log_io.read_runs((private_folder(user, project.root), user))
    seen = {firing.host for firing in fired}
    found = []
    connected = False
    for agent in registry.AGENTS_WITH_HOOKS:
        places = [
            change
            for scope in ("user", "project")
            for change in plan_io.plan_changes(
                (agent,),
                locate_settings(project, environment, scope),
                find_own_command(),
                remove=False,
            )
        ]
        here = agent in plan_io.detect_agents(locate_settings(project, environment, "user"))
        if here or agent in seen or any(change.state != "missing" for change in places):
            heard = [item for item in fired if item.host == agent][-_RECENT:]
            trusts = _load_approvals(agent, project, environment)
            found.append(_check_agent(agent, places, heard, trusts))
        connected = connected or any(change.state == "current" for change in places)
    if connected and (told := describe_unstable_install()):
        found.append(records.Check("program", True, told))
    return found


def _load_approvals(
    agent: str, project: Project, environment: Mapping[str, str]
) -> list[HookApproval]:
    """Whether the user approved our hooks, where the agent asks for that."""
    found = []
    for scope in ("user", "project"):
        try:
            found.append(plan_io.load_approval(agent, locate_settings(project, environment, scope)))
        except InvalidInput:
            continue  # the file that cannot be read is told of already
    return [trust for trust in found if trust]


def _check_agent(
    agent: str,
    places: list[types_agents.SettingsChange],
    heard: list[hook_log_io.HookRun],
    trusts: list[HookApproval],
) -> records.Check:
    """One line of what is, and a line more for each thing to be done."""
    failed = [item for item in heard if item.outcome != "ok"]
    told = [_describe_connection(places, bool(heard))]
    if trusts and all(trust.complete for trust in trusts):
        told.append("trusted")
    if heard:
        spent = sorted(item.milliseconds for item in heard)[len(heard) // 2]
        told += [f"last seen {heard[-1].at[:19]}", f"{spent} ms a hook"]
    elif not told[0].startswith("not connected"):
        told.append("no hook was heard yet")
    todo = []
    if any(change.state == "stale" for change in places):
        todo.append(
            "written by another version of recollect, or from another place: run recollect init"
        )
    if failed:
        kinds = ", ".join(sorted({item.outcome for item in failed}))
        todo.append(f"{len(failed)} of the last {len(heard)} hooks failed: {kinds}")
    # An agent whose hooks we hear runs them, whatever it noted.
    unsure = [one for one in trusts if not one.complete and not (heard and not one.approved)]
    todo += [f"{one.approved} of {one.wanted} hooks are approved: {one.step}" for one in unsure]
    wrong = [f"{change.path}: {change.error}" for change in places if change.error]
    # A failure that was followed by a success is history; the last one is what counts.
    ok = not (wrong or unsure or (heard and heard[-1].outcome != "ok"))
    ok = ok and all(change.state != "stale" for change in places)
    return records.Check(f"agent {agent}", ok, "\n".join([", ".join(told), *todo, *wrong]))


_PARTS = {"hooks and mcp": ("hooks", "mcp"), "plugin": ("hooks",)}


def _describe_connection(places: list[types_agents.SettingsChange], heard: bool) -> str:
    """Which of our two parts an agent has, in your settings or the project's."""
    states: dict[str, set[str]] = {}
    for change in places:
        for part in _PARTS.get(change.what, (change.what,)):
            states.setdefault(part, set()).add(change.state)
    there = [part for part, found in states.items() if found & {"current", "stale"}]
    if len(there) == len(states):
        return f"connected ({', '.join(there)})"
    if there:
        missing = ", ".join(part for part in states if part not in there)
        return f"connected ({', '.join(there)}; no {missing}: recollect init adds it)"
    # Its hooks came from elsewhere, or from settings that have been taken out since.
    return (
        "not in its settings: a plugin, or removed" if heard else "not connected (recollect init)"
    )
