"""Operations that find: recall, show, session search, and keeping the index complete."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from ..briefing import operations as briefing_operations
from ..briefing import steps_pages as briefing_steps_pages
from ..context import Context
from ..errors import InvalidInput, NotFound
from ..fast_typing import TypedDict, Unpack
from ..freshness import steps as freshness_steps
from ..index import steps as index_steps
from ..memory import operations as memory_operations
from ..memory import steps_verify as memory_steps_verify
from ..memory import steps_visible as memory_steps_visible
from ..memory.operations import among
from ..project import worktree_root
from ..storage.database import Database
from ..text import dates
from ..types.records import KINDS, LAYERS, ROLES, STATUSES, Hit, Recalled
from . import steps, steps_evaluation, steps_hits, steps_reindex, steps_session_search, steps_show
from .evaluation_questions import SOURCES, RepositoryCommit


class RecallFilters(TypedDict, total=False):
    """Which records may answer, and how much of them.

    kind: only these kinds of memory, or message, episode, procedure (repeat for several)
    layer: only these layers: session, task, project, user (repeat for several)
    tags: only memories with all these tags (repeat for several)
    file: only memories that apply to this path
    session: only this session
    since: not older than: 2026-05-01, 3d, 2w, yesterday
    until: older than: 2026-05-01, 3d, 2w, yesterday
    status: active, proposed, archived, superseded, quarantined (repeat for several)
    as_of: answer from what was believed then: 2026-05-01, 3d, last week
    around: also so many messages before and after each message
    explain: say of each hit what spoke for it
    """

    kind: Sequence[str]
    layer: Sequence[str]
    tags: Sequence[str]
    file: str
    session: str
    since: str
    until: str
    status: Sequence[str]
    as_of: str
    around: int
    explain: bool


_OTHERS = ("message", "episode", "procedure")

_FOUND = (*KINDS, *_OTHERS, *ROLES, "scratch", "notes", "continuity", "task", "ledger", "handoff")

"""What a hit can be."""


def search_sessions(
    context: Context, query: str, max_sessions: int = 10, max_results: int = 5, mode: str = "ranked"
) -> tuple[steps_session_search.SessionMatch, ...]:
    """Find what was said in past sessions, also what left the window long ago.

    query: a question, a phrase or a few words
    max_sessions: from at most so many sessions
    max_results: at most so many messages
    mode: ranked (the general search), or plain (phrase 3, each word 1, most of them 1.5, title
        0.5; newest first on ties)

    Example: recollect session search "why we chose atomic writes"
    Example: recollect session search "token refresh" --mode plain --max-results 3
    """
    now = context.clock()
    found = context.project_space.read(
        lambda tx: steps_session_search.search_messages(
            tx, query, max_sessions, max_results, mode, now
        )
    )
    return tuple(found)


def recall(
    context: Context, query: str, limit: int = 0, budget: int = 0, **filters: Unpack[RecallFilters]
) -> Recalled:
    """Find what was learned, said and done, by words, meaning and time; best first.

    query: a question or a few words
    limit: at most so many hits (setting recall_limit)
    budget: at most so many tokens of text (setting recall_budget)

    Example: recollect recall "how do we run the tests"
    Example: recollect recall "what did I say about the release last week" --around 1
    Example: recollect recall "rate limit" --kind fact --since 2w --budget 300
    """
    now = context.clock()
    return answer_question(context, _question(context, query, limit, budget, filters, now), now)


def _question(
    context: Context, query: str, limit: int, budget: int, filters: RecallFilters, now: int
) -> steps.RecallQuestion:
    return steps.RecallQuestion(
        query=query,
        limit=limit or context.settings.recall_limit,
        budget=budget or context.settings.recall_budget,
        kinds=among("kind", tuple(filters.get("kind", ())), _FOUND),
        layers=among("layer", tuple(filters.get("layer", ())), LAYERS),
        statuses=among("status", tuple(filters.get("status", ())), STATUSES)
        or steps.RecallQuestion._field_defaults["statuses"],
        tags=tuple(filters.get("tags", ())),
        file=context.path_in_project(filters.get("file", "")),
        session=filters.get("session", ""),
        since=dates.parse_time_filter(filters.get("since", ""), now),
        until=dates.parse_time_filter(filters.get("until", ""), now),
        as_of=dates.parse_time_filter(filters.get("as_of", ""), now),
        around=filters.get("around", 0),
        explain=filters.get("explain", False),
    )


def recall_unprompted(context: Context, query: str, limit: int, file: str = "") -> tuple[Hit, ...]:
    """Find what may be shown to somebody who did not ask for it."""
    now = context.clock()
    question = _question(context, query, limit, 4000, {"file": file}, now)
    own = context.read_both(memory_steps_visible.find_owners)
    return tuple(filter(_may_be_shown, answer_question(context, question._replace(seen=own), now)))


def recall_lessons(context: Context, query: str, limit: int, file: str = "") -> Recalled:
    """Find what matters for a task: everything but what was said in conversations."""
    now = context.clock()
    question = _question(context, query, limit, 4000, {"file": file}, now)
    own = context.read_both(memory_steps_visible.find_owners)
    sources = ("memory", "episode", "procedure", "document")
    return answer_question(
        context, question._replace(seen=own, sources=sources, statuses=("active",)), now
    )


def answer_question(context: Context, question: steps.RecallQuestion, now: int) -> Recalled:
    embedder = context.embedder()
    indexed = reindex_outdated(context)
    if embedder and embedder.local:
        for space in context.present_spaces():
            index_steps.embed_recent(space, embedder, now)
    found = context.read_both(lambda txs: steps.recall(txs, question, now, embedder))
    if indexed:
        found.notes += (f"{indexed} records of an earlier version were indexed again first",)
    memory_operations.note_recalls(context, steps_hits.memory_ids(found), now)
    unchecked = [hit.id for hit in found if hit.freshness]
    return (
        steps_hits.mark_freshness(found, freshness_steps.check_freshness(context, unchecked))
        if unchecked
        else found
    )


def show(context: Context, address: str) -> steps_show.ShownRecord:
    """One record whole: a memory with its history, a session, messages, a document.

    address: an id (or its beginning), or a memory:// address

    Example: recollect show m-4k9w2c
    Example: recollect show memory://session/s-1/messages/10-20
    """
    memory_operations.write_recalls(context)
    if address.removeprefix("memory://").partition("/")[0] == "root":
        shown = _root(context, address)
    else:
        shown = context.read_both(lambda txs: steps_show.show_record(txs, address))
    if shown is None:
        raise NotFound("there is no such record", where=address, hint=_where_it_is(address))
    if shown.memory and freshness_steps.check_freshness(context, [shown.memory.id]):
        id = shown.memory.id
        said = context.project_space.read(lambda tx: memory_steps_verify.load_checked(tx, id))
        shown = shown._replace(claims=said)
    return steps_show.with_session_status(shown, context.clock())


def _root(context: Context, address: str) -> steps_show.ShownRecord | None:
    place = steps_show.parse_address(address)
    if not place.path:
        text = briefing_operations.make_briefing(context).text
    elif place.path == "MEMORY.md":
        text = context.read_both(briefing_steps_pages.memory_md)
    else:
        text = context.read_both(
            lambda txs: briefing_steps_pages.skill_md(txs, place.path.split("/")[1])
        )
    made = briefing_steps_pages.document(place, text)
    return steps_show.ShownRecord(document=made) if made else None


Indexing = Callable[[Database, Callable[[int], object] | None], int]


def reindex_outdated(context: Context) -> int:
    """Index what an earlier version indexed differently; return the count."""
    waiting = [space for space in context.present_spaces() if space.read(steps.words_missing)]
    return reindex_spaces(context, waiting, steps_reindex.renew_index) if waiting else 0


def reindex_spaces(context: Context, spaces: Sequence[Database], index: Indexing) -> int:
    """Index everything in these spaces by its words; return the count."""
    advance = None
    if context.progress:
        total = sum(space.read(steps_reindex.count_indexed) for space in spaces)
        advance = context.progress_of("words", total)
    return sum(index(space, advance) for space in spaces)


def make_vectors(context: Context) -> int:
    """Make all vectors that are missing; return the count."""
    embedder = context.embedder()
    if embedder is None:
        return 0
    now = context.clock()
    spaces = context.present_spaces()
    advance = None
    if context.progress:
        missing = sum(space.read(index_steps.measure_coverage).unembedded for space in spaces)
        advance = context.progress_of("meaning", missing)
    return sum(index_steps.embed_missing(space, embedder, now, tell=advance) for space in spaces)


def _may_be_shown(hit: Hit) -> bool:
    """Whether somebody who did not ask for it may be told: see `briefing.selection`."""
    return hit.status == "active" and hit.trust not in ("tool", "import")


_MAKERS = {
    "notes": "`recollect notes set` writes it",
    "continuity": "`recollect continuity` makes it",
    "task": "`recollect task list` shows what there is",
    "handoff": "`recollect handoff list` shows what there is",
    "ledger": "`recollect ledger AGENT` writes one",
    "scratch": "`recollect scratch list` shows what there is",
    "session": "`recollect session list` shows what there is",
    "root": "it is made of what was learned: `recollect list`, `recollect procedure list`",
}


def _where_it_is(address: str) -> str:
    """What to do where nothing stands at an address."""
    kind = address.removeprefix("memory://").partition("/")[0]
    return _MAKERS.get(kind) or "`recollect list` and `recollect session list` show what there is"


_SECOND = 1_000_000


def evaluate(
    context: Context, sample: int = 100, seed: int = 0, source: Sequence[str] = (), missed: int = 0
) -> steps_evaluation.Evaluation:
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
    wanted = steps_evaluation.EvaluationOptions(sample, seed, tuple(source), missed)
    if not context.project_space.present():
        return steps_evaluation.empty_evaluation()
    commits = _commits(context)
    gathered = context.project_space.read(
        lambda tx: steps_evaluation.gather_questions(tx, commits, wanted)
    )
    rankers: dict[str, steps_evaluation.Ranker] = {"words": steps.recall}
    embedder = context.embedder()
    if embedder and gathered.asked:
        make_vectors(context)
        rankers["words and meaning"] = partial(steps.recall, embedder=embedder)
    tell = context.progress_of("questions", len(gathered.asked) * len(rankers))
    now = context.clock()
    return context.read_both(
        lambda txs: steps_evaluation.run_evaluation(txs, gathered, rankers, wanted, now, tell)
    )


def _commits(context: Context) -> list[RepositoryCommit]:
    from ..freshness.git_io import Git

    found = Git(worktree_root(context.project.start) or context.project.root).commits()
    return [
        RepositoryCommit(hash, at * _SECOND, subject, files) for hash, at, subject, files in found
    ]
