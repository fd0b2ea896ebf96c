"""Whose words a prompt of Gemini CLI holds: the person's, and what the program puts around them.

Behind a prompt it puts the content of the files that are named with `@`, before or behind it what
hooks answered, with `<` and `>` written as entities, so that our own block is not known by its tag.
A command typed after `!` stands in a prompt with all that it printed.
"""

from __future__ import annotations

from ...fast_typing import NamedTuple

_FILES = "--- Content from referenced files ---"
_OPENED, _CLOSED = "<hook_context>", "</hook_context>"
_RAN, _GAVE = "I ran the following shell command:\n", "\n\nThis produced the following result:\n"
_OURS = "&lt;recollect-memory"


class Prompt(NamedTuple):
    """What a person typed, and what the program added to it."""

    typed: str
    added: str = ""


def parted(text: str) -> Prompt:
    """The words of a prompt, told apart. What hooks answered is left out."""
    if text.startswith(_RAN) and _GAVE in text:
        command, _, printed = text.removeprefix(_RAN).partition(_GAVE)
        return Prompt(f"! {command.strip().removeprefix('```sh').strip('`').strip()}", printed)
    typed, at = [], 0
    start, files = text.find(_OPENED), text.find(_FILES)
    # Behind the first file nothing is looked for: a file can hold any mark.
    while start >= 0 and not 0 <= files < start:
        typed.append(text[at:start])
        end = text.find(_CLOSED, start)
        at = end + len(_CLOSED) if end >= 0 else len(text)
        start = text.find(_OPENED, at)
        files = text.find(_FILES, at) if 0 <= files < at else files
    own, _, added = text[at:].partition(_FILES)
    return Prompt("".join([*typed, own]).strip(), without_hooks(added).strip())


def without_hooks(text: str) -> str:
    """The text without what hooks answered at its end."""
    if not text.rstrip().endswith(_CLOSED):
        return text
    return text[: text.rfind(_OPENED)].rstrip() if _OPENED in text else text


def without_ours(text: str) -> str:
    """What a tool gave, without what we said of it."""
    return without_hooks(text) if _OURS in text else text
