"""The operation that measures recall on the user's own history."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ..context import Context
from ..errors import InvalidInput
from ..project import top_of
from . import operations, steps, steps_evaluation
from .evaluation_questions import SOURCES, Commit

_SECOND = 1_000_000


def evaluate(
    context: Context, sample: int = 100, seed: int = 0, source: Sequence[str] = (), missed: int = 0
) -> steps_evaluation.Evaluated:
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
    wanted = steps_evaluation.Wanted(sample, seed, tuple(source), missed)
    if not context.project_space.present():
        return steps_evaluation.nothing()
    commits = _commits(context)
    gathered = context.project_space.read(lambda tx: steps_evaluation.gather(tx, commits, wanted))
    rankers: dict[str, steps_evaluation.Ranker] = {"words": steps.recall}
    embedder = context.embedder()
    if embedder and gathered.asked:
        operations.make_vectors(context)
        rankers["words and meaning"] = partial(steps.recall, embedder=embedder)
    tell = context.progress_of("questions", len(gathered.asked) * len(rankers))
    now = context.clock()
    return context.read_both(
        lambda txs: steps_evaluation.ask(txs, gathered, rankers, wanted, now, tell)
    )


def _commits(context: Context) -> list[Commit]:
    from ..freshness.git_io import Git

    found = Git(top_of(context.project.start) or context.project.root).commits()
    return [Commit(hash, at * _SECOND, subject, files) for hash, at, subject, files in found]
