"""Operations on the store itself: init, stats, verify, backup, doctor."""

from __future__ import annotations

import os

from .. import flows
from ..errors import InvalidInput
from ..places import mark_project
from .opened import Opened, new_id


class Upkeep(Opened):
    """Make, measure, prove, copy and examine the store."""

    def init(self) -> flows.survey.Initialised:
        """Make this directory (or its git repository) a project with a memory of its own.

        Example: recollect init
        """
        created = not os.path.exists(self.project.database)
        if self.settings.mode != "incognito":
            mark_project(self.project)
        self._project_space.write(lambda tx: tx.one("SELECT 1"))
        return flows.survey.Initialised(self.project.root, self.project.database, created)

    def stats(self) -> flows.survey.Stats:
        """Counts of everything that is kept, by kind, layer and status.

        Example: recollect stats --json
        """
        return flows.survey.stats(self._project_space, self._user_space)

    def verify(self, archive: bool = False) -> flows.verify.Verified:
        """Prove that the archive is intact: every message is there, unchanged and in its place.

        archive: check every session's hash chain

        Example: recollect verify --archive
        """
        if not archive:
            raise InvalidInput(
                "say what to verify", where="verify", hint="recollect verify --archive"
            )
        return flows.verify.archive(self._project_space)

    def backup(self, path: str) -> flows.survey.BackedUp:
        """Write a whole copy of the project's store to a new file, safely while others write.

        path: the new file; an existing one is never overwritten

        Example: recollect backup ~/memory-copy.db
        """
        target = os.path.abspath(os.path.expanduser(path))
        return flows.survey.BackedUp(target, self._project_space.backup(target))

    def doctor(self) -> flows.survey.Diagnosis:
        """Prove that a write can be read back, and say what is degraded.

        Example: recollect doctor
        """
        spaces = {"project": self._project_space, "user": self._user_space}
        return flows.survey.examine(spaces, self.settings.mode, new_id("check"), self._clock())
