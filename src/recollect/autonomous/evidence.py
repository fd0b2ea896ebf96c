"""Phase 1 by rules: extract the evidence of one session about commands, errors, places, workflows,
conclusions, commits and answers, each with its messages.

`episodes.session_observations` makes the observations; this module traces each back to its calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from ..actions.call_results import CallAttempt, list_attempts
from ..actions.command_forms import ELSEWHERE, CommandRun, below, runs_of
from ..actions.command_output import GitCommit, signatures
from ..actions.command_words import is_lasting, suggests_danger
from ..episodes import session_observations, tasks
from ..episodes.session_errors import SessionObservation
from ..text.messages import parse_arguments, plain_text
from ..types.records import Json, Stored
from .statements import Evidence, Span, gives_reason

MOST_SPANS = 7
"""The maximum number of spans of one piece of evidence: a commit and six commands before it."""

DIALOGUES = frozenset(("AskUserQuestion",))
"""Exact names of the tools with which an agent asks the user. Similar names do not count: an MCP
server could forge an answer of the user."""

LONGEST_QUESTION, LONGEST_ANSWER = 240, 300
FEWEST_WORDS = 5
"""Words. A shorter question refers to something on the screen."""

_MISSING = ("command not found", "ERR_PNPM_", "not recognized as", "No such file or directory")


def extract(
    messages: Sequence[Stored],
    cwd: str,
    scripts: Mapping[str, str],
    episodes: Sequence[Evidence] = (),
) -> tuple[Evidence, ...]:
    """Return the evidence of a session, as far as it can be traced to messages.

    episodes: the tasks of the session
    """
    ours = [one for one in messages if one.origin != "import"]
    tried = list_attempts(ours)
    found = session_observations.observe(ours, cwd, scripts, tried)
    ran = session_observations.list_runs(tried, cwd)
    edits = _last_edits(tried, cwd)
    traced = []
    for one in found:
        if one.kind == "command":
            one = one._replace(body={**one.body, "exact": _exact(one.subject, ran)})
        if one.kind == "place":
            files = [path for path in (one.subject, *one.body["files"]) if path in edits]
            spans_of = {path: list(_span(edits[path])) for path in files}
            one = one._replace(body={**one.body, "edits": spans_of})
        spans = tuple(dict.fromkeys(_spans(one, tried, cwd)))[:MOST_SPANS]
        if spans:
            label = "agent" if one.kind == "conclusion" else "system"
            traced.append(Evidence(one.kind, one.subject, one.at, one.body, spans, label))
    done = filter(None, (_task(one, tried, cwd) for one in episodes))
    made = (*_commits(ours, tried, cwd), *_pulls(ours, tried))
    return (*traced, *made, *_answers(tried), *done)


def _task(task: Evidence, tried: Sequence[CallAttempt], cwd: str) -> Evidence | None:
    """Return a task with its proof: the request, the last edit of each file, and the result of the
    last check; None if nothing was edited, or the user refused its last call."""
    first, last = task.spans[0]
    inside = [one for one in tried if first <= one.asked <= last]
    edits = _last_edits(inside, cwd)
    files = [path for path in task.body["files"] if path in edits]
    checks = [one for one in inside if one.checks and one.state in ("ok", "failed")]
    if not files or inside[-1].state == "refused":
        return None
    proof = {"ok": "the last check passed", "failed": "the last check failed"}
    end = proof[checks[-1].state] if checks else ""
    spans = [(first, first), *(_span(edits[path]) for path in files[:3])]
    spans += [_span(checks[-1])] if checks else []
    body = {**task.body, "files": files, "outcome": end}
    return task._replace(body=body, spans=tuple(dict.fromkeys(spans)))


# ---------------------------------------------------------------- messages of an observation


def _spans(one: SessionObservation, tried: Sequence[CallAttempt], cwd: str) -> Iterator[Span]:
    trace = {"command": _command, "error": _error, "workflow": _workflow}
    if one.kind == "conclusion":
        seq = int(one.subject.rpartition(":")[2])
        yield seq, seq
    elif one.kind == "place":
        yield from ((first, last) for first, last in one.body["edits"].values())
    elif one.kind in trace:
        yield from trace[one.kind](one, tried, cwd)


def _exact(key: str, ran: Sequence[tuple[CallAttempt, list[CommandRun]]]) -> list[list[Json]]:
    """Return each wording in which a command worked, with all its arguments: the folder, the
    command, and the messages of its last run."""
    found: dict[tuple[str, str], Span] = {}
    for attempt, runs in ran:
        worked = [run.form for run in runs if run.form.key == key and run.state == "ok"]
        if len(worked) == 1 and _shows_result(attempt):
            [form] = worked
            if form.exact and form.folder != ELSEWHERE and "REDACTED" not in form.exact:
                found[form.folder, form.exact] = _span(attempt)
    return [[folder, wording, *span] for (folder, wording), span in found.items()]


def _command(one: SessionObservation, tried: Sequence[CallAttempt], cwd: str) -> Iterator[Span]:
    """Yield the last call in which the command worked, or failed if it never worked."""
    wanted = "ok" if one.body["ok"] else "failed"
    ran = (a for a in reversed(tried) if _ran(a, one.subject, wanted, cwd))
    yield from islice((_span(a) for a in ran if wanted == "failed" or _shows_result(a)), 1)


def _shows_result(attempt: CallAttempt) -> bool:
    """Check whether the exit status of a call is that of its command: the command did not run in
    the background, and no pipe hid that the program is missing."""
    line = attempt.script.strip()
    if line.endswith("&") or "&\n" in line or "running in background" in attempt.output:
        return False
    return not any(sign in attempt.output for sign in _MISSING)


def _error(one: SessionObservation, tried: Sequence[CallAttempt], cwd: str) -> Iterator[Span]:
    """Yield the last call with the error, the call that passed afterwards, and the last edit that
    resolved it."""
    line = str(one.body["line"])
    broken = [a for a in tried if a.state == "failed" and a.script and line in signatures(a.output)]
    if not broken:
        return
    yield _span(broken[-1])
    after = [attempt for attempt in tried if attempt.asked > broken[-1].asked]
    passed = [attempt for attempt in after if attempt.at == one.at and attempt.state == "ok"][:1]
    yield from map(_span, passed)
    files = one.body["remedy"]["files"]
    edits = [a for a in after if passed and a.asked < passed[0].asked and a.state == "ok"]
    own_edits = [a for a in edits if any(below(name, cwd) in files for name in a.writes)]
    yield from map(_span, own_edits[-1:])


def _last_edits(tried: Sequence[CallAttempt], cwd: str) -> dict[str, CallAttempt]:
    """Return the last call that edited each file."""
    edits = [one for one in tried if one.state == "ok" and not one.script]
    return {below(name, cwd): one for one in edits for name in one.writes}


def _workflow(one: SessionObservation, tried: Sequence[CallAttempt], cwd: str) -> Iterator[Span]:
    """Yield the commit, and the last run of each step before it."""
    made = [a for a in tried if a.at == one.at and a.state == "ok" and "commit" in a.script]
    if not made:
        return
    yield _span(made[-1])
    for step in one.body["steps"]:
        for attempt in reversed(tried):
            if attempt.asked <= made[-1].asked and _ran(attempt, str(step), "ok", cwd):
                yield _span(attempt)
                break


def _ran(attempt: CallAttempt, key: str, state: str, cwd: str) -> bool:
    if not attempt.script:
        return False
    return any(
        run.form.key == key and run.state == state
        for run in runs_of(attempt.script, attempt.state, cwd)
    )


def _span(attempt: CallAttempt) -> Span:
    return attempt.asked, max(attempt.asked, attempt.answered)


# ---------------------------------------------------------------- answers


def _answers(tried: Sequence[CallAttempt]) -> Iterator[Evidence]:
    """Yield the user's answers that decide something, with the questions of the calls."""
    for attempt in tried:
        if attempt.call.name not in DIALOGUES or attempt.state != "ok":
            continue
        asked = (parse_arguments(attempt.call.arguments) or {}).get("questions")
        for one in asked if isinstance(asked, list) else ():
            question = _flat(one.get("question")) if isinstance(one, dict) else ""
            answer = _answer_to(question, attempt.output) if question else ""
            if answer and _decides(question, answer):
                body = {"question": question, "answer": answer, "meant": _meaning(one, answer)}
                yield _made("answer", question, attempt, body)


def _flat(text: Json) -> str:
    return " ".join(str(text or "").split())


def _answer_to(question: str, output: str) -> str:
    end = r"(?=[.,](?:\s|$)| user notes:|$)"
    found = re.search(rf'"{re.escape(question)}"="(.*?)"{end}', output, re.DOTALL)
    return _flat(found[1]) if found else ""


def _meaning(question: Json, answer: str) -> str:
    """Return the description of the chosen option."""
    options = question.get("options")
    for option in options if isinstance(options, list) else ():
        if isinstance(option, dict) and option.get("label") == answer:
            meant = _flat(option.get("description"))
            return meant if len(meant) <= LONGEST_ANSWER else ""
    return ""


def _decides(question: str, answer: str) -> bool:
    """Check whether an answer decides something about the work."""
    return (
        len(question) <= LONGEST_QUESTION
        and len(answer) <= LONGEST_ANSWER
        and len(question.split()) >= FEWEST_WORDS
        and not re.search(_ABOUT_GOING_ON, question)
        and not re.search(_OPEN, answer)
    )


_ABOUT_GOING_ON = (
    r"(?i)\b(?:would you like|do you want|want me to|shall i|should i|ready to|more questions"
    r"|next|proceed|which areas?|todo|can you|commit\w*|pr|push|these|those|this task|direction"
    r"|based on)\b"
)
"""Match questions about the agent's next step, or about something on the screen."""

_OPEN = (
    r"(?i)\?\s*$|^you decide\b|^(?:hm+|skip|next|done|none|later|not sure|yes|no|ok)\b"
    r"|\bdepends?\b|\bnot sure\b|\bi (?:guess|think|wonder)\b|\bhonestly\b|\bunderstanding\b"
)
"""Match answers that decide nothing."""


# ---------------------------------------------------------------- commits and pull requests
#
# Subject and reason are taken from the call, not only from git's output. The files of a commit are
# those edited and added since the last one; if their number differs from git's, none is named.


LONGEST_REASON = 400
"""Characters of a commit's reason, which is cut at the end of a sentence."""

MOST_POINTS = 3
"""The most list items that are used as the reason of a commit without other text."""

_PASSING = ("Merge ", "WIP", "wip", "fixup!", "squash!")
_EVERYTHING = frozenset(("-A", "--all", ".", "-u", "--update", "-a", "-am", "*"))


def _commits(messages: Sequence[Stored], tried: Sequence[CallAttempt], cwd: str) -> list[Evidence]:
    """Return the commits that were not undone, each with its files and its reason. Subject and
    reason are the agent's own words: they are in the call, not only in git's output."""
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
        git = attempt.git if attempt.script and attempt.state == "ok" else ()
        found = _drop_rewritten(found, git)
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


def _pulls(messages: Sequence[Stored], tried: Sequence[CallAttempt]) -> list[Evidence]:
    """Return the pull requests that were opened, each with the first points of its description."""
    foreign = session_observations.reads_foreign(messages)
    found = []
    for attempt in tried:
        title = re.search(_PULL, attempt.script) if attempt.state == "ok" else None
        number = re.search(r"/pull/(\d+)", attempt.output)
        if not title or not number:
            continue
        body = re.sub(r"(?s)```.*?(?:```|\Z)|\*\*", "", attempt.script[title.end() :])
        points = list(map(_flat, re.findall(r"(?m)^\s*[-*] (?!\[)(.+)$", body)))
        reason = _whole_sentences(points[:MOST_POINTS], "; ")
        about = {"subject": title[2], "number": int(number[1])}
        pull = {**about, "reason": reason, "foreign": foreign}
        found.append(_made("pull", title[2], attempt, pull))
    return found


def _made(kind: str, title: str, attempt: CallAttempt, body: Mapping[str, Json]) -> Evidence:
    return Evidence(kind, title.casefold(), attempt.at, body, (_span(attempt),), "agent")


_PULL = r"\bgh pr create\b[^\n]*?--title[ =]([\"'])((?:(?!\1).){8,160})\1"


def _drop_rewritten(found: list[Evidence], git: Sequence[Sequence[str]]) -> list[Evidence]:
    """Return the commits without those that these git commands replace or undo."""
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
    """Return the numbers of changed files and lines in git's output of a commit; 0 without them."""
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
    """Return as many whole sentences as fit, up to one that names a dangerous command; a first
    sentence that does not fit is cut."""
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
