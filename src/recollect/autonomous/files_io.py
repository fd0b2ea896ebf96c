"""Files of the pipeline: the three outputs in the project's folder, and the prompts.

The user's configuration can replace a prompt by a file of the same name; a repository cannot.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping

from ..errors import ConfigError, Refused
from ..project import make_folder, write_private
from . import prompts

MEMORY, SUMMARY, SKILLS = "MEMORY.md", "memory_summary.md", "skills"
_MARK = ".recollect"
_LARGEST = 5_000_000


def load_prompt(name: str, user_folder: str) -> str:
    """Return a prompt: the user's file prompts/memories/NAME, or ours."""
    own = os.path.join(user_folder, "prompts", "memories", name)
    path = own if os.path.isfile(own) else os.path.join(os.path.dirname(__file__), "prompts", name)
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(_LARGEST)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"the prompt cannot be read: {error}", where=path) from error
    for placeholder in prompts.PLACEHOLDERS[name]:
        if f"{{{{{placeholder}}}}}" not in text:
            raise ConfigError(
                f"the prompt lacks {{{{{placeholder}}}}}",
                where=path,
                hint="add it, or remove the file",
            )
    return text


def read_memory(folder: str) -> str | None:
    """Return MEMORY.md as it is on disk; None without one."""
    path = _inside(folder, MEMORY)
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(_LARGEST)
    except FileNotFoundError:
        return None


def set_aside(folder: str) -> str:
    """Rename a MEMORY.md that we did not write; return its new path."""
    path, number = _inside(folder, MEMORY), 1
    while os.path.lexists(f"{path}.found-{number}"):
        number += 1
    os.rename(path, f"{path}.found-{number}")
    return f"{path}.found-{number}"


def write_outputs(folder: str, memory: str, summary: str, skills: Mapping[str, str]) -> list[str]:
    """Write each output atomically, and remove skills of ours that are not among them; return the
    names of the removed ones."""
    make_folder(folder)
    write_private(_inside(folder, MEMORY), memory)
    write_private(_inside(folder, SUMMARY), summary)
    root = _inside(folder, SKILLS)
    for name, text in skills.items():
        place = _inside(folder, os.path.join(SKILLS, name))
        os.makedirs(place, mode=0o700, exist_ok=True)
        write_private(os.path.join(place, _MARK), "")
        write_private(os.path.join(place, "SKILL.md"), text)
    stale = [name for name in _own_skills(root) if name not in skills]
    for name in stale:
        _remove_skill(os.path.join(root, name))
    return stale


def remove_outputs(folder: str) -> list[str]:
    """Remove the outputs; return their paths, relative to the folder."""
    removed = list_outputs(folder)
    for name in removed:
        path = _inside(folder, name)
        if name.startswith(f"{SKILLS}/"):
            _remove_skill(path)
        else:
            os.unlink(path)
    return removed


def list_outputs(folder: str) -> list[str]:
    """Return the paths of the existing outputs, relative to the folder."""
    found = [name for name in (MEMORY, SUMMARY) if os.path.isfile(os.path.join(folder, name))]
    return found + [f"{SKILLS}/{name}" for name in _own_skills(os.path.join(folder, SKILLS))]


def _own_skills(root: str) -> list[str]:
    """Return the skills that we wrote: their folders hold our mark."""
    if not os.path.isdir(root) or os.path.islink(root):
        return []
    return sorted(
        name for name in os.listdir(root) if os.path.isfile(os.path.join(root, name, _MARK))
    )


def _remove_skill(place: str) -> None:
    """Remove a skill's folder; files that a person added to it stay."""
    for name in ("SKILL.md", _MARK):
        path = os.path.join(place, name)
        if os.path.lexists(path):
            os.unlink(path)
    if not os.listdir(place):
        shutil.rmtree(place)


def _inside(folder: str, name: str) -> str:
    """Return a path inside the folder; raise Refused if a link leads elsewhere."""
    path = os.path.join(folder, name)
    parts = name.split(os.sep)
    for count in range(1, len(parts) + 1):
        if os.path.islink(os.path.join(folder, *parts[:count])):
            raise Refused("a link would lead outside of the folder", where=path, hint="remove it")
    return path
