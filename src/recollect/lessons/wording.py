"""Word the lessons of episodes: the pattern of similar tasks, the pitfall of an error, the commands
before a commit.

A lesson holds only common parts of its episodes: the changed files, the checks that passed, the
errors on the way. Which episodes belong together is decided in `lessons.plan`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from ..episodes.records import Episode, ErrorSeen
from ..fast_typing import NamedTuple
from ..procedures.skills import Procedure
from ..text import display
from ..text.addresses import slugify
from ..text.terms import query_terms, split_terms, stem_all
from ..types.records import Json

LONGEST = 160
"""Characters shown of an error and of its fix; the detail has all of them."""

MOST_FILES, MOST_CHECKS, MOST_ERRORS = 5, 2, 3
_VAGUE = frozenset(("AssertionError", "test failure", "build", "check", "lint", "Error"))
"""Error types with messages that say little: the files of the resolution identify the error."""


class Lesson(NamedTuple):
    """The text and fields of a new memory."""

    text: str
    subject: str
    detail: Mapping[str, Json]
    examples: tuple[str, ...] = ()


# ---------------------------------------------------------------- errors


_PASSING = r"(?:[\w@.~-]*/)+[\w@.-]+|\b[\w-]+\.\w{1,5}(?:[:(]\d[\d:,]*\)?)|0x[0-9a-fA-F]+|\d+"
"""Match the parts of a message that differ each time an error occurs: places and numbers."""

_FILE = r"[\w-]+\.[A-Za-z]\w{0,4}\b"


def signature(kind: str, message: str, resolution: str = "") -> str:
    """Return the key that identifies an error when it comes up again."""
    words = stem_all(query_terms(re.sub(_PASSING, " ", message))) or stem_all(split_terms(message))
    places: Iterable[str] = ()
    if kind in _VAGUE:
        places = sorted(set(re.findall(_FILE, resolution)))[:MOST_FILES]
    return "|".join((kind.casefold(), " ".join(words[:16]), *places))


def pitfall_lesson(errors: Sequence[ErrorSeen]) -> Lesson:
    """Return the pitfall for several occurrences of one error, given oldest first."""
    counts = Counter(error.resolution for error in errors)
    best = max(enumerate(errors), key=lambda at: (counts[at[1].resolution], at[0]))[1]
    detail: dict[str, Json] = {
        "what_fails": best.type,
        "why": best.message,
        "prevention": best.resolution,
    }
    if best.reason:
        detail["explained"] = best.reason
    others = [error.resolution for error in errors if error.resolution != best.resolution]
    if others:
        detail["also_helped"] = list(dict.fromkeys(others))[:MOST_ERRORS]
    message, helped = (
        _ended(display.shorten(text, LONGEST)) for text in (best.message, best.resolution)
    )
    text = f"{best.type}: {message} What helped: {helped}"
    return Lesson(text, best.type, detail)


def _ended(text: str) -> str:
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


# ---------------------------------------------------------------- similar tasks


def pattern_lesson(centre: Episode, members: Sequence[Episode]) -> Lesson | None:
    """Return the pattern of similar tasks; None if they share neither a place nor an error.

    centre: the task most similar to all others
    """
    good = [episode for episode in members if episode.outcome == "success"]
    models = good or members
    files = _common(map(_places, models), len(models), MOST_FILES)
    checks = _common(map(_checks, models), len(models), MOST_CHECKS)
    errors = _common(map(_errors, members), 0, MOST_ERRORS)
    if not (files or errors):
        return None
    approach = []
    if files:
        approach.append(f"work in {', '.join(files)}")
    if checks:
        approach.append(f"check with {', '.join(f'`{check}`' for check in checks)}")
    detail: dict[str, Json] = {
        "conditions": _common_words(centre, members),
        "episodes": len(members),
        "successes": len(good),
        "failures": sum(episode.outcome == "failure" for episode in members),
    }
    if approach:
        detail["correct_approach"] = "; ".join(approach)
    if errors:
        detail["incorrect_approach"] = "; ".join(errors)
    seen = f"{len(members)} so far, {len(good)} successful"
    text = f"Tasks like “{centre.goal}” ({seen})"
    text += f": {'; '.join(approach)}." if approach else "."
    if errors:
        text += f" Watch for: {'; '.join(errors)}."
    subject = " ".join(detail["conditions"]) or centre.goal
    return Lesson(text, subject, detail, tuple(files))


def _common(groups: Iterable[Iterable[str]], of: int, most: int) -> list[str]:
    """Return the values in at least half of the groups, and in two at least, the most frequent
    first.

    of: the number of groups; 0 asks for two only
    """
    counts = Counter(one for group in groups for one in dict.fromkeys(group))
    enough = max(2, of / 2)
    common = [one for one, count in counts.items() if count >= enough]
    return sorted(common, key=lambda one: (-counts[one], one))[:most]


def _places(episode: Episode) -> list[str]:
    """Return the files that were changed, and the folders they are in."""
    files = episode.artifacts or episode.files
    folders = [f"{path.rpartition('/')[0]}/" for path in files if "/" in path]
    return [*files, *folders]


def _checks(episode: Episode) -> list[str]:
    return [
        action.target.removesuffix(" 2>&1")
        for action in episode.actions
        if action.result == "pass" and action.target
    ]


def _errors(episode: Episode) -> list[str]:
    return [f"{error.message} ({error.resolution})" for error in episode.resolved]


def _common_words(centre: Episode, members: Sequence[Episode]) -> list[str]:
    """Return the words of the centre's goal that most goals have, in its order."""
    goals = [set(stem_all(query_terms(episode.goal))) for episode in members]
    words = query_terms(centre.goal)
    roots = stem_all(words)
    return [
        word
        for word, root in zip(words, roots, strict=True)
        if 2 * sum(root in goal for goal in goals) >= len(goals)
    ][:8]


# ---------------------------------------------------------------- commands before a commit


def workflow_procedure(steps: Sequence[str], purposes: Sequence[str], sessions: int) -> Procedure:
    """Return the procedure of commands that several sessions ran before a commit, for a person to
    accept."""
    name = slugify(f"before commit {' '.join(purposes)}")
    return Procedure(
        name,
        f"Commands that were run before a commit in {sessions} sessions. Use it before a commit.",
        "Skill: Before a commit",
        steps=tuple(f"Run `{step}`" for step in steps),
        exit_criteria=tuple(f"`{step}` passes" for step in steps),
        successes=sessions,
    )
