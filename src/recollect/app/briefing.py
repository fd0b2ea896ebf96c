"""The operation that puts memory in front of the model: a hook needs it and no other."""

from collections.abc import Sequence

from .. import flows
from .looking import Looking
from .opened import new_id


class Briefing(Looking):
    """Briefing."""

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
        # That nothing applies is found out before anything else is loaded.
        if not self._both(lambda txs: any(flows.scoped.applies(tx, files) for tx in txs)):
            return ""
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
