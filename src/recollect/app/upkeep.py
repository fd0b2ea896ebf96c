"""Operations on the store itself: init, stats, verify, backup, doctor."""

from __future__ import annotations

import os
from functools import partial
from typing import NamedTuple

from ..core import secrets, tokens
from ..db.database import Database
from ..errors import InvalidInput, RecollectError, StoreCorrupt
from ..flows import survey
from ..flows import verify as proving
from ..places import mark_project
from .opened import Opened, new_id


class Initialised(NamedTuple):
    """Where the project's memory is now."""

    root: str
    database: str
    created: bool


class Check(NamedTuple):
    """One thing that `doctor` looked at."""

    name: str
    ok: bool
    detail: str


class Diagnosis(NamedTuple):
    """What works and what is degraded."""

    ok: bool
    checks: tuple[Check, ...]


class BackedUp(NamedTuple):
    """A copy that was written, checked and moved into place."""

    path: str
    bytes: int


class Verified(NamedTuple):
    """The archive's proof: how many sessions and messages hold."""

    sessions: int
    messages: int
    problems: tuple[proving.Proof, ...] = ()


class Upkeep(Opened):
    """Make, measure, prove, copy and examine the store."""

    def init(self) -> Initialised:
        """Make this directory (or its git repository) a project with a memory of its own.

        Example: recollect init
        """
        created = not os.path.exists(self.project.database)
        if self.settings.mode != "incognito":
            mark_project(self.project)
        self._project_space.write(lambda tx: tx.one("SELECT 1"))
        return Initialised(self.project.root, self.project.database, created)

    def stats(self) -> survey.Stats:
        """Counts of everything that is kept, by kind, layer and status.

        Example: recollect stats --json
        """
        spaces = (self._project_space, self._user_space)
        parts = [space.read(survey.count) for space in spaces]
        sizes = tuple(space.health().size for space in spaces)
        return survey.combined(parts, sizes, tokens.estimate)

    def verify(self, archive: bool = False) -> Verified:
        """Prove that the archive is intact: every message is there, unchanged and in its place.

        archive: check every session's hash chain

        Example: recollect verify --archive
        """
        if not archive:
            raise InvalidInput("say what to verify", where="verify", hint="recollect verify --archive")
        ids = self._project_space.read(proving.session_ids)
        proofs = [
            self._project_space.read(partial(proving.verify_session, session=id)) for id in ids
        ]
        broken = tuple(proof for proof in proofs if proof.problem)
        if broken:
            first = broken[0]
            raise StoreCorrupt(
                f"the archive is damaged: {first.problem}",
                where=f"session {first.session}; {len(broken)} of {len(proofs)} sessions",
                hint="compare with a copy made by `recollect backup`",
            )
        return Verified(len(proofs), sum(proof.messages for proof in proofs))

    def backup(self, path: str) -> BackedUp:
        """Write a whole copy of the project's store to a new file, safely while others write.

        path: the new file; an existing one is never overwritten

        Example: recollect backup ~/memory-copy.db
        """
        target = os.path.abspath(os.path.expanduser(path))
        return BackedUp(target, self._project_space.backup(target))

    def doctor(self) -> Diagnosis:
        """Prove that a write can be read back, and say what is degraded.

        Example: recollect doctor
        """
        checks = [*_examine("project", self._project_space), *_examine("user", self._user_space)]
        try:
            checks.append(Check("write and read", True, self._round_trip()))
        except RecollectError as error:
            checks.append(Check("write and read", False, str(error)))
        checks.append(Check("mode", True, self.settings.mode))
        return Diagnosis(all(check.ok for check in checks), tuple(checks))

    def _round_trip(self) -> str:
        token = secrets.safe(new_id("check"))
        now = self._clock()
        self._project_space.write(lambda tx: survey.leave(tx, token, now))
        self._project_space.close()
        found = self._project_space.write(survey.take)
        if found != token:
            raise StoreCorrupt("what was written could not be read back", where="doctor")
        return "written, read back, removed"


def _examine(name: str, space: Database) -> list[Check]:
    """What a space's engine says of itself, after reading all of it."""
    try:
        report = space.health(deep=True)
    except RecollectError as error:
        return [Check(f"{name} store", False, str(error))]
    line = f"{report.engine} {report.version}, {report.durability}, {report.place or 'in memory'}"
    problems = [Check(f"{name} store", False, problem) for problem in report.problems]
    return [Check(f"{name} store", True, line), *problems]
