"""Evidence of commits and pull requests: what an agent says that it changed and why, in its words.

Subject and reason stand in the call, and not only in what git printed. Which files went into a
commit is known from what was edited and added since the last one; where that does not agree with
the number that git gives, no file is named.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ..actions.call_results import CallAttempt
from ..actions.command_forms import below
from ..actions.command_output import GitCommit
from ..actions.command_words import is_lasting, suggests_danger
from ..actions.tool_calls import read_effects
from ..episodes import session_observations, tasks
from ..text.messages import plain_text
from ..types.records import Json, Stored
from .statements import Evidence

LONGEST_REASON = 400
"""Characters of the reason that a commit gives, which is cut at the end of a sentence."""

MOST_POINTS = 3
"""So many points of a list are taken as the reason where a commit gives no other."""

_PASSING = ("Merge ", "WIP", "wip", "fixup!", "squash!")
_EVERYTHING = frozenset(("-A", "--all", ".", "-u", "--update", "-a", "-am", "*"))


def commits_of(
    messages: Sequence[Stored], tried: Sequence[CallAttempt], cwd: str
) -> list[Evidence]:
    """Return the commits that were made and stayed, each with the files that were edited for it and
    the reason that it gives. Subject and reason are the agent's own: they stand in the call, and
    not only in what git printed."""
    found: list[Evidence] = []
    edited: dict[str, None] = {}
    added: list[str] = []
    made = tasks.commits_of(tried)
    foreign = session_observations.reads_foreign(messages)
    asked = [(one.seq, plain_text(one.message)) for one in messages if one.message.role == "user"]
    for attempt in tried:
        if attempt.state == "ok" and not attempt.script:
            names = [below(name, cwd) for name in attempt.writes]
            inside = [name for name in names if is_lasting(name) and name[0] not in "/~"]
            edited |= dict.fromkeys(inside)
        git = read_effects(attempt.call).git if attempt.script and attempt.state == "ok" else ()
        found = _after_rewriting(found, git)
        added += [below(word, cwd) for words in git if words[0] == "add" for word in words[1:]]
        for commit in [one for place, one in made if place == attempt.asked]:
            if commit.subject in attempt.script and not commit.subject.startswith(_PASSING):
                before = [text for seq, text in asked if seq < attempt.asked]
                body = {
                    **_sizes(commit, attempt.output),
                    "subject": commit.subject,
                    "hash": commit.hash,
                    "reason": reason_in(attempt.script, commit.subject),
                    "foreign": foreign,
                    "reviewed": bool(before) and bool(re.search(_REVIEW, before[-1])),
                }
                body["files"] = _committed(edited, added, int(body["count"]))
                found.append(_made("commit", commit.subject, attempt, body))
            edited, added = {}, []
    return found


def pulls_of(messages: Sequence[Stored], tried: Sequence[CallAttempt]) -> list[Evidence]:
    """Return the pull requests that were opened, each with the first points of its description."""
    foreign = session_observations.reads_foreign(messages)
    found = []
    for attempt in tried:
        title = re.search(_PULL, attempt.script) if attempt.state == "ok" else None
        number = re.search(r"/pull/(\d+)", attempt.output)
        if not title or not number:
            continue
        body = re.sub(r"(?s)```.*?(?:```|\Z)|\*\*", "", attempt.script[title.end() :])
        points = [" ".join(one.split()) for one in re.findall(r"(?m)^\s*[-*] (?!\[)(.+)$", body)]
        reason = _whole_sentences(points[:MOST_POINTS], "; ")
        about = {"subject": title[2], "number": int(number[1])}
        told = {**about, "reason": reason, "foreign": foreign}
        found.append(_made("pull", title[2], attempt, told))
    return found


def _made(kind: str, title: str, attempt: CallAttempt, body: Mapping[str, Json]) -> Evidence:
    span = (attempt.asked, max(attempt.asked, attempt.answered))
    return Evidence(kind, title.casefold(), attempt.at, body, (span,), "agent")


_PULL = r"\bgh pr create\b[^\n]*?--title[ =]([\"'])((?:(?!\1).){8,160})\1"


def _after_rewriting(found: list[Evidence], git: Sequence[Sequence[str]]) -> list[Evidence]:
    """Return the commits so far after git commands that replace, undo or move some of them."""
    for words in git:
        rest = words[1:]
        undone = [re.fullmatch(r"HEAD[~^](\d*)", word) for word in rest]
        if words[0] == "commit" and "--amend" in rest:
            found = found[:-1]
        elif words[0] == "reset" and any(undone):
            found = found[: -max(int(one[1] or 1) for one in undone if one)]
        elif words[0] == "revert":
            named = {word[:7] for word in rest}
            found = [one for one in found if one.body["hash"][:7] not in named]
            found = found[:-1] if "HEAD" in rest else found
        elif words[0] == "rebase" or (words[0] == "pull" and "--rebase" in rest):
            found = [one._replace(body={**one.body, "hash": ""}) for one in found]
    return found


def _sizes(commit: GitCommit, output: str) -> dict[str, Json]:
    """Return how many files and lines git says that a commit changed; zero when it does not."""
    shown = output.partition(commit.subject)[2]
    files = re.search(r"(\d+) files? changed", shown)
    lines = re.findall(r"(\d+) (?:insertions?\(\+\)|deletions?\(-\))", shown.partition("\n[")[0])
    return {"count": int(files[1]) if files else 0, "lines": sum(map(int, lines[:2]))}


def _committed(edited: Mapping[str, None], added: Sequence[str], count: int) -> list[str]:
    """Return the edited files that went into a commit; none where that is not certain."""
    files = list(edited)
    if added and _EVERYTHING.isdisjoint(added):
        folders = tuple(f"{one.rstrip('/')}/" for one in added)
        files = [path for path in files if path in added or path.startswith(folders)]
    return files if len(files) <= count else []


def reason_in(script: str, subject: str) -> str:
    """Return the first sentences that a commit message has below its subject."""
    before, _, rest = script.partition(subject)
    if found := re.search(r"<<-?\s*['\"]?(\w+)['\"]?", before):
        body = re.split(rf"(?m)^\s*{found[1]}\b", rest)[0]
    elif more := re.match(r"([\"'])\s+-m\s*([\"'])(.*?)(?<!\\)\2", rest, re.DOTALL):
        body = more[3]
    else:
        mark = before[-1:] if before[-1:] in ("'", '"') else ""
        body = re.split(rf"(?<!\\){mark}", rest)[0] if mark and rest[:1] == "\n" else ""
    body = re.split(_TRAILER, body)[0].replace('\\"', '"').replace("\\`", "`")
    parts = [" ".join(part.split()) for part in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )", body)]
    prose = [part for part in parts if part and not re.match(_BULLET, part) and part[-1] != ":"]
    points = [re.sub(_BULLET, "", part) for part in parts if re.match(_BULLET, part)]
    points = sorted(points, key=lambda point: not gives_reason(point))
    return _whole_sentences(prose, " ") or _whole_sentences(points[:MOST_POINTS], "; ")


def _whole_sentences(parts: Sequence[str], between: str) -> str:
    """Return as many whole sentences as fit, up to one that names a dangerous command; the first
    one is cut where it must be."""
    taken = ""
    for part in parts:
        for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z`])", part):
            joined = f"{taken.rstrip('.') if between != ' ' else taken}{between}{sentence}"
            joined = joined if taken else sentence
            if suggests_danger(sentence):
                return taken
            if len(joined) > LONGEST_REASON:
                return taken or f"{sentence[: LONGEST_REASON - 1].rsplit(' ', 1)[0]}…"
            taken = joined
    return taken


_BULLET = r"(?:[-*]|\d+\.) "
_TRAILER = r"(?mi)^\s*(?:[A-Z][\w-]+-by: |🤖|Generated with|[A-Z][\w]*-[\w-]+: \S+\s*$)"
_REVIEW = r"(?i)\b(?:review|comments?|feedback|coderabbit|bugbot|nits?)\b"


def gives_cause(text: str) -> bool:
    """Check whether a text says why the code must be as it is."""
    return re.search(_CAUSE, text) is not None


def gives_reason(text: str) -> bool:
    """Check whether a text says why or what for something was changed."""
    return gives_cause(text) or re.search(_PURPOSE, text) is not None


_CAUSE = (
    r"(?i)\b(?:because|caus(?:ed|es|ing)|root cause|due to|relied on|does ?n[o']t|did ?n[o']t"
    r"|would (?!be\b)\w+|no longer|race|leak\w*|re-?inserts?|deadlock\w*)\b"
)
_PURPOSE = (
    r"(?i)\b(?:so that|since|instead of|rather than|otherwise|without|prevent\w*"
    r"|avoids?|break\w*|bypass\w*|only (?:when|if)|must|enabl\w+|replac(?:es|ing))\b"
)
