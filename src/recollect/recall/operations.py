"""Operations that search: recall, show, session search, reindexing, evaluation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import inf

from ..archive import steps_sessions as archive_steps_sessions
from ..context import Context
from ..errors import InvalidInput
from ..fast_typing import TypedDict, Unpack
from ..freshness import steps as freshness_steps
from ..index import sql as index_sql
from ..index import steps as index_steps
from ..memory import operations as memory_operations
from ..memory import steps_verify as memory_steps_verify
from ..memory import steps_visible as memory_steps_visible
from ..memory.operations import among
from ..project import worktree_root
from ..storage.database import Database, StemFrequencies, Tx
from ..text import addresses, dates
from ..types.records import (
    FOREVER,
    KINDS,
    LAYERS,
    ROLES,
    STATUSES,
    UNTRUSTED_ORIGINS,
    Hit,
    Recalled,
)
from . import (
    evaluation_questions,
    steps,
    steps_evaluation,
    steps_hits,
    steps_records,
    steps_reindex,
    steps_session_search,
)

FindLessons = Callable[[Tx], tuple[tuple[str, ...], tuple[str, ...]]]
"""Finds the commands and fixes of a project that answer a question."""


class RecallFilters(TypedDict, total=False):
    """Filters on the records, and what to show of each.

    kind: only these kinds of memory, or message, episode, procedure (repeat for several)
    layer: only these layers: session, task, project, user (repeat for several)
    tags: only memories with all these tags (repeat for several)
    file: only memories that apply to this path
    session: only this session
    since: not older than: 2026-05-01, 3d, 2w, yesterday
    until: older than: 2026-05-01, 3d, 2w, yesterday
    status: active, proposed, hidden, superseded, quarantined (repeat for several)
    as_of: search the memories as they were then: 2026-05-01, 3d, last week
    around: also show this many messages before and after each message
    explain: show the score of each hit in parts
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


_OTHER_KINDS = ("message", "episode", "procedure")
_DOCUMENT_TYPES = ("scratch", "notes", "continuity", "task", "ledger", "handoff")
_HIT_KINDS = (*KINDS, *_OTHER_KINDS, *ROLES, *_DOCUMENT_TYPES)
_UNPROMPTED_BUDGET = 4000
"""Tokens of text that a recall without a question returns."""


def search_sessions(
    context: Context, query: str, max_sessions: int = 10, max_results: int = 5, mode: str = "ranked"
) -> tuple[steps_session_search.SessionMatch, ...]:
    """Search past conversations, including messages that left the window.

    query: a question, a phrase or a few words
    max_sessions: maximum number of sessions
    max_results: maximum number of messages
    mode: ranked (the general search), or plain (phrase 3, each word 1, most of them 1.5, title
        0.5; newest first on ties)

    Example: recollect session search "why we chose atomic writes"
    Example: recollect session search "token refresh" --mode plain --max-results 3
    """
    now = context.clock()
    embedder = context.embedder() if mode == "ranked" else None
    found = context.project_space.read(
        lambda tx: steps_session_search.search_messages(
            tx, query, max_sessions, max_results, mode, now, embedder
        )
    )
    return tuple(found)


def recall(
    context: Context,
    query: str,
    limit: int = 0,
    budget: int = 0,
    find_lessons: FindLessons | None = None,
    **filters: Unpack[RecallFilters],
) -> Recalled:
    """Answer a question; `briefing.operations_views.recall`, the operation, finds the commands and
    fixes of the project that answer it."""
    now = context.clock()
    question = _build_question(context, query, limit, budget, filters, now)
    if (id := addresses.read_memory_id(query)) and (hit := _find_by_id(context, id, now)):
        return _check_hits(context, Recalled([hit], tokens=hit.tokens), now)
    return answer_question(context, question, now, find_lessons)


def _find_by_id(context: Context, id: str, now: int) -> Hit | None:
    """Return the memory with this id, or beginning of one, as a hit: briefings print short ids."""
    return context.read_both(
        lambda txs: next(filter(None, (steps_hits.load_by_id(tx, id, now) for tx in txs)), None)
    )


def _build_question(
    context: Context, query: str, limit: int, budget: int, filters: RecallFilters, now: int
) -> steps.RecallQuestion:
    return steps.RecallQuestion(
        query=query,
        limit=limit or context.settings.recall_limit,
        budget=budget or context.settings.recall_budget,
        kinds=among("kind", tuple(filters.get("kind", ())), _HIT_KINDS),
        layers=among("layer", tuple(filters.get("layer", ())), LAYERS),
        statuses=among("status", tuple(filters.get("status", ())), STATUSES)
        or steps.RecallQuestion._field_defaults["statuses"],
        tags=tuple(filters.get("tags", ())),
        file=context.path_in_project(file) if (file := filters.get("file", "")) else "",
        session=filters.get("session", ""),
        since=dates.parse_time_filter(filters.get("since", ""), now),
        until=dates.parse_time_filter(filters.get("until", ""), now),
        as_of=dates.parse_time_filter(filters.get("as_of", ""), now),
        around=filters.get("around", 0),
        explain=filters.get("explain", False),
    )


def recall_unprompted(context: Context, query: str, limit: int, file: str = "") -> tuple[Hit, ...]:
    """Find trusted, active records for a text that is not a question of the user."""
    now = context.clock()
    question = _build_question(context, query, limit, _UNPROMPTED_BUDGET, {"file": file}, now)
    own = context.read_both(memory_steps_visible.find_owners)
    hits = answer_question(context, question._replace(seen=own), now)
    return tuple(
        hit for hit in hits if hit.status == "active" and hit.trust not in UNTRUSTED_ORIGINS
    )


def recall_lessons(context: Context, query: str, limit: int, file: str = "") -> Recalled:
    """Find what matters for a task: everything but what was said in conversations."""
    now = context.clock()
    question = _build_question(context, query, limit, 4000, {"file": file}, now)
    own = context.read_both(memory_steps_visible.find_owners)
    sources = ("memory", "episode", "procedure", "document")
    return answer_question(
        context, question._replace(seen=own, sources=sources, statuses=("active",)), now
    )


def answer_question(
    context: Context,
    question: steps.RecallQuestion,
    now: int,
    find_lessons: FindLessons | None = None,
) -> Recalled:
    """Answer a question, count the recalls, and check the freshness of the hits."""
    embedder = context.embedder()
    indexed = 0
    commands: tuple[str, ...] = ()
    fixes: tuple[str, ...] = ()
    states: list[StemFrequencies] = []
    spaces = context.present_spaces()
    # What others save on a server is found by its words until its vector is made.
    hurried = [one for one in spaces if one.written_at <= context.embedded.get(one.space, -inf)]

    def look(txs: Sequence[Tx]) -> Recalled | None:
        nonlocal commands, fixes, question, states
        if find_lessons:
            commands, fixes = find_lessons(txs[0])
            question = question._replace(answered=bool(commands))
        names = [space.space for space in hurried]
        done = steps.recall_if_indexed(txs, question, now, embedder, names)
        if done is None or hurried:
            states = [tx.frequencies(()) for tx in txs]  # known by now
        return done

    # What is looked up first goes to a server together: the lessons, and the scopes of each space.
    found = context.search_both(look, ahead=bool(question.file or find_lessons))
    waits = found is None
    if waits:
        indexed = reindex_outdated(context) if any(one.outdated for one in states) else 0
    if embedder and embedder.local:
        for space, state in zip(spaces, states, strict=False):
            if not (indexed or state.unembedded):
                continue  # a server is not asked for nothing
            written = space.written_at
            make = partial(steps_reindex.embed_recent, space, embedder, now)
            if waits and make() and written < inf:
                context.embedded[space.space] = written
            elif not waits:
                space.later(make)
    if found is None:
        found = context.read_both(lambda txs: steps.recall(txs, question, now, embedder))
    found.commands, found.fixes = commands, fixes
    if indexed:
        found.notes += (f"{indexed} records of an earlier version were indexed again first",)
    return _check_hits(context, found, now)


def embed_saved(context: Context) -> None:
    """Make the vectors of what this process saved on a server: other processes do not wait."""
    context.lacks_vectors = False
    embedder = context.embedder()
    for space in context.present_spaces():
        owes = context.embedded.get(space.space, -inf) < space.written_at < inf
        # A server that does not answer now is not waited for.
        if embedder and embedder.local and owes and space.try_write(bool):
            steps_reindex.embed_recent(space, embedder, context.clock())


def _check_hits(context: Context, found: Recalled, now: int) -> Recalled:
    """Count the recalls of the hits, and check their freshness."""
    memory_operations.note_recalls(context, steps_hits.memory_ids(found), now)
    unchecked = {hit.id: hit.freshness for hit in found if hit.freshness}
    if not unchecked:
        return found
    claims = freshness_steps.unpack_claims(unchecked.values())
    fresh = freshness_steps.check_freshness(context, list(unchecked), claims)
    answer = [
        hit._replace(freshness=_freshness_mark(fresh[hit.id]) if hit.id in fresh else "")
        for hit in found
    ]
    marked = Recalled(answer, found.left_out, found.tokens, found.notes)
    marked.commands, marked.fixes = found.commands, found.fixes
    marked.budget_for_all = found.budget_for_all
    return marked


def _freshness_mark(fresh: freshness_steps.Freshness) -> str:
    return f"{fresh.state} to {fresh.moved_to}" if fresh.moved_to else fresh.state


def show_session(
    context: Context, session: str = "current", first: int = 0, last: int = 0
) -> steps_records.ShownRecord:
    """Show a session with its messages; the newest 50 when no range is given.

    session: its id, or a prefix of it; by default the session switched to, or else the most
        recently active one
    first: the first message of the range
    last: the last message of the range

    Example: recollect session show s-1 --first 10 --last 20
    """
    page = context.project_space.read(
        lambda tx: archive_steps_sessions.load_page(tx, session, first, last)
    )
    if page is None:
        raise archive_steps_sessions.session_not_found(session)
    return steps_records.with_session_status(steps_records.show_page(page), context.clock())


def show_record(context: Context, address: str) -> steps_records.ShownRecord:
    """Show the stored record at an address; `briefing.operations_views` adds `memory://root`."""
    memory_operations.write_recalls(context)
    shown = context.read_both(lambda txs: steps_records.show_record(txs, address))
    if shown is None:
        raise steps_records.record_not_found(address)
    current = shown.memory is not None and shown.memory.valid_to == FOREVER
    if shown.memory and current and freshness_steps.check_freshness(context, [shown.memory.id]):
        id = shown.memory.id
        claims = context.project_space.read(lambda tx: memory_steps_verify.load_checked(tx, id))
        shown = shown._replace(claims=claims)
    return steps_records.with_session_status(shown, context.clock())


Indexing = Callable[[Database, Callable[[int], object] | None], int]
"""Indexes a space, reports its progress, and returns the number of records."""


def reindex_outdated(context: Context) -> int:
    """Index records again that an earlier version indexed differently; return the count."""
    waiting = [space for space in context.present_spaces() if space.read(index_sql.needs_reindex)]
    return reindex_spaces(context, waiting, steps_reindex.renew_index) if waiting else 0


def reindex_spaces(context: Context, spaces: Sequence[Database], index: Indexing) -> int:
    """Index the words of all records in these spaces; return the count."""
    advance = None
    if context.progress:
        total = sum(space.read(steps_reindex.count_indexed) for space in spaces)
        advance = context.progress_of("words", total)
    return sum(index(space, advance) for space in spaces)


def make_vectors(context: Context, most: int = 0) -> int:
    """Make all missing vectors, or `most` of the newest in each space; return the count."""
    embedder = context.embedder()
    if embedder is None:
        return 0
    now = context.clock()
    spaces = context.present_spaces()
    advance = None
    if context.progress:
        missing = sum(space.read(index_steps.measure_coverage).unembedded for space in spaces)
        advance = context.progress_of("meaning", min(missing, most) if most else missing)
    return sum(
        index_steps.embed_missing(space, embedder, now, steps_reindex.RECORD_TEXTS, advance, most)
        for space in spaces
    )


# ---------------------------------------------------------------- evaluation


def evaluate(
    context: Context,
    sample: int = 25,
    seed: int = 0,
    source: Sequence[str] = (),
    missed: int = 0,
    all: bool = False,
) -> steps_evaluation.Evaluation:
    """Measure recall on your own history, with questions made from it.

    sample: maximum number of questions from each source
    seed: chooses the questions; the same seed asks the same
    source: only these: commits (a commit's subject finds the session it was made in), answers
        (a question finds the reply to it), files (a file's name finds the sessions that
        changed it), memories (half of its words find a memory); repeat for several
    missed: also show this many questions whose answer was not found
    all: ask every question instead of a sample

    Example: recollect eval
    Example: recollect eval --all
    Example: recollect eval --source commits --sample 50 --missed 5
    """
    for name in source:
        if name not in evaluation_questions.SOURCES:
            raise InvalidInput(
                f"{name!r} is not a source of questions",
                where="source",
                hint=f"one of: {', '.join(evaluation_questions.SOURCES)}",
            )
    if not sample:
        raise InvalidInput("sample must be at least 1", where="sample")
    wanted = steps_evaluation.EvaluationOptions(0 if all else sample, seed, tuple(source), missed)
    if not context.project_space.present():
        return steps_evaluation.empty_evaluation()
    commits = _read_commits(context)
    gathered = context.project_space.read(
        lambda tx: steps_evaluation.gather_questions(tx, commits, wanted)
    )
    rankers: dict[str, steps_evaluation.Ranker] = {"words": steps.recall}
    embedder = context.embedder()
    if embedder and gathered.asked:
        make_vectors(context)
        rankers["words and meaning"] = partial(steps.recall, embedder=embedder)
    report = context.progress_of("questions", len(gathered.asked) * len(rankers))
    now = context.clock()
    return context.read_both(
        lambda txs: steps_evaluation.run_evaluation(txs, gathered, rankers, wanted, now, report)
    )


def _read_commits(context: Context) -> list[evaluation_questions.RepositoryCommit]:
    from ..freshness.git_io import Git

    found = Git(worktree_root(context.project.start) or context.project.root).commits()
    return [
        evaluation_questions.RepositoryCommit(hash, at * 1_000_000, subject, files)
        for hash, at, subject, files in found
    ]
