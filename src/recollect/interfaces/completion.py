"""Shell completion: the scripts for bash, zsh and fish, and the candidates they ask for.

The scripts hold no list of their own. They pass the words to `recollect __complete`, which reads
commands, options and values from the table of operations, and ids from the store.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from ..errors import InvalidInput, RecollectError
from ..operation_table import EVERYDAY, SHORT_COMMANDS
from . import commands

_BASH = """\
_recollect() {
  local IFS=$'\\n'
  COMPREPLY=($("${COMP_WORDS[0]}" __complete plain "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
  [[ ${#COMPREPLY[@]} -eq 0 ]] && COMPREPLY=($(compgen -f -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o filenames -F _recollect recollect
"""

_ZSH = """\
#compdef recollect
_recollect() {
  local -a found
  found=("${(@f)$("${words[1]}" __complete described "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "${found[1]}" ]]; then
    _describe -V recollect found
  else
    _files
  fi
}
if [[ "${funcstack[1]}" == "_recollect" ]]; then
  _recollect "$@"
else
  compdef _recollect recollect
fi
"""

_FISH = """\
function __recollect_complete
  set -l words (commandline -opc) (commandline -ct)
  $words[1] __complete tabbed $words[2..-1] 2>/dev/null
end
complete -c recollect -f -a '(__recollect_complete)'
complete -c recollect -n '__fish_seen_subcommand_from backup import export load' -F
"""

SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


def print_script(given: commands.Arguments, shell: str) -> int:
    """Print the completion script for bash, zsh or fish.

    shell: bash, zsh or fish

    Example: recollect completion bash > ~/.local/share/bash-completion/completions/recollect
    Example: recollect completion zsh > ~/.zfunc/_recollect  # fpath+=~/.zfunc before compinit
    Example: recollect completion fish > ~/.config/fish/completions/recollect.fish
    """
    if shell not in SCRIPTS:
        raise InvalidInput.choice("shell", shell, SCRIPTS)
    print(SCRIPTS[shell], end="")
    return 0


def print_candidates(words: Sequence[str]) -> int:
    """Print the candidates for the last word, one a line; none after an error."""
    form, *typed = words or ("plain", "")
    # A store that cannot be read has no ids to offer.
    with suppress(RecollectError, OSError):
        for value, about in complete(typed or [""]):
            print(_format(form, value, about))
    return 0


def _format(form: str, value: str, about: str) -> str:
    if form == "described":
        value = value.replace(":", "\\:")
    gap = {"described": ":", "tabbed": "\t"}.get(form, "")
    return f"{value}{gap}{about}" if gap and about else value


def complete(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the candidates for the last word, each with a description."""
    *before, last = words
    name, rest = _find_command(before)
    if name is None or name == "help":
        yield from _complete_command(rest, last)
        return
    if not rest and not last.startswith("-"):
        yield from _complete_command([name], last)  # `review` is a command and a group
    command = commands.load_command(name)
    options = commands.command_options(command)
    option = options.get(rest[-1]) if rest else None
    if option and option.type != "bool":
        yield from _with_prefix(last, _values(option.name, command))
    elif last.startswith("-"):
        flags = ((flag, _first_sentence(item.help)) for flag, item in options.items())
        yield from _with_prefix(last, flags)
    else:
        positional = commands.positional_parameters(command)
        given = list(_positional_words(rest, options))
        if positional and (len(given) < len(positional) or positional[-1].type == "list"):
            item = positional[min(len(given), len(positional) - 1)]
            for value, about in _with_prefix(last, _values(item.name, command)):
                if item.type != "list" or value not in given:
                    yield value, about


def _find_command(before: Sequence[str]) -> tuple[str | None, list[str]]:
    """Return the complete command in the words, and the words after it."""
    words = list(before)
    while words and words[0].startswith("-"):
        words = words[2 if words[0] in ("-C", "--project") else 1 :]
    for length in (2, 1):
        name = " ".join(words[:length])
        name = SHORT_COMMANDS.get(name, name)
        if len(words) >= length and name in commands.COMMANDS:
            return name, words[length:]
    return None, words


def _complete_command(group: Sequence[str], last: str) -> Iterator[tuple[str, str]]:
    if len(group) > 1:
        return
    lead = f"{group[0]} " if group else ""
    seen = set()
    for name in (*EVERYDAY, *commands.COMMANDS, *({} if lead else SHORT_COMMANDS)):
        word, _, more = name.removeprefix(lead).partition(" ")
        if not name.startswith(lead) or not word.startswith(last) or word in seen:
            continue
        seen.add(word)
        full = SHORT_COMMANDS.get(name, name)
        yield (
            word,
            f"{word} …"
            if more and full not in seen
            else _first_sentence(commands.load_summary(full)),
        )


def _positional_words(
    words: Sequence[str], options: dict[str, commands.Parameter]
) -> Iterator[str]:
    """Yield the words that are neither options nor values of options."""
    skip = False
    for word in words:
        item = options.get(word.partition("=")[0])
        if skip:
            skip = False
        elif item is None and not word.startswith("-"):
            yield word
        elif item is not None and item.type != "bool" and "=" not in word:
            skip = True


def _with_prefix(prefix: str, candidates: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    return (row for row in candidates if row[0].startswith(prefix))


def _first_sentence(text: str) -> str:
    return text.partition("\n")[0].partition(". ")[0].rstrip(".")


# ---------------------------------------------------------------- values

_USER_OR_PROJECT = ("init", "config set", "config unset", "config edit")
_IDS = ("id", "memory", "source", "target", "address")


def _values(name: str, command: commands.Command) -> Iterator[tuple[str, str]]:
    """Yield the values that a parameter can have."""
    from ..agents.registry import AGENTS_WITH_HOOKS
    from ..config import SETTINGS
    from ..review.queue import ANSWERS
    from ..types.records import KINDS, LAYERS, PRIORITIES, STATUSES

    if name == "kind":
        yield from ((kind.name, kind.holds) for kind in KINDS.values())
    elif name in _IDS:
        yield from _memory_ids()
    elif name == "session":
        yield from _session_ids()
    elif command.words.startswith("config") and name == "name":
        yield from ((setting.name, setting.help) for setting in SETTINGS)
    else:
        choices: dict[str, Sequence[str]] = {
            "layer": LAYERS,
            "status": STATUSES,
            "priority": PRIORITIES,
            "agent": AGENTS_WITH_HOOKS,
            "answer": ANSWERS,
            "verdict": ("helped", "wrong", "stale"),
            "scope": ("user", "project") if command.words in _USER_OR_PROJECT else (),
            "shell": tuple(SCRIPTS),
        }
        yield from ((value, "") for value in choices.get(name, ()))


_MOST_IDS = 200


def _memory_ids() -> Iterator[tuple[str, str]]:
    from .. import open as open_memory
    from ..maintenance.operations_overview import shorten_ids
    from ..text import display

    with open_memory(os.environ.get("RECOLLECT_PROJECT")) as memory:
        found = memory.list(limit=_MOST_IDS)
        short = shorten_ids(memory.context, [item.id for item in found])
    for item in found:
        yield short[item.id], display.format_line(item.text, 60)


def _session_ids() -> Iterator[tuple[str, str]]:
    from .. import open as open_memory
    from ..text import display

    with open_memory(os.environ.get("RECOLLECT_PROJECT")) as memory:
        for session in memory.sessions.list():
            day = display.format_time(session.last_active)[:10]
            yield session.id, display.format_line(f"{day} {session.name}", 60)
