"""Operations that find: recall, show, session search, and keeping the index complete."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ..briefing import operations as briefing_operations
from ..briefing import steps_pages as briefing_steps_pages
from ..context import Context
from ..errors import NotFound
from ..fast_typing import TypedDict, Unpack
from ..freshness import operations as freshness_operations
from ..index import steps_vectors as index_steps_vectors
from ..memory import steps_verify as memory_steps_verify
from ..memory import steps_visible as memory_steps_visible
from ..memory.operations import among
from ..storage.database import Database
from ..types.records import FOREVER, KINDS, LAYERS, ROLES, STATUSES, Hit, Recalled
from . import steps, steps_hits, steps_reindex, steps_sessions, steps_show


class RecallFilters(TypedDict, total=False):
    """Which records may answer, and how much of them.

    kind: only these kinds of memory, or message, episode, procedure (repeat for several)
    layer: only these layers: session, task, project, user (repeat for several)
    tags: only memories with all these tags (repeat for several)
    file: only memories that apply to this path
    session: only this session
    since: not older than: 2026-05-01, 3d, 2w, yesterday
    until: older than: 2026-05-01, 3d, 2w, yesterday
    status: active, proposed, hidden, superseded, quarantined (repeat for several)
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
) -> tuple[steps_sessions.Found, ...]:
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
        lambda tx: steps_sessions.find(tx, query, max_sessions, max_results, mode, now)
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
    return recall_question(context, _question(context, query, limit, budget, filters, now), now)


def _question(
    context: Context, query: str, limit: int, budget: int, filters: RecallFilters, now: int
) -> steps.Question:
    return steps.Question(
        query=query,
        limit=limit or context.settings.recall_limit,
        budget=budget or context.settings.recall_budget,
        kinds=among("kind", tuple(filters.get("kind", ())), _FOUND),
        layers=among("layer", tuple(filters.get("layer", ())), LAYERS),
        statuses=among("status", tuple(filters.get("status", ())), STATUSES)
        or steps.Question._field_defaults["statuses"],
        tags=tuple(filters.get("tags", ())),
        file=context.path_in_project(filters.get("file", "")),
        session=filters.get("session", ""),
        since=steps.moment(filters.get("since", ""), now),
        until=steps.moment(filters.get("until", ""), now),
        as_of=steps.moment(filters.get("as_of", ""), now),
        around=filters.get("around", 0),
        explain=filters.get("explain", False),
    )


def recall_for(context: Context, query: str, limit: int, file: str = "") -> tuple[Hit, ...]:
    """Find what may be shown to somebody who did not ask for it."""
    now = context.clock()
    question = _question(context, query, limit, 4000, {"file": file}, now)
    own = context.read_both(memory_steps_visible.find_owners)
    return tuple(filter(_may_be_shown, recall_question(context, question._replace(seen=own), now)))


def recall_question(context: Context, question: steps.Question, now: int) -> Recalled:
    embedder = context.embedder()
    indexed = index_again(context)
    if embedder and embedder.local:
        for space in context.present_spaces():
            index_steps_vectors.catch_up_a_little(space, embedder, now)
    found = context.read_both(lambda txs: steps.recall(txs, question, now, embedder))
    if indexed:
        found.notes += (f"{indexed} records of an earlier version were indexed again first",)
    note_recalls(context, steps_hits.memory_ids(found), now)
    unchecked = [hit.id for hit in found if hit.freshness]
    return (
        steps.marked(found, freshness_operations.check_freshness(context, unchecked))
        if unchecked
        else found
    )


def show(context: Context, address: str) -> steps_show.Shown:
    """One record whole: a memory with its history, a session, messages, a document.

    address: an id (or its beginning), or a memory:// address

    Example: recollect show m-4k9w2c
    Example: recollect show memory://session/s-1/messages/10-20
    """
    write_recalls(context)
    if address.removeprefix("memory://").partition("/")[0] == "root":
        shown = _root(context, address)
    else:
        shown = context.read_both(lambda txs: steps_show.show_first(txs, address))
    if shown is None:
        raise NotFound("there is no such record", where=address, hint=_where_it_is(address))
    current = shown.memory is not None and shown.memory.valid_to == FOREVER
    if (
        shown.memory
        and current
        and freshness_operations.check_freshness(context, [shown.memory.id])
    ):
        id = shown.memory.id
        said = context.project_space.read(lambda tx: memory_steps_verify.load_checked(tx, id))
        shown = shown._replace(claims=said)
    return steps_show.seen(shown, context.clock())


def _root(context: Context, address: str) -> steps_show.Shown | None:
    place = steps_show.parsed(address)
    if not place.path:
        text = briefing_operations.make_briefing(context).text
    elif place.path == "MEMORY.md":
        text = context.read_both(briefing_steps_pages.memory_md)
    else:
        text = context.read_both(
            lambda txs: briefing_steps_pages.skill_md(txs, place.path.split("/")[1])
        )
    made = briefing_steps_pages.document(place, text)
    return steps_show.Shown(document=made) if made else None


_MOST_NOTED = 200

Indexing = Callable[[Database, Callable[[int], object] | None], int]


def index_again(context: Context) -> int:
    """Index what an earlier version indexed differently; return the count."""
    waiting = [space for space in context.present_spaces() if space.read(steps.words_missing)]
    return index_spaces(context, waiting, steps_reindex.renew) if waiting else 0


def index_spaces(context: Context, spaces: Sequence[Database], index: Indexing) -> int:
    """Index everything in these spaces by its words; return the count."""
    advance = None
    if context.progress:
        total = sum(space.read(steps_reindex.count) for space in spaces)
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
        missing = sum(space.read(index_steps_vectors.coverage).unembedded for space in spaces)
        advance = context.progress_of("meaning", missing)
    return sum(index_steps_vectors.catch_up(space, embedder, now, tell=advance) for space in spaces)


def note_recalls(context: Context, ids: Iterable[str], now: int) -> None:
    """Count recalls in memory; write them when there are many, and on closing.

    Such a count may be lost: a search must not cost a write.
    """
    for id in ids:
        context.recalls[id] = (context.recalls.get(id, (0, 0))[0] + 1, now)
    if len(context.recalls) >= _MOST_NOTED:
        write_recalls(context)


def write_recalls(context: Context) -> None:
    """Write the recalls that were counted since the last time."""
    noted, context.recalls = context.recalls, {}
    if noted:
        for space in (context.project_space, context.user_space):
            space.note(lambda tx: steps.note(tx, noted))


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
