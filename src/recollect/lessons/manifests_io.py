"""Read the scripts of a project's manifests, with the command of each.

package.json, composer.json, deno.json, Makefile, justfile, Taskfile, mise.toml and pyproject.toml
are read at the root, package.json also up to two folders below it.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from ..types.records import Json

LONGEST = 200_000
MOST_PACKAGES = 60
_SKIPPED = frozenset(("node_modules", "vendor", "dist", "build", "target", "venv"))


class Manifests(NamedTuple):
    """The commands of scripts by name; not `complete` if a manifest could not be read or there is
    none, so that a missing name proves nothing."""

    scripts: Mapping[str, str]
    complete: bool


def read(root: str) -> Manifests:
    """Read the manifests below a folder."""
    found: dict[str, str] = {}
    seen = False
    complete = True
    for path, parse in _manifests(root):
        try:
            with open(path, encoding="utf-8") as file:
                found |= parse(file.read(LONGEST))
            seen = True
        except (OSError, ValueError, RecursionError):
            complete = False
    for folder in ("mise-tasks", ".mise/tasks", ".mise-tasks"):
        found |= dict.fromkeys(_task_files(os.path.join(root, folder)), "")
    return Manifests(found, complete and seen)


def _manifests(root: str) -> Iterator[tuple[str, Callable[[str], dict[str, str]]]]:
    for name, parse in _PARSERS.items():
        if os.path.isfile(path := os.path.join(root, name)):
            yield path, parse
    for path in _packages(root):
        yield path, _json


def _packages(root: str) -> list[str]:
    """Return the package.json files one and two folders below the root."""
    found: list[str] = []
    folders = [root]
    for _ in range(2):
        folders = [below for folder in folders for below in _folders(folder)]
        found += [path for one in folders if os.path.isfile(path := f"{one}/package.json")]
    return found[:MOST_PACKAGES]


def _folders(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(
                entry.path
                for entry in entries
                if entry.name[0] != "."
                and entry.name not in _SKIPPED
                and entry.is_dir(follow_symlinks=False)
            )[:MOST_PACKAGES]
    except OSError:
        return []


def _task_files(folder: str) -> Iterator[str]:
    """Yield the names of tasks that are stored as files: `lint/go` is the task `lint:go`."""
    for place, _, names in os.walk(folder):
        inside = os.path.relpath(place, folder)
        for name in names:
            yield name if inside == "." else f"{inside.replace(os.sep, ':')}:{name}"


# ---------------------------------------------------------------- formats


def _json(text: str) -> dict[str, str]:
    given = json.loads(text)
    parts = (given.get("scripts"), given.get("tasks")) if isinstance(given, dict) else ()
    return {name: _script_command(body) for part in parts for name, body in _items(part)}


def _items(value: Json) -> Iterator[tuple[str, Json]]:
    if isinstance(value, dict):
        yield from ((str(name), body) for name, body in value.items())


def _script_command(body: Json) -> str:
    """Return the command of a script, in any form that manifests use."""
    if isinstance(body, dict):
        body = next((body[key] for key in ("run", "cmd", "shell", "command") if key in body), "")
    if isinstance(body, list):
        return " && ".join(str(one) for one in body if isinstance(one, str))
    return body if isinstance(body, str) else ""


def _toml(text: str) -> dict[str, str]:
    given = tomllib.loads(text)
    tool = given.get("tool", {})
    parts = [given.get("tasks"), given.get("project", {}).get("scripts")]
    parts += [tool.get("poe", {}).get("tasks"), tool.get("pdm", {}).get("scripts")]
    parts += [tool.get("taskipy", {}).get("tasks"), tool.get("poetry", {}).get("scripts")]
    for _, env in _items(tool.get("hatch", {}).get("envs")):
        parts.append(env.get("scripts") if isinstance(env, dict) else None)
    return {name: _script_command(body) for part in parts for name, body in _items(part)}


def _targets(text: str) -> dict[str, str]:
    """Return the targets of a Makefile or the recipes of a justfile, with their first line."""
    found: dict[str, str] = {}
    for match in re.finditer(
        r"^@?([A-Za-z][\w.-]*)(?:[ \t][^:=\n]*)?:(?![=:])[^\n]*\n(?:[ \t]+@?([^\n]+))?", text, re.M
    ):
        found.setdefault(match[1], (match[2] or "").strip())
    return found


def _taskfile(text: str) -> dict[str, str]:
    """Return the tasks of a Taskfile, by its indentation."""
    _, _, below = text.partition("\ntasks:")
    return {match[1]: "" for match in re.finditer(r"^  ['\"]?([\w:-]+)['\"]?:", below, re.M)}


_PARSERS: Mapping[str, Callable[[str], dict[str, str]]] = {
    "package.json": _json,
    "composer.json": _json,
    "deno.json": _json,
    "pyproject.toml": _toml,
    "mise.toml": _toml,
    ".mise.toml": _toml,
    "Makefile": _targets,
    "makefile": _targets,
    "GNUmakefile": _targets,
    "justfile": _targets,
    "Justfile": _targets,
    "Taskfile.yml": _taskfile,
    "Taskfile.yaml": _taskfile,
}
