"""Observe the work of one session: commands, error fixes, files changed together, commands before a
commit, conclusions.

A conclusion is one sentence of an agent that gives a cause and names a path, a symbol or a number.
It needs evidence: a commit, or a last check that passed; and the user did not object. A session
that read the web or foreign servers has no conclusions.

Everything else comes from tool calls and their exit statuses. Calls of our own commands and tools
are ignored, and so are imported messages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from ..actions.call_results import CallAttempt, list_attempts
from ..actions.command_forms import CommandForm, CommandRun, below, folder_after, runs_of
from ..actions.command_output import WRONG_CALL
from ..actions.command_words import is_lasting
from ..actions.echo import is_own_call, is_own_tool
from ..text.messages import plain_text
from ..types.records import Stored
from .command_tally import CHECKS, CommandTally
from .session_errors import SessionObservation, errors_of_session
from .tasks import Span, attempts_in, commits_of, reaction_to_work, task_spans

MOST_TOGETHER = 8
"""If more files were changed, they are not related."""

FEWEST_STEPS, MOST_STEPS = 2, 6
_STEPS = frozenset(("test", "lint", "format", "typecheck", "check", "build", "generate", "migrate"))
SHELLS_THAT_STAY = frozenset({"Bash"})
"""Tools whose next call starts in the folder that the last one ended in."""

NEAR = 8
"""The most calls between a failed command and another one that replaces it."""

_RUNNERS = frozenset(
    ("npm", "npx", "pnpm", "pnpx", "yarn", "bun", "bunx", "run", "exec", "uv", "poetry", "bundle")
)
SHORTEST, LONGEST = 40, 220
_WEB = ("webfetch", "websearch", "web_search", "web_fetch", "browser", "fetch_url")


def observe(
    messages: Sequence[Stored],
    cwd: str,
    scripts: Mapping[str, str],
    calls: Sequence[CallAttempt] | None = None,
) -> list[SessionObservation]:
    """Return all observations of a session.

    scripts: the commands of the project's scripts, by name
    calls: the calls in the messages, if they were listed already
    """
    ours = [one for one in messages if one.origin != "import"]
    if calls is None or len(ours) < len(messages):
        calls = list_attempts(ours)
    tried = [one for one in calls if not is_own_call(one.call)]
    return [
        *_commands(tried, cwd, scripts),
        *errors_of_session(tried, cwd),
        *_places(tried, cwd),
        *_workflows(tried, cwd),
        *_conclusions(ours, calls),
    ]


def _places(tried: Sequence[CallAttempt], cwd: str) -> list[SessionObservation]:
    """Return for each edited file the others that were edited in the same session, unless there
    are too many."""
    edited: dict[str, int] = {}
    for one in tried:
        if one.state == "ok" and not one.script:
            for path in one.writes:
                edited[below(path, cwd)] = one.at
    files = [path for path in edited if is_lasting(path) and "/" in path]
    together = files if len(files) <= MOST_TOGETHER else []
    return [
        SessionObservation(
            "place",
            path,
            edited[path],
            {"files": [one for one in together if one != path and not _is_test_of(path, one)]},
        )
        for path in files
    ]


def _is_test_of(one: str, other: str) -> bool:
    """Check whether one file is the test of the other: such pairs are not worth showing."""
    first, second = (re.sub(_TESTS, "", path.rpartition("/")[2]) for path in (one, other))
    return first == second and one.rpartition("/")[2] != other.rpartition("/")[2]


_TESTS = r"(?i)^tests?[._-]|[._-](?:tests?|spec)(?=\.)|tests?(?=\.\w+$)"


def _workflows(tried: Sequence[CallAttempt], cwd: str) -> list[SessionObservation]:
    """Return an observation for each sequence of commands before a commit."""
    found: dict[str, SessionObservation] = {}
    since_edit: dict[str, CommandForm] = {}
    for one in tried:
        if one.state != "ok":
            continue
        if one.writes and not one.script:
            since_edit = {}
        for run in runs_of(one.script, one.state, cwd) if one.script else ():
            if run.state == "ok" and run.form.purpose in _STEPS and not run.form.is_dangerous:
                since_edit.setdefault(run.form.key, run.form)
        if ("git", "commit") in (command[:2] for command in one.commands):
            if FEWEST_STEPS <= len(since_edit) <= MOST_STEPS:
                subject = " && ".join(since_edit)
                forms = since_edit.values()
                body = {
                    "steps": [form.wording for form in forms],
                    "purposes": [form.purpose for form in forms],
                }
                found[subject] = SessionObservation("workflow", subject, one.at, body)
            since_edit = {}
    return list(found.values())


# ---------------------------------------------------------------- commands


def _commands(
    tried: Sequence[CallAttempt], cwd: str, scripts: Mapping[str, str]
) -> list[SessionObservation]:
    """Return an observation for each canonical form of a command that was run."""
    tallies: dict[str, CommandTally] = {}
    ran = list_runs(tried, cwd)
    made = {below(path, cwd) for one in tried for path in one.writes}
    for place, (attempt, runs) in enumerate(ran):
        for run in runs:
            if run.form.is_dangerous or _runs_new_script(run.form, made):
                continue
            tally = tallies.setdefault(run.form.key, CommandTally(run.form))
            if run.state == "ok":
                tally.worked(run.form, attempt.at)
            elif run.state == "failed":
                tally.broke(run.form)
                if not _is_wrong_call(attempt, run.form):
                    continue
                tally.failed(run.form, attempt.at)
                later = (one for _, after in ran[place + 1 : place + 1 + NEAR] for one in after)
                if better := next((one for one in later if _replaces(one, run.form)), None):
                    tally.replaced_by = better.form.key
    return [tally.observation(scripts) for tally in tallies.values() if tally.counts]


def list_runs(tried: Sequence[CallAttempt], cwd: str) -> list[tuple[CallAttempt, list[CommandRun]]]:
    """Return each attempt with the commands it ran, which start in the shell's current folder."""
    found: list[tuple[CallAttempt, list[CommandRun]]] = []
    folder = ""
    for one in tried:
        keeps = one.call.name in SHELLS_THAT_STAY
        start = folder if keeps else ""
        found.append((one, runs_of(one.script, one.state, cwd, start) if one.script else []))
        if keeps and one.script and one.state != "running":
            reset = _RESET in one.output
            folder = "" if reset else folder_after(one.script, cwd, start)
    return found


_RESET = "Shell cwd was reset to"
"""Claude Code prints this after a command that left the project."""


def _runs_new_script(form: CommandForm, made: set[str]) -> bool:
    """Check whether a command runs a script that this session wrote: it may not last."""
    names = (word.removeprefix("./") for word in form.key.split()[:2])
    return any(name in made or f"{form.folder}/{name}" in made for name in names)


def _is_wrong_call(attempt: CallAttempt, form: CommandForm) -> bool:
    kind = attempt.trouble.type if attempt.trouble else ""
    return form.purpose not in CHECKS or kind in WRONG_CALL


def _replaces(run: CommandRun, broken: CommandForm) -> bool:
    """Check whether a command that worked serves the purpose of the failed one."""
    form = run.form
    if run.state != "ok" or form.key == broken.key or form.is_dangerous:
        return False
    if form.purpose in CHECKS and form.purpose == broken.purpose:
        return True
    one, other = form.key.split(), broken.key.split()
    shared = set(one) & set(other) - _RUNNERS
    # The same program alone is not enough: its subcommands may do different things.
    return bool(shared - {one[0]}) or other == [one[0]]


# ---------------------------------------------------------------- conclusions


def _conclusions(
    messages: Sequence[Stored], calls: Sequence[CallAttempt]
) -> list[SessionObservation]:
    """Return the conclusion of each task that has one."""
    if reads_foreign(messages):
        return []
    return [one for span in task_spans(list(messages)) if (one := _conclusion(span, calls))]


def evidence_after(messages: Sequence[Stored], seq: int) -> str:
    """Return the evidence for the work of the task that a message belongs to; empty without
    evidence, and for a session that read the web or foreign servers."""
    if reads_foreign(messages):
        return ""
    for span in task_spans(list(messages)):
        if any(one.seq == seq for one in span.messages):
            objected = span.after and reaction_to_work(plain_text(span.after.message)) == "bad"
            return "" if objected else _evidence(list_attempts(span.messages))
    return ""


def reads_foreign(messages: Iterable[Stored]) -> bool:
    """Check whether a session read the web or servers that are not ours."""
    return any(_is_foreign(call.name) for one in messages for call in one.message.calls)


def _is_foreign(tool: str) -> bool:
    """Check whether a tool reads the web or a server that is not ours."""
    name = tool.lower()
    return (name.startswith("mcp") and not is_own_tool(tool)) or any(word in name for word in _WEB)


def _conclusion(span: Span, calls: Sequence[CallAttempt]) -> SessionObservation | None:
    replies = [one for one in span.messages if one.message.role == "assistant"]
    if not replies or replies[-1].message.calls:
        return None
    last = replies[-1]
    text = _sentence(plain_text(last.message))
    if not text or (span.after and reaction_to_work(plain_text(span.after.message)) == "bad"):
        return None
    evidence = _evidence(attempts_in(span, calls))
    if not evidence:
        return None
    session = str(getattr(last, "session", ""))
    body = {"text": text, "session": session, "evidence": evidence}
    return SessionObservation("conclusion", f"{session}:{last.seq}", last.message.at, body)


def _evidence(tried: Sequence[CallAttempt]) -> str:
    """Return the evidence for the work of a task: a commit, or a last check that passed; else
    empty."""
    checks = [one for one in tried if one.checks and one.state in ("ok", "failed")]
    if checks and checks[-1].state == "failed":
        return ""
    commits = commits_of(tried)
    if commits:
        return f"commit {commits[-1][1].hash[:10]}"
    return "the last check passed" if checks else ""


def _sentence(text: str) -> str:
    """Return the first sentence that gives a cause and names something."""
    for sentence in _sentences(text):
        fits = SHORTEST <= len(sentence) <= LONGEST and sentence[-1] != "?"
        if not fits or re.search(_NEEDS_CONTEXT, sentence):
            continue
        if re.search(_CAUSE, sentence) and re.search(_NAMED, sentence):
            return sentence
    return ""


def _sentences(text: str) -> Iterable[str]:
    for line in text.splitlines():
        if line.lstrip().startswith(("#", "|", "```", ">")):
            continue
        bare = re.sub(r"^\s*(?:[-*+]|\d+[.)])\s+", "", line).replace("**", "")
        for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z`])", bare):
            yield " ".join(sentence.split())


_CAUSE = (
    r"(?i)\b(?:because|caused by|root cause|due to|fixed by|turned out"
    r"|the (?:issue|problem|bug|cause|reason) (?:was|is))\b"
)
_NEEDS_CONTEXT = (
    r"(?i)^(?:it|this|that|these|those|they|both|all|here|there)\b"
    r"|\b(?:the|these|those) (?:other|two|three|same|above|following|previous|remaining)\b"
    r"|\bth(?:is|ese|at|ose) (?:pattern|file|test|line|case|change|fix|way|one|session)s?\b"
    r"|\blines? \d|\babove\b|\bbelow\b"
)
"""Match words that refer to something the next session does not see."""

_NAMED = r"`[^`]{2,60}`|\b[\w-]+/[\w./-]+|\b\w+\.\w{1,4}\b|\b[a-z]+[A-Z]\w+|\w+_\w+|\d"
