"""Operations that keep memories true: confirm, correct, remember, archive, prune, judge."""

from __future__ import annotations

from collections.abc import Sequence

from ..context import new_id
from ..errors import NotFound
from ..types.records import Learned, Memory
from . import (
    steps,
    steps_clear,
    steps_layers,
    steps_lifecycle,
    steps_scope,
    steps_verify,
    steps_versions,
)
from .operations import Memories


class Tending(Memories):
    """Confirm, correct, remember, archive, restore, prune, clear, feedback, history."""

    def confirm(self, id: str) -> Memory:
        """Stand behind a memory: a new version, trusted as yours, and active.

        id: the memory's id, or the beginning of it

        Example: recollect confirm m-4k9w2c
        """
        fresh, now = new_id("m"), self._clock()
        rows = self._tend(id, lambda tx: steps_verify.claimed(tx, id), write=False)
        known = steps_verify.pinned_anew(self._tree(), rows) if rows else ()
        return self._tend(
            id, lambda tx: steps_lifecycle.confirm(tx, id, self.origin, now, fresh, known)
        )

    def correct(self, id: str, text: str, reason: str = "") -> Memory:
        """Put another text in a memory's place; the old one stays in its history.

        id: the memory's id, or the beginning of it
        text: what is true now
        reason: why it changed

        Example: recollect correct m-4k9w2c "Redis listens on port 6390"
        """
        now = self._clock()
        old = self._tend(id, lambda tx: steps_lifecycle.open_memory(tx, id), write=False)
        draft = steps.Draft(
            text,
            old.kind,
            subject=old.subject,
            scope=old.scope,
            reason=reason,
            layer=old.layer,
            owner=old.owner,
        )
        ready = steps.prepare(draft, self.origin, now, new_id("m"))
        around = self._space_of(old.layer).read(lambda tx: steps_versions.neighbours(tx, ready.row))
        known = () if old.layer == "user" else self._pinned(ready.row.text, old.citations)
        return self._tend(id, lambda tx: steps_lifecycle.correct(tx, id, ready, now, around, known))

    def remember(self, id: str) -> Memory:
        """Reinforce a memory: its clock of decay begins anew.

        id: the memory's id, or the beginning of it

        Example: recollect remember m-4k9w2c
        """
        now = self._clock()
        return self._tend(id, lambda tx: steps_lifecycle.reinforce(tx, id, now))

    def archive(self, id: str) -> Memory:
        """Hide a memory: still found by recall, never injected; `restore` takes it back.

        id: the memory's id, or the beginning of it

        Example: recollect archive m-4k9w2c
        """
        now = self._clock()
        return self._tend(
            id, lambda tx: steps_lifecycle.set_status(tx, id, "archived", self.origin, now)
        )

    def restore(self, id: str) -> Memory:
        """Take a memory back out of the archive.

        id: the memory's id, or the beginning of it

        Example: recollect restore m-4k9w2c
        """
        now = self._clock()
        return self._tend(
            id, lambda tx: steps_lifecycle.set_status(tx, id, "active", self.origin, now)
        )

    def feedback(self, id: str, verdict: str, session: str = "") -> steps_lifecycle.Judged:
        """Say what came of a memory that was used; it counts in ranking.

        id: the memory's id, or the beginning of it
        verdict: helped, wrong or stale
        session: only for its injections into this session

        Example: recollect feedback m-4k9w2c helped
        """
        now = self._clock()
        return self._tend(id, lambda tx: steps_lifecycle.judge(tx, id, verdict, session, now))

    def prune(
        self, max_age_days: float = 90.0, min_confidence: float = 0.3, apply: bool = False
    ) -> steps_lifecycle.Pruned:
        """Archive memories that are old and unused, or doubtful; shows them first.

        max_age_days: not reinforced, confirmed or recalled for so long
        min_confidence: less sure than this
        apply: really archive them; `restore` takes one back

        Example: recollect prune
        Example: recollect prune --max-age-days 180 --apply
        """
        now = self._clock()
        self._write_recalls()
        run = self._project_space.write if apply else self._project_space.read
        return run(
            lambda tx: steps_lifecycle.prune(
                tx, max_age_days, min_confidence, apply, self.origin, now
            )
        )

    def clear(self, apply: bool = False) -> steps_clear.Cleared:
        """Hide all that the project has learned: memories, episodes, procedures; counts first.

        apply: really hide it, at a terminal; `clear undo` takes it back

        Example: recollect clear
        Example: recollect clear --apply
        """
        now = self._clock()
        self._write_recalls()
        run = self._project_space.write if apply else self._project_space.read
        return run(lambda tx: steps_clear.clear(tx, apply, self.origin, new_id("u"), now))

    def undo_clear(self) -> steps_clear.Returned:
        """Take back the last clearing: what it hid is in use again, each as it was.

        Example: recollect clear undo
        """
        return self._project_space.write(lambda tx: steps_clear.undo(tx, self.origin))

    def history(self, id: str) -> tuple[Memory, ...]:
        """Every version of a memory, oldest first, with the time it was believed.

        id: the id of any version, or the beginning of it

        Example: recollect history m-4k9w2c
        """
        return tuple(self._tend(id, lambda tx: steps_lifecycle.history(tx, id), write=False))

    def for_file(self, path: str, limit: int = 20) -> tuple[Memory, ...]:
        """What applies to a file: memories whose scope takes it in, the most specific first.

        path: a path inside the project
        limit: at most so many

        Example: recollect for-file src/api/users.py
        """
        place = self._in_project(path).removeprefix("./")
        found = self._both(
            lambda txs: [
                item
                for own in [steps_layers.owners_of_memories(txs)]
                for tx in txs
                for item in steps_scope.for_file(tx, place, limit, own)
            ]
        )
        return tuple(found[:limit])

    def add_discovery(self, fact: str, confidence: float = 0.8) -> Learned:
        """Keep a fact about the codebase.

        fact: what was found out
        confidence: how sure you are, from 0 to 1

        Example: recollect add-discovery "Config uses YAML, not JSON" --confidence 0.9
        """
        return self.learn(fact, confidence=confidence)

    def add_solution(self, error: str, solution: str, examples: Sequence[str] = ()) -> Learned:
        """Keep an error with its fix.

        error: what went wrong
        solution: what helps
        examples: files it is about (repeat for several)

        Example: recollect add-solution "Session save: permission denied" "Own .clio/ yourself"
        """
        return self.learn(
            f"{error.strip().rstrip('.')}: {solution.strip()}",
            kind="solution",
            detail={"error": error, "fix": solution},
            examples=examples,
        )

    def add_pattern(
        self, pattern: str, confidence: float = 0.8, examples: Sequence[str] = ()
    ) -> Learned:
        """Keep a convention of the code.

        pattern: how things are done here
        confidence: how sure you are, from 0 to 1
        examples: files that show it (repeat for several)

        Example: recollect add-pattern "File writes use temp and rename" --example src/save.py
        """
        return self.learn(pattern, kind="pattern", confidence=confidence, examples=examples)

    def _tend(
        self, id: str, work: steps_lifecycle.Work[steps_lifecycle.Result], write: bool = True
    ) -> steps_lifecycle.Result:
        """Do work in the space that has the memory."""
        id = id.removeprefix("memory://")
        self._write_recalls()
        for space in (self._project_space, self._user_space):
            if space.present() and space.read(lambda tx: steps_lifecycle.has(tx, id)):
                return self._writable(space).write(work) if write else space.read(work)
        raise NotFound(
            "there is no such memory", where=id, hint="`recollect list` shows what there is"
        )
