"""Find the program behind a runner: `npx jest`, `python -m flake8`, `poetry run mypy`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .command_words import INTERPRETERS, RUNNERS, word_set

_RUNNING = {
    **dict.fromkeys(("poetry", "pdm", "pipenv", "rye", "hatch", "conda", "uv"), ("run",)),
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun", "bundle"), ("exec", "x", "dlx")),
}
"""Package managers, and their subcommands that run the program behind them."""

_RUNNING_DIRECTLY = ("pnpm", "yarn", "bun")
"""They also run a program without a subcommand: `yarn jest`."""

_TAKES_VALUE = ("-p", "--package", "--with", "--python", "-n", "--group")
_DEEPEST = 3


def inner_commands(words: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield each command behind a runner, with the number of words in front of it."""
    at = 0
    for _ in range(_DEEPEST):
        step = _behind_runner(words[at:])
        if not step or at + step >= len(words):
            return
        at += step
        yield at, list(words[at:])


def _behind_runner(words: Sequence[str]) -> int:
    """Return the place of the program that a runner starts; 0 without a runner."""
    name = words[0].rpartition("/")[2] if words else ""
    if name in word_set(INTERPRETERS) or name.startswith("python3."):
        module = list(words[1:4]).index("-m") + 2 if "-m" in words[1:4] else 0
        return module if all(word[:1] == "-" for word in words[1:module]) else 0
    if name in word_set(RUNNERS):
        return _skip_options(words, 1)
    if name == "uv" and words[1:3] == ["tool", "run"]:
        return _skip_options(words, 3)
    at = _skip_options(words, 1)
    if words[at : at + 1] and words[at] in _RUNNING.get(name, ()):
        return _skip_options(words, at + 1)
    return at if name in _RUNNING_DIRECTLY else 0


def _skip_options(words: Sequence[str], at: int) -> int:
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in _TAKES_VALUE else 1
    return at
