"""Operations on the store itself and its connections: init, stats, verify, backup, doctor."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ..agents import operations as agents_operations
from ..context import Context, new_id
from ..errors import StoreError
from ..index import steps as index_steps
from ..lessons import steps as lessons_steps
from ..memory import operations as memory_operations
from ..project import find_project, mark_project, stores_below
from ..recall import operations as recall_operations
from ..recall import steps_reindex as recall_steps_reindex
from ..text import display
from ..types import agents, records
from . import steps


def initialise(
    context: Context,
    agent: Sequence[str] = (),
    scope: str = "user",
    yes: bool = False,
    check: bool = False,
    remove: bool = False,
    print: bool = False,
    import_: bool = False,
) -> agents.Initialised:
    """Give this project a memory of its own, and connect the agents on this machine to it.

    agent: only this agent: claude-code, codex, gemini, opencode or cursor (repeat for several);
        without it, all that are found
    scope: user (your own settings, for all projects) or project (the repository's)
    yes: write the agents' settings without asking; a backup of each file is kept
    check: change nothing, say whether all is connected
    remove: take our entries out of the agents' settings; the memory stays
    print: change nothing, show what would be written
    import_: also bring this project's past conversations into the archive

    Example: recollect init
    Example: recollect init --yes --import
    Example: recollect init --agent claude-code --yes
    Example: recollect init --remove --yes
    """
    from ..agents import connections

    write = yes and not (check or print)
    stamp = display.format_time(context.clock())
    changes = connections.connect_agents(
        context.project, context.environment, agent, scope, remove, ""
    )
    # A store that is refused ends it here: no agent's settings are written.
    created = not (check or print or remove) and _make_project(context)
    if write:
        changes = connections.connect_agents(
            context.project, context.environment, agent, scope, remove, stamp
        )
    imported, past = None, 0
    if not (check or print or remove):
        imported = agents_operations.import_transcripts(context) if import_ else None
        past = 0 if import_ else agents_operations.unread(context)
    return agents.Initialised(
        context.project.root,
        context.project.database,
        created,
        changes,
        write,
        check,
        stores_below(find_project(context.project.root)),
        past,
        imported,
        remove,
        os.path.exists(context.project.database),
        connections.find_backup_folder(context.environment),
        warning=connections.describe_unstable_install() if changes and not remove else "",
    )


def _make_project(context: Context) -> bool:
    created = not os.path.exists(context.project.database)
    if context.settings.mode != "incognito":
        mark_project(context.project)
    context.project_space.write(lambda tx: tx.one("SELECT 1"))
    return created


def stats(context: Context) -> steps.Stats:
    """Counts of everything that is kept, by kind, layer and status.

    Example: recollect stats --json
    """
    memory_operations.write_recalls(context)
    now = context.clock()
    found = steps.collect_stats(context.project_space, context.user_space, now)
    told = context.project_space.read(lambda tx: lessons_steps.state(tx, now))
    return found._replace(consolidation=told)


def rebuild(context: Context, missing: bool = False) -> steps.RebuildResult:
    """Make the search index again from what is stored: words, then meaning.

    Nothing else changes, and everything is found meanwhile.

    missing: only the vectors that are not made yet

    Example: recollect rebuild
    Example: recollect rebuild --missing
    """
    for space in context.present_spaces():
        space.refit()
    indexed = (
        0
        if missing
        else recall_operations.reindex_spaces(
            context, context.present_spaces(), recall_steps_reindex.rebuild_index
        )
    )
    made = recall_operations.make_vectors(context)
    embedder = context.embedder()
    return steps.RebuildResult(indexed, made, embedder.id if embedder else "")


def backup(context: Context, path: str) -> steps.BackedUp:
    """Write a whole copy of the project's store to a new file, safely while others write.

    path: the new file; an existing one is never overwritten

    Example: recollect backup ~/memory-copy.db
    """
    target = os.path.abspath(os.path.expanduser(path))
    return steps.BackedUp(target, context.project_space.backup(target))


def adopt(context: Context, trust: bool = False) -> steps.Adopted:
    """Make the project's store yours when it was made elsewhere: by a backup, or by a stranger.

    trust: it is your own: all of it stays in force; without it, its memories are kept in
        quarantine until you confirm them

    Example: recollect adopt
    Example: recollect adopt --trust
    """
    return steps.adopt_store(context.project_space, context.project.database, trust, context.origin)


def doctor(context: Context) -> steps.Diagnosis:
    """Prove that a write can be read back, and say what is degraded.

    Example: recollect doctor
    """
    spaces = {"project": context.project_space, "user": context.user_space}
    from ..agents import connections

    found = steps.examine_spaces(spaces, context.settings.mode, new_id("check"), context.clock())
    checks = (*found.checks, *connections.check_agents(context.project, context.environment))
    checks += _search_checks(context)
    checks += _consolidation_checks(context)
    checks += tuple(
        records.Check("stores below", False, f"not used, as it belongs to this project: {path}")
        for path in stores_below(context.project)
    )
    return steps.Diagnosis(all(check.ok for check in checks), checks)


def _consolidation_checks(context: Context) -> tuple[records.Check, ...]:
    """Whether what happened becomes what is known."""
    space, now = context.project_space, context.clock()
    try:
        examined = space.read(lambda tx: lessons_steps.examined(tx, now))
    except StoreError:
        return ()  # the store's own check says why
    return (examined,)


def _search_checks(context: Context) -> tuple[records.Check, ...]:
    """Whether things are found by meaning, and what is in the way."""
    try:
        held = [space.read(index_steps.measure_coverage) for space in context.present_spaces()]
    except StoreError as error:
        return (records.Check("meaning", False, str(error)),)
    return (steps.check_embedder(context.embedder(), held),)
