"""Operations that put memory in front of the model, checked against the code."""

from collections.abc import Sequence
from typing import Literal, NamedTuple, overload

from .. import flows
from ..errors import InvalidInput
from ..types import Hit
from .opened import new_id
from .tending import Tending


class TaskBriefing(NamedTuple):
    """What is worth knowing before a task."""

    phase: str
    patterns: tuple[Hit, ...]
    avoid: tuple[Hit, ...]
    skills: tuple[Hit, ...]


class Briefings(Tending):
    """Briefing, before-task, verify."""

    def briefing(
        self,
        session: str = "",
        query: str = "",
        files: Sequence[str] = (),
        budget: int = 0,
        explain: bool = False,
    ) -> "flows.brief.Briefing":
        """What a model should see now: the stable block of a session, and what fits this turn.

        session: the session it is for; its stable block is made once and then stays the same
        query: what the user asks; without it the block for the start of a session is made
        files: files in play (repeat for several)
        budget: at most so many tokens (setting briefing_budget)
        explain: show why each item is in, and why others are not

        Example: recollect briefing
        Example: recollect briefing --session s-1 --query "fix the login test" --explain
        """
        why_not = flows.brief.unwanted(self.settings.mode, query)
        if why_not:
            return flows.brief.EMPTY._replace(notes=(why_not,), explained=explain)
        ask = flows.brief.Ask(session, query, tuple(files))
        now = self._clock()
        loaded = self._both(lambda txs: flows.brief.load(txs, ask, now))
        ids = [one.memory.id for one in loaded.candidates if one.memory.layer != "user"]
        fresh = self._freshness(ids)
        limit = budget or self.settings.briefing_budget
        withhold = self.settings.stale == "withhold"
        _, briefing = flows.brief.decide(loaded, ask, fresh, limit, withhold)
        if session and self._project_space.present():
            self._log_briefing(session, briefing, frozen=loaded.frozen is not None)
        return briefing._replace(explained=explain)

    def _reminder(self, session: str, files: Sequence[str]) -> str:
        """What applies to these files and was not shown in the session before; mostly nothing."""
        if flows.brief.unwanted(self.settings.mode, ""):
            return ""
        ask = flows.brief.Ask(session, "", tuple(files))
        now = self._clock()
        loaded = self._both(lambda txs: flows.brief.load_for_files(txs, ask, now))
        if not loaded.candidates:
            return ""
        ids = [one.memory.id for one in loaded.candidates if one.memory.layer != "user"]
        fresh = self._freshness(ids)
        withhold = self.settings.stale == "withhold"
        _, told = flows.brief.decide(loaded, ask, fresh, self.settings.briefing_budget, withhold)
        if told.items:
            self._log_briefing(session, told, frozen=True)
        return told.turn if loaded.frozen else told.text

    def _log_briefing(self, session: str, briefing: "flows.brief.Briefing", frozen: bool) -> None:
        now = self._clock()
        if not frozen:
            self._project_space.write(lambda tx: flows.brief.freeze(tx, session, briefing, now))
        rows = [(new_id("i"), item) for item in briefing.items]
        if rows:
            self._project_space.note(lambda tx: flows.brief.log(tx, session, now, rows, now))

    def before_task(self, goal: str, phase: str = "", files: Sequence[str] = ()) -> TaskBriefing:
        """Patterns, things to avoid and skills that matter for a task.

        goal: what is to be done
        phase: exploration, implementation, debugging, review or refactoring; read from the goal
        files: files it is about (repeat for several)

        Example: recollect before-task "fix the failing login test" --file tests/test_login.py
        """
        from ..core import phases

        chosen = phases.checked(phase, goal)
        hits = {hit.id: hit for hit in self.recall(goal, limit=20, budget=4000)}
        for path in files:
            for hit in self.recall(goal, limit=10, budget=4000, file=path):
                hits.setdefault(hit.id, hit)
        known = [hit for hit in hits.values() if hit.kind != "message"]
        source = {"episode": "episodic", "workflow": "skills", "procedure": "skills"}
        found = [phases.Found(hit.id, source.get(hit.kind, "semantic"), hit.score) for hit in known]
        ranked = [hits[item.found.id] for item in phases.blend(found, chosen)]
        avoid = tuple(hit for hit in ranked if hit.kind == "pitfall")[:5]
        skills = tuple(hit for hit in ranked if hit.kind in ("workflow", "procedure"))[:3]
        rest = tuple(hit for hit in ranked if hit not in avoid and hit not in skills)[:5]
        return TaskBriefing(chosen, rest, avoid, skills)

    @overload
    def verify(
        self, archive: Literal[False] = False, fix: bool = False
    ) -> "flows.follow.Report": ...

    @overload
    def verify(self, archive: Literal[True], fix: bool = False) -> "flows.verify.Verified": ...

    def verify(
        self, archive: bool = False, fix: bool = False
    ) -> "flows.follow.Report | flows.verify.Verified":
        """Check what memories say about files and functions against the code; or the archive.

        archive: prove that every message is there, unchanged and in its place, instead
        fix: follow what moved, also in the texts that name it

        Example: recollect verify --fix
        Example: recollect verify --archive
        """
        if archive:
            if fix:
                raise InvalidInput("the archive is proven, not fixed", where="verify")
            return flows.verify.archive(self._project_space)
        return flows.follow.report(self._project_space, self._tree(), fix, self._clock(), new_id)
