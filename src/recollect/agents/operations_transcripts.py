"""Import agents' transcripts: find those of this project or of all, and import each into its own
project."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

from ..context import Context
from ..errors import InvalidInput, NotFound, RecollectError
from ..fast_typing import TYPE_CHECKING
from ..freshness import git_io
from ..project import find_project
from ..types import reports, trust
from . import operations_import_project, registry, steps_import
from .transcripts import find_io

if TYPE_CHECKING:
    from .transcripts.reader_io import Transcript


def import_transcripts(
    context: Context,
    path: Sequence[str] = (),
    agent: str = "",
    all: bool = False,
    from_: str = "",
) -> reports.Imported:
    """Read the past conversations of your agents and learn from them.

    path: transcripts, or folders of them; by default those of this project are found. Files outside
        an agent's own folder are quarantined until you accept them with `recollect review`
    agent: only transcripts of this agent (or the agent that wrote PATH, if it is not recognised):
        claude-code, codex, gemini, opencode, cursor, copilot, specstory, aider, clio or messages
    all: those of every project on this machine, each into its own memory (only a person)
    from_: also those of another directory, where this project was before (only a person)

    Example: recollect import
    Example: recollect import --from ~/old/place
    Example: recollect import ~/.codex/sessions --agent codex
    Example: recollect import monday.jsonl tuesday.jsonl
    """
    if agent and agent not in registry.AGENT_NAMES:
        raise InvalidInput(
            f"unknown agent {agent!r}",
            where="agent",
            hint=f"one of: {', '.join(registry.AGENT_NAMES)}",
        )
    if from_ and (all or path):
        raise InvalidInput("--from cannot be combined with --all or a path", where="from")
    skipped: dict[str, str] = {}
    if all:
        return _import_all(context, agent, skipped)
    if places := [os.path.abspath(os.path.expanduser(one)) for one in path if one]:
        found, others = _find_given(context, places, agent, skipped)
        machine = _discover_hosts(context, {item.host for item in found})
    else:
        machine = list(find_io.discover(context, agent, {}, everywhere=True))
        found = find_io.select_of_project(context, find_io.discover(context, agent, skipped))
        others = _find_new_projects(context, machine)
        if from_:
            found = _dedupe(found + _find_in_former(context, agent, from_, skipped))
    foreign = _find_foreign(context, found, machine)
    done = operations_import_project.import_into(context, found, foreign)
    return _combine([done], skipped)._replace(
        others={root: len(items) for root, items in sorted(others.items())}
    )


def _find_given(
    context: Context, places: Sequence[str], agent: str, skipped: dict[str, str]
) -> tuple[list[Transcript], dict[str, list[Transcript]]]:
    """Return the transcripts at places that the user named, and those of other projects."""
    found: list[Transcript] = []
    of_projects: list[Transcript] = []
    for place in places:
        here = list(find_io.list_given(place, agent, skipped))
        found += here
        of_projects += (item for item in here if find_io.has_known_project(item, place))
    # A file that is named itself is imported here; those in a folder go to their own projects.
    others = _group_others(context, (item for item in of_projects if item.path not in places))
    of_others = {(item.path, item.session) for items in others.values() for item in items}
    kept = [item for item in found if (item.path, item.session) not in of_others]
    return _dedupe(kept), others


def _dedupe(found: Iterable[Transcript]) -> list[Transcript]:
    return list({(item.path, item.session): item for item in found}.values())


def count_unread(context: Context) -> int:
    """Count the conversations of this project that were not read yet."""
    found = find_io.select_of_project(context, find_io.discover(context, "", {}))
    if not context.project_space.present():
        return len(found)
    return context.project_space.read(lambda tx: steps_import.count_unread(tx, found))


_NEWEST_READ = 5
_FEWEST_FILES = 3
_LEAST_SHARE = 1 / 3


def find_former_places(context: Context) -> dict[str, int]:
    """Return other directories that this project seems to have been in, each with the number of its
    unread conversations: clones without a memory of their own, and directories that are gone while
    the files that the newest conversations name are here."""
    places: dict[str, list[Transcript]] = {}
    roots = find_io.ProjectRoots()
    for item in find_io.discover(context, "", {}, everywhere=True):
        if cwd := find_io.find_cwd(item):
            root = roots[cwd] or cwd
            places.setdefault(root, []).append(item)
    places.pop(context.project.root, None)
    if not places:
        return {}
    identity = git_io.read_identity(context.project.root)
    former = {
        root: items
        for root, items in places.items()
        if _is_former(context.project.root, identity, root, items)
    }
    unread = context.project_space.read(
        lambda tx: {root: steps_import.count_unread(tx, items) for root, items in former.items()}
    )
    return {root: number for root, number in sorted(unread.items()) if number}


def _is_former(here: str, identity: frozenset[str], root: str, items: Sequence[Transcript]) -> bool:
    if os.path.isdir(root):
        has_memory = os.path.exists(find_project(root).database)
        return not (has_memory or git_io.read_identity(root).isdisjoint(identity))
    newest = sorted(items, key=lambda one: -one.modified)[:_NEWEST_READ]
    named = {name for item in newest for name in find_io.find_named_files(item.path, root)}
    present = sum(os.path.isfile(os.path.join(here, name)) for name in named)
    return present >= max(_FEWEST_FILES, _LEAST_SHARE * len(named))


def _find_in_former(
    context: Context, agent: str, place: str, skipped: dict[str, str]
) -> list[Transcript]:
    """Return the transcripts of a directory where the project was before."""
    _check_person(context, "from")
    folder = os.path.abspath(os.path.expanduser(place))
    every = find_io.discover(context, agent, skipped, everywhere=True)
    found = [one for one in every if find_io.is_at_or_below(find_io.find_cwd(one), (folder,))]
    if not found:
        raise NotFound("no agent has a conversation of this directory", where=folder)
    return found


def _check_person(context: Context, option: str) -> None:
    trust.require_person(
        context.origin,
        "import conversations of other directories",
        where=option,
        hint=f"the user can run `recollect import --{option}` at a terminal; without it this "
        "project's conversations are imported",
    )


def _combine(
    done: Sequence[operations_import_project.ImportedProject], skipped: Mapping[str, str]
) -> reports.Imported:
    """Combine the results of several projects into one."""
    transcripts = [item for one in done for item in one.transcripts]
    sums = [sum(values) for values in zip(*(one.results for one in done), strict=True)]
    results = reports.ImportResults(*sums) if sums else reports.ImportResults()
    return reports.Imported(
        messages=sum(item.messages for item in transcripts),
        known=sum(item.known for item in transcripts),
        sessions=len({session for item in transcripts for session in item.sessions}),
        transcripts=tuple(transcripts),
        passed_over=skipped,
        captured=tuple(
            one for item in transcripts for one in item.captured if one.action != "skipped"
        ),
        results=results,
        vectors_left=sum(one.vectors_left for one in done),
        lessons_left=sum(one.lessons_left for one in done),
    )


# ---------------------------------------------------------------- which transcripts


def _discover_hosts(context: Context, hosts: Iterable[str]) -> list[Transcript]:
    """Return the transcripts of these agents on this machine."""
    return [item for host in hosts for item in find_io.discover(context, host, {}, everywhere=True)]


def _find_foreign(
    context: Context, found: Sequence[Transcript], machine: Iterable[Transcript]
) -> frozenset[str]:
    """Return the paths of untrusted transcripts: all outside the folder of their agent, and all in
    the project, which may have come with it.

    machine: the transcripts of these agents on this machine, each in its agent's folder
    """
    root = os.path.join(os.path.realpath(context.project.root), "")
    hosts = {item.host for item in found}
    in_own_folders = {item.path for item in machine if item.host in hosts}
    return frozenset(
        item.path
        for item in found
        if item.path not in in_own_folders or os.path.realpath(item.path).startswith(root)
    )


def _group_others(context: Context, found: Iterable[Transcript]) -> dict[str, list[Transcript]]:
    """Return the transcripts of other projects on this machine, grouped by project root."""
    others: dict[str, list[Transcript]] = {}
    roots = find_io.ProjectRoots()
    for item in found:
        root = roots[find_io.find_cwd(item)]
        if root and root != context.project.root:
            others.setdefault(root, []).append(item)
    return others


def _find_new_projects(
    context: Context, machine: Iterable[Transcript]
) -> dict[str, list[Transcript]]:
    """Return the conversations about projects that have no memory yet, by their roots."""
    others = _group_others(context, machine)
    return {
        root: items
        for root, items in others.items()
        if not os.path.exists(find_project(root).database)
    }


def _import_all(context: Context, agent: str, skipped: dict[str, str]) -> reports.Imported:
    _check_person(context, "all")
    places: dict[str, list[Transcript]] = {}
    roots = find_io.ProjectRoots()
    machine = list(find_io.discover(context, agent, skipped, everywhere=True))
    for item in machine:
        cwd = find_io.find_cwd(item)
        if root := roots[cwd]:
            places.setdefault(root, []).append(item)
        else:
            gone = f"its directory does not exist: {cwd}"
            skipped[item.path] = gone if cwd else "it does not name its directory"
    done = []
    for root, items in sorted(places.items()):
        try:
            memory = context.open_other(root)
            with memory:
                memory.progress = context.progress
                foreign = _find_foreign(memory.context, items, machine)
                done.append(operations_import_project.import_into(memory.context, items, foreign))
        except RecollectError as error:
            skipped[root] = str(error)
    return _combine(done, skipped)
