"""What one session says about commands: which forms worked, failed, and replaced another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from ..actions.call_results import CallAttempt
from ..actions.command_forms import CommandForm, Run, runs_of
from ..actions.command_words import purpose_of
from ..types.records import Json
from .observations import Observation

NEAR = 8
"""How many calls later another form may work and still be taken for a replacement."""

CHECKS = frozenset(("test", "lint", "format", "typecheck", "check", "build"))
"""What fails because the code is wrong; the command itself is good."""

_WRONG_CALL = frozenset(
    ("usage", "command not found", "not found", "permission denied", "unsupported version")
)
"""Types of errors that say that the command is wrong, whatever it is for."""

_RUNNERS = frozenset(
    ("npm", "npx", "pnpm", "pnpx", "yarn", "bun", "bunx", "run", "exec", "uv", "poetry", "bundle")
)


def commands_of_session(
    tried: Sequence[CallAttempt], cwd: str, scripts: Mapping[str, str]
) -> list[Observation]:
    """Return an observation for each canonical form that was run; `scripts` are those that the
    project's manifests name, with what they run."""
    tallies: dict[str, _Tally] = {}
    ran = [(one, runs_of(one.script, one.state, cwd) if one.script else []) for one in tried]
    for place, (attempt, runs) in enumerate(ran):
        for run in runs:
            if run.form.is_dangerous:
                continue
            tally = tallies.setdefault(run.form.key, _Tally(run.form))
            if run.state == "ok":
                tally.worked(run.form, attempt.at)
            elif run.state == "failed" and _is_wrong_call(attempt, run.form):
                tally.failed(attempt.at)
                later = (one for _, after in ran[place + 1 : place + 1 + NEAR] for one in after)
                if better := next((one for one in later if _replaces(one, run.form)), None):
                    tally.replaced_by = better.form.key
    return [tally.observation(scripts) for tally in tallies.values() if tally.counts]


class _Tally:
    """How often a form worked and failed in a session."""

    def __init__(self, form: CommandForm) -> None:
        self.form = form
        self.counts: Counter[str] = Counter()
        self.last: dict[str, int] = {}
        self.wordings: Counter[str] = Counter()
        self.folders: set[str] = set()
        self.replaced_by = ""

    def worked(self, form: CommandForm, at: int) -> None:
        self.counts["ok"] += 1
        self.last["ok"] = max(at, self.last.get("ok", 0))
        self.wordings[form.wording] += 1
        self.folders.add(form.folder)

    def failed(self, at: int) -> None:
        self.counts["failed"] += 1
        self.last["failed"] = max(at, self.last.get("failed", 0))

    def observation(self, scripts: Mapping[str, str]) -> Observation:
        script = script_in(self.form.key, scripts)
        body: dict[str, Json] = {
            "purpose": self.form.purpose or purpose_of(scripts.get(script, "").split()[:6]),
            "ok": self.counts["ok"],
            "failed": self.counts["failed"],
            "last_ok": self.last.get("ok", 0),
            "last_failed": self.last.get("failed", 0),
        }
        if self.wordings:
            body["wording"] = self.wordings.most_common(1)[0][0]
        if len(self.folders) == 1 and (folder := next(iter(self.folders))):
            body["folder"] = folder
        if self.replaced_by:
            body["replaced_by"] = self.replaced_by
        if script:
            body["script"] = script
        return Observation("command", self.form.key, max(self.last.values()), body)


def script_in(key: str, scripts: Mapping[str, str]) -> str:
    """Return the script of a manifest that a command runs, if it runs one."""
    words = key.split()
    return words[-1] if len(words) > 1 and words[-1] in scripts else ""


def _is_wrong_call(attempt: CallAttempt, form: CommandForm) -> bool:
    kind = attempt.trouble.type if attempt.trouble else ""
    return form.purpose not in CHECKS or kind in _WRONG_CALL


def _replaces(run: Run, broken: CommandForm) -> bool:
    """Check whether another form that worked does what the failed one was to do."""
    form = run.form
    if run.state != "ok" or form.key == broken.key or form.is_dangerous:
        return False
    if form.purpose and form.purpose == broken.purpose:
        return True
    one, other = form.key.split(), broken.key.split()
    shared = set(one) & set(other) - _RUNNERS
    # A program with many commands says nothing about which of them does the same.
    return bool(shared - {one[0]}) or other == [one[0]]
