"""Find a command by its words; render help, the manual page and suggestions.

All texts come from the table of operations and the docstrings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..errors import InvalidInput
from ..operation_table import EVERYDAY, SHORT_COMMANDS
from . import commands
from .commands import COMMANDS, load_summary
from .screens import style

_TITLE = "recollect: the memory that coding agents share"

_CHAT_COMMANDS = ("list", "search", "show", "stats", "prune", "confirm", "capture list")
"""Commands of `/memory …` that its help names; `search` is a short form of `recall`."""


def render_overview() -> str:
    """Return the short help: the everyday commands, on one screen."""
    lines = [style.paint("title", _TITLE), ""]
    for name in EVERYDAY:
        lines += style.render_entry(name, load_summary(name), start=9)
    lines += ["", *style.hints(*_MORE), ""]
    lines += style.fill(
        "Every command takes -j/--json, -C/--project DIR, --incognito and --no-ltm."
    )
    return "\n".join(lines)


_MORE = (
    ("recollect COMMAND -h", "options and examples of a command"),
    ("recollect help --all", "all commands, by group"),
    ("recollect demo", "see it work, in a throw-away project"),
)


def render_all() -> str:
    """Return all commands by group; the groups are those of the Python API."""
    lines = [style.paint("title", _TITLE)]
    for group, names in group_commands().items():
        about = {"": "everyday", "mem": "more (on mem itself in Python)"}.get(group)
        about = about or f"{group} (mem.{group} in Python)"
        lines += ["", style.paint("title", about)]
        for name in names:
            lines += style.render_entry(name, load_summary(name), start=17)
    aliases: dict[str, list[str]] = {}
    for short, name in SHORT_COMMANDS.items():
        aliases.setdefault(name, []).append(short)
    lines += ["", style.paint("title", "other names")]
    for name, shorts in aliases.items():
        lines.append(f"  {', '.join(shorts):<17} {name}")
    lines += [
        "",
        "Options of all commands: -j/--json, -C/--project DIR, --incognito, --no-ltm, -h/--help",
    ]
    return "\n".join(lines)


def group_commands() -> Mapping[str, Sequence[str]]:
    """Return all commands by the group of their Python name; the verbs of `mem` itself first."""
    groups: dict[str, list[str]] = {"": list(EVERYDAY), "mem": []}
    for name, row in COMMANDS.items():
        group = row.name.partition(".")[0] if "." in row.name else "mem"
        listed = groups.setdefault(group, [])
        if name not in EVERYDAY:
            listed.append(name)
    return {group: names for group, names in groups.items() if names}


def render_group_help(words: list[str]) -> str:
    """Return the help of a group (`session --help`, `memory help`); "" for other words."""
    if len(words) != 2 or words[1] not in ("--help", "-h", "help"):
        return ""
    name = words[0]
    of_chat = _CHAT_COMMANDS if name == "memory" else ()
    aliases = {f"{name} {alias}": SHORT_COMMANDS.get(alias, alias) for alias in of_chat}
    known = {one: one for one in COMMANDS if one.startswith(name + " ")} | aliases
    if name in COMMANDS or not known:
        return ""
    lines = [f"usage: recollect {name} SUBCOMMAND …", ""]
    for shown, command in known.items():
        lines += style.render_entry(shown, load_summary(command), start=20)
    lines += ["", "All other commands work here too."] if aliases else []
    return "\n".join([*lines, "", f"Help for one: recollect help {next(iter(known.values()))}"])


def find_command(words: list[str]) -> tuple[str, list[str]]:
    """Return the command at the start of the words, and the words after it; `status` without one.

    Options that all commands share may come before it.
    """
    rest: list[str] = []
    while words and words[0].startswith("-") and len(words[0]) > 1:
        taken = 2 if words[0] in ("--project", "-C") else 1
        rest += words[:taken]
        words = words[taken:]
    if rest and not words:
        return "status", rest  # `recollect -C DIR`, `recollect --json`
    if words[:1] == ["memory"] and " ".join(words[:2]) not in COMMANDS:
        words = words[1:]
        if not words:
            hint = f"such as: {', '.join(_CHAT_COMMANDS)}"
            raise InvalidInput("memory needs a subcommand", where="memory", hint=hint)
    for length in (2, 1):
        command = " ".join(words[:length])
        command = SHORT_COMMANDS.get(command, command)
        if len(words) >= length and command in COMMANDS:
            after = [word for word in words[1:3] if not word.startswith("-")]
            if command == "review" and len(after) == 2:
                command = "review answer"  # `review ID keep`
            return _expand_plot(command, rest + words[length:])
    raise unknown_command(words)


def _expand_plot(command: str, words: list[str]) -> tuple[str, list[str]]:
    """Turn `stats --plot FILE` into `stats plot FILE`, which a model is not offered."""
    place = next((at for at, word in enumerate(words) if word.startswith("--plot")), -1)
    if place < 0 or command not in ("stats", "eval"):
        return command, words
    _, given, path = words[place].partition("=")
    return f"{command} plot", [*words[:place], *([path] if given else []), *words[place + 1 :]]


_SUGGESTIONS = {
    "remove": "hide",
    "delete": "hide",
    "export": "session export",
    "settings": "config list",
    "log": "seen",
    "stop": "pause",
    "start": "init",
    "size": "sizes",
    "setup": "init",
    "query": "recall",
}
"""Commands to suggest for words that are not similar to them."""


def unknown_command(words: list[str]) -> InvalidInput:
    """Return the error for an unknown command, with a suggestion."""
    group = [name for name in COMMANDS if words and name.startswith(words[0] + " ")]
    given = " ".join(words[:2]) if group else " ".join(words[:1])
    if group and len(words) == 1:
        return InvalidInput(f"{given} needs a subcommand", hint=f"one of: {', '.join(group)}")
    from difflib import get_close_matches

    known = group or [*COMMANDS, *SHORT_COMMANDS]
    near = [_SUGGESTIONS[given]] if given in _SUGGESTIONS else []
    near = near or get_close_matches(" ".join(words[:2]), known, 1, 0.8)
    near = near or get_close_matches(given, known, 1)
    meant = f"; did you mean {near[0]!r}?" if near else ""
    return InvalidInput(
        f"unknown command {given!r}{meant}" if given else "missing command",
        hint=f"one of: {', '.join(group)}" if group else "all commands: recollect help --all",
    )


# ---------------------------------------------------------------- the manual page


def render_manual(version: str) -> str:
    """Return the manual page in roff: `recollect help --man | man -l -`."""
    lines = [
        f'.TH RECOLLECT 1 "" "recollect {version}" "User Commands"',
        ".SH NAME",
        "recollect \\- the memory that coding agents share",
        ".SH SYNOPSIS",
        ".B recollect",
        "[COMMAND] [ARGUMENTS] [OPTIONS]",
        ".SH DESCRIPTION",
        "Without a command,",
        ".B recollect",
        "shows the status of the project. Words of a text need no quotes:",
        ".B recollect recall redis port",
        "searches for both words. Ids can be shortened to any unique prefix.",
    ]
    for group, names in group_commands().items():
        lines.append(f".SH {(group or 'everyday').upper()} COMMANDS")
        for name in names:
            usage = commands.render_usage(commands.load_command(name))
            lines += [".TP", f".B {_roff(usage)}", _roff(load_summary(name))]
    options = {commands.render_option(one): one.help for one in commands.COMMON_OPTIONS}
    for title, rows in (("OPTIONS OF ALL COMMANDS", options), ("ENVIRONMENT", _MANUAL_VARIABLES)):
        lines.append(f".SH {title}")
        for name, about in rows.items():
            lines += [".TP", f".B {_roff(name)}", about]
    return "\n".join([*lines, *_MANUAL_END]) + "\n"


def _roff(text: str) -> str:
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("…", "...")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped


_MANUAL_VARIABLES = {
    "RECOLLECT_HOME": "The folder of your own memory and settings.",
    "RECOLLECT_PROJECT": "The directory of the project, in place of the current one.",
    "RECOLLECT_PAGER, PAGER": (
        "The program that shows long output at a terminal; cat switches it off."
    ),
    "NO_COLOR, FORCE_COLOR": "Print no colours, or print them into a pipe too.",
    "VISUAL, EDITOR": "The editor of recollect edit.",
}
_MANUAL_END = (
    ".PP",
    "Every setting has a variable too: recollect config list.",
    ".SH EXIT STATUS",
    "0: done. 1: a check failed, or the system refused. 2: an invalid argument. 3: not found. "
    "4: a conflict. 5: refused. 6: a wrong setting. 7: a prompt cannot be made to fit. "
    "8: something is missing. 10 to 16: the store cannot be used. 130: interrupted.",
)
