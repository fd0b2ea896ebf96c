"""Count how often a command worked and failed in a session, and in which wordings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from ..actions.command_forms import CommandForm
from ..actions.command_words import purpose_of
from ..types.records import Json
from .session_errors import SessionObservation

CHECKS = frozenset(("test", "lint", "format", "typecheck", "check", "build"))
"""Purposes of commands that fail because the code is wrong, not the command."""

MOST_WORDINGS = 4
"""The wordings of a command that are kept of a session."""


class CommandTally:
    """Counts the successes and failures of a command form in a session."""

    def __init__(self, form: CommandForm) -> None:
        self.form = form
        self.counts: Counter[str] = Counter()
        self.last: dict[str, int] = {}
        self.wordings: Counter[str] = Counter()
        self.folders: set[str] = set()
        self.targets: dict[str, None] = {}
        self.broken: set[str] = set()
        self.replaced_by = ""
        self.passed: dict[str, bool] = {}
        """Check whether a wording passed when it was last run."""

    def worked(self, form: CommandForm, at: int) -> None:
        same = form.exact in self.broken
        if self.broken and not same and form.purpose not in CHECKS:
            # Another way of calling it failed: only the exact command is known to work.
            if not form.exact:
                return
            form = form._replace(wording=form.exact)
            self.wordings.clear()
        self.passed[form.wording] = True
        self.counts["ok"] += 1
        self.last["ok"] = max(at, self.last.get("ok", 0))
        if not form.target and "" not in self.targets:
            self.wordings.clear()  # a wording without a target is preferred
        if not form.target or "" not in self.targets:
            self.wordings[form.wording] += 1
        self.folders.add(form.folder)
        self.targets[form.target] = None

    def broke(self, form: CommandForm) -> None:
        """Note that a wording failed, for any reason."""
        self.passed[form.wording] = False

    def failed(self, form: CommandForm, at: int) -> None:
        self.counts["failed"] += 1
        self.last["failed"] = max(at, self.last.get("failed", 0))
        self.broken.add(form.exact or "?")

    def observation(self, scripts: Mapping[str, str]) -> SessionObservation:
        script = script_in(self.form.key, scripts)
        body: dict[str, Json] = {
            "purpose": self.form.purpose or purpose_of(scripts.get(script, "").split()[:6]),
            "ok": self.counts["ok"],
            "failed": self.counts["failed"],
            "last_ok": self.last.get("ok", 0),
            "last_failed": self.last.get("failed", 0),
        }
        worked = [name for name, _ in self.wordings.most_common()]
        # A wording that failed last is shown only if no other one worked.
        if ran := [name for name in worked if self.passed.get(name, True)] or worked:
            body["wording"] = ran[0]
            body["ran"] = ran[:MOST_WORDINGS]
        broken = [name for name, passed in self.passed.items() if not passed and name not in ran]
        if broken:
            body["broken"] = broken[-MOST_WORDINGS:]
        if len(self.folders) == 1 and (folder := next(iter(self.folders))):
            body["folder"] = folder
        if given := [target for target in self.targets if target]:
            body["below"] = common_folder(given)
        if "" not in self.targets:
            body["aimed"] = True
        if self.replaced_by:
            body["replaced_by"] = self.replaced_by
        if script:
            body["script"] = script
        return SessionObservation("command", self.form.key, max(self.last.values()), body)


def common_folder(paths: Iterable[str]) -> str:
    """Return the deepest folder that all paths are in; empty without one."""
    split = [_folders(path) for path in paths]
    common = []
    for parts in zip(*split, strict=False):
        if len(set(parts)) > 1:
            break
        common.append(parts[0])
    return "/".join(common)


def _folders(path: str) -> list[str]:
    """Return the folders of a path: those of `./cmd/cli/...` and `cmd/cli/a.go` are `cmd/cli`."""
    parts = path.removeprefix("./").rstrip("/").split("/")
    is_folder = path.endswith("/") or (len(parts) > 1 and not any(c in parts[-1] for c in ".*:"))
    return [part for part in (parts if is_folder else parts[:-1]) if part]


def script_in(key: str, scripts: Mapping[str, str]) -> str:
    """Return the script of a manifest that a command runs, if it runs one."""
    words = key.split()
    return words[-1] if len(words) > 1 and words[-1] in scripts else ""
