"""Read the instruction files that an agent loads by itself, such as CLAUDE.md and AGENTS.md; add a
rule to one."""

from __future__ import annotations

import os

from ..text import display

LARGEST = 64 * 1024
"""Characters of one file that are compared; no agent loads more of them."""

_FILES = {
    "claude-code": ("CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md"),
    "codex": ("AGENTS.override.md", "AGENTS.md"),
    "gemini": ("GEMINI.md", ".gemini/GEMINI.md"),
    "opencode": ("AGENTS.md", "CLAUDE.md"),
    "cursor": ("AGENTS.md", ".cursorrules"),
    "copilot": ("AGENTS.md", ".github/copilot-instructions.md"),
}
_HOME_FILES = {
    "claude-code": (".claude/CLAUDE.md",),
    "codex": (".codex/AGENTS.md",),
    "gemini": (".gemini/GEMINI.md",),
    "opencode": (".config/opencode/AGENTS.md",),
}
"""Instruction files below the user's home."""

_RULE_FOLDERS = {"cursor": ".cursor/rules", "copilot": ".github/instructions"}
_MOST_RULES = 50
_MOST_IMPORTS = 20


def read(host: str, top: str, cwd: str, home: str) -> list[tuple[str, str]]:
    """Return the names and texts of the files that an agent loads; those of all agents if `host` is
    unknown."""
    hosts = (host,) if host in _FILES else tuple(_FILES)
    found: dict[str, str] = {}
    for folder in _folders(top, cwd):
        for one in hosts:
            for name in _FILES[one]:
                _add_file(found, os.path.join(folder, name), top)
        if "claude-code" in hosts and not any(
            os.path.basename(path) == "CLAUDE.md" for path in found
        ):
            _add_file(found, os.path.join(folder, "AGENTS.md"), top)
    for one in hosts:
        for name in _HOME_FILES.get(one, ()):
            _add_file(found, os.path.join(home, name), top)
        if one in _RULE_FOLDERS:
            for path in _rule_files(os.path.join(top, _RULE_FOLDERS[one])):
                _add_file(found, path, top)
    return [
        (os.path.relpath(path, top) if _is_below(path, top) else path, text)
        for path, text in found.items()
    ]


def changed_at(top: str, name: str) -> int:
    """Return when an instruction file was last changed, in microseconds; 0 when it is gone."""
    try:
        return int(os.path.getmtime(os.path.join(top, name)) * 1_000_000)
    except OSError:
        return 0


def _folders(top: str, cwd: str) -> list[str]:
    """Return the working tree's top and the folders from there to the current one."""
    found = [top]
    if _is_below(cwd, top):
        for part in os.path.relpath(cwd, top).split(os.sep):
            if part != os.curdir:
                found.append(os.path.join(found[-1], part))
    return found


def _is_below(path: str, top: str) -> bool:
    return path == top or path.startswith(top + os.sep)


def _rule_files(folder: str) -> list[str]:
    try:
        names = sorted(os.listdir(folder))[:_MOST_RULES]
    except OSError:
        return []
    return [os.path.join(folder, name) for name in names if name.endswith((".md", ".mdc"))]


def _add_file(found: dict[str, str], path: str, top: str) -> None:
    """Add a file and the files that it imports with `@path`."""
    # A FIFO or a device in a hostile repository would block or never end.
    if path in found or len(found) > _MOST_IMPORTS or not os.path.isfile(path):
        return
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read(LARGEST)
    except OSError:
        return
    found[path] = text
    if "@" not in text:
        return
    for word in text.split():
        if word.startswith("@") and ("/" in word or word.endswith(".md")):
            target = os.path.normpath(os.path.join(os.path.dirname(path), word[1:]))
            if _is_below(target, top):
                _add_file(found, target, top)


# ---------------------------------------------------------------- adding a rule

RULE_FILES = ("AGENTS.md", "CLAUDE.md")
"""The files that a confirmed rule can be added to."""
_HEADING = "## Rules"


def find_rule_files(top: str) -> list[str]:
    """Return the paths of a project's instruction files; AGENTS.md if it has none."""
    paths = [os.path.join(top, name) for name in RULE_FILES]
    found = [path for path in paths if os.path.isfile(path) and not os.path.islink(path)]
    return found or paths[:1]


def read_rule_file(path: str) -> str:
    """Return the text of an instruction file; empty without one."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return ""


def add_rule(text: str, rule: str) -> str:
    """Return the text of an instruction file with a rule at the end of its section of rules."""
    lines = text.rstrip("\n").split("\n") if text.strip() else []
    entry = f"- {display.format_line(rule)}"
    if entry in lines:
        return text
    if _HEADING not in lines:
        return "\n".join([*lines, *([""] if lines else []), _HEADING, "", entry, ""])
    start = lines.index(_HEADING)
    after = [at for at, line in enumerate(lines) if at > start and line.startswith("#")]
    end = after[0] if after else len(lines)
    while end > start + 1 and not lines[end - 1].strip():
        end -= 1
    gap = [""] if end == start + 1 else []
    return "\n".join([*lines[:end], *gap, entry, *lines[end:], ""])
