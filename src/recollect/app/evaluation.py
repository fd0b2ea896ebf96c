"""The operation that measures recall on the user's own history."""

from collections.abc import Sequence
from functools import partial

from .. import flows
from ..core.questions import SOURCES, Commit
from ..errors import InvalidInput
from ..places import top_of
from .memories import Memories

_SECOND = 1_000_000


class Evaluation(Memories):
    """Ask what the history itself answers."""

    def evaluate(
        self, sample: int = 100, seed: int = 0, source: Sequence[str] = (), missed: int = 0
    ) -> "flows.evaluate.Evaluated":
        """Measure recall on your own history, with questions that it answers itself.

        sample: at most so many questions of each source
        seed: which ones; the same seed asks the same
        source: only these: commits (a commit's subject finds the session it was made in), answers
            (a question finds the reply to it), files (a file's name finds the sessions that
            changed it), memories (half of its words find a memory); repeat for several
        missed: also show so many questions whose answer was not found

        Example: recollect eval
        Example: recollect eval --source commits --sample 50 --missed 5
        """
        for name in source:
            if name not in SOURCES:
                raise InvalidInput(
                    f"{name!r} is not a source of questions",
                    where="source",
                    hint=f"one of: {', '.join(SOURCES)}",
                )
        if not sample:
            raise InvalidInput("there is nothing to measure without questions", where="sample")
        wanted = flows.evaluate.Wanted(sample, seed, tuple(source), missed)
        if not self._project_space.present():
            return flows.evaluate.nothing()
        commits = self._commits()
        gathered = self._project_space.read(lambda tx: flows.evaluate.gather(tx, commits, wanted))
        rankers: dict[str, flows.evaluate.Ranker] = {"words": flows.recall.recall}
        embedder = self._meaning()
        if embedder and gathered.asked:
            self._make_vectors()
            rankers["words and meaning"] = partial(flows.recall.recall, embedder=embedder)
        tell = self._telling("questions", len(gathered.asked) * len(rankers))
        now = self._clock()
        return self._both(lambda txs: flows.evaluate.ask(txs, gathered, rankers, wanted, now, tell))

    def _commits(self) -> list[Commit]:
        from ..worktree.git import Git

        found = Git(top_of(self.project.start) or self.project.root).commits()
        return [Commit(hash, at * _SECOND, subject, files) for hash, at, subject, files in found]
