"""Open a memory: find the project, read the settings, pick the engine.

The only module that knows all engines: files, a server, or memory alone.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from types import ModuleType

from . import config
from .config import Settings
from .context import Context, new_id
from .errors import InvalidInput, Refused
from .fast_typing import TYPE_CHECKING
from .project import (
    Project,
    StoreRegistry,
    check_folder,
    find_project,
    make_folder,
    private_folder,
    user_directory,
    write_once,
)
from .storage.database import Database
from .storage.sqlite import SqliteDatabase
from .types.records import CALLER_ORIGINS

if TYPE_CHECKING:
    from .client import Recollect
    from .index.embedders_io import HttpEmbedder, StaticEmbedder


def open_memory(
    path: str | None,
    variables: Mapping[str, str],
    incognito: bool,
    origin: str,
    clock: Callable[[], int] | None,
) -> Recollect:
    """Open the memory of the project that `path` belongs to."""
    from .client import Recollect

    return Recollect(open_context(path, variables, incognito, origin, clock))


def open_context(
    path: str | None,
    variables: Mapping[str, str],
    incognito: bool,
    origin: str,
    clock: Callable[[], int] | None = None,
) -> Context:
    """Return the context of the project that `path` belongs to."""
    if origin not in CALLER_ORIGINS:
        raise InvalidInput.choice("origin", origin, CALLER_ORIGINS)
    if path is None:
        path = variables.get("RECOLLECT_PROJECT") or "."
    project = find_project(path)
    trusts_files = variables.get("RECOLLECT_TRUST") == "1"
    if project.doubt and not trusts_files:
        raise Refused(
            f"this project is not trusted: {project.doubt}",
            where=project.root,
            hint="make the files your own (chown), repair the link (git worktree repair), or set "
            "RECOLLECT_TRUST=1 where everything is yours",
        )
    user = user_directory(variables)
    settings = config.load_settings(project.root, user, variables)
    if incognito:
        settings = settings._replace(mode="incognito")
    stores = StoreRegistry(user, trusts_files)
    spaces = open_spaces(project, stores, user, settings)
    context = Context(project, settings, spaces, clock or _microseconds, origin)
    if settings.replica and settings.database and settings.mode != "incognito":
        from .storage.postgres.replica import ReadReplica

        context.replica = ReadReplica(settings.replica, spaces)
    context.environment = variables
    context.make_embedder = _embedder
    context.open_other = lambda place: open_memory(place, variables, incognito, origin, clock)
    context.load_repair = _load_repair
    context.open_engine = lambda url: open_spaces(
        project, stores, user, settings._replace(database=url)
    )
    return context


def _load_repair() -> ModuleType:
    from .storage import repair  # rarely needed

    return repair


def _embedder(settings: Settings) -> StaticEmbedder | HttpEmbedder | None:
    from .index import embedders_io

    return embedders_io.make_embedder(
        settings.embedder,
        settings.embedder_model,
        settings.embedder_dims,
        settings.embedder_key,
    )


def _microseconds() -> int:
    return time.time_ns() // 1000


def open_spaces(
    project: Project, stores: StoreRegistry, user: str, settings: Settings
) -> tuple[Database, Database]:
    """Return the project's space and the user's."""
    if not settings.enabled:
        raise Refused(
            "Recollect is switched off here",
            where=project.root,
            hint="the setting `enabled` in recollect.toml, your configuration or the environment",
        )
    check_folder(project.folder)
    if settings.mode == "incognito":
        return SqliteDatabase("", "project"), SqliteDatabase("", "user")
    if settings.database:
        return _open_on_server(project, user, settings)
    files = ((project.database, "project"), (os.path.join(user, "user.db"), "user"))
    project_space, user_space = (
        SqliteDatabase(path, kind, wait=settings.lock_wait, registry=stores) for path, kind in files
    )
    return project_space, user_space


def _open_on_server(project: Project, user: str, settings: Settings) -> tuple[Database, Database]:
    from .storage.postgres.database import PostgresDatabase

    url, wait = settings.database, settings.lock_wait
    # Not in the project's own directory: a repository could name the space of another project.
    project_name = settings.space or _read_space_name(private_folder(user, project.root), "project")
    return (
        PostgresDatabase(url, project_name, "project", wait=wait),
        PostgresDatabase(url, _read_space_name(user, "user"), "user", wait=wait),
    )


def _read_space_name(folder: str, kind: str) -> str:
    """Return the name of a space that is not shared: random, kept in a file of the folder."""
    path = os.path.join(folder, "space")
    if not os.path.exists(path):
        make_folder(folder)
        write_once(path, new_id(kind) + "\n")
    with open(path, encoding="utf-8") as file:
        return file.read().strip()
