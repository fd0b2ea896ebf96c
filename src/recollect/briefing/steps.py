"""Brief: load what may be shown, decide under the budget, log it.

Loading and logging are transactions of their own; between them the claims are checked against
the working tree.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from ..archive import sql as archive_sql
from ..episodes import sql as episodes_sql
from ..fast_typing import NamedTuple, Protocol
from ..index import sql as index_sql
from ..memory import lifecycle
from ..memory import sql as memory_sql
from ..memory import sql_upkeep as memory_sql_upkeep
from ..memory import steps_visible as memory_steps_visible
from ..procedures import sql as procedures_sql
from ..storage import database
from ..storage.database import IndexMatch, Tx
from ..text import messages, terms
from ..text import tokens as text_tokens
from ..types.records import Memory
from ..window import steps_contexts as window_steps_contexts
from . import selection
from .rendering import Item, LeftOut, Plan, render

BASELINE = ("policy", "architecture", "preference")
REST = ("pitfall", "solution", "workflow", "decision", "pattern", "reference", "fact")
MOST_OF_A_KIND = 60
MOST_MATCHES = 30
MOST_SKILLS = 10
_SPOKEN = ("user", "assistant")
_LEARNED = ("memory", "procedure")
_UNTRUSTED = ("tool", "import")


class Fresh(Protocol):
    """Whether what a memory says of the code still holds."""

    @property
    def state(self) -> str: ...
    @property
    def moved_to(self) -> str: ...


class Ask(NamedTuple):
    """What a briefing is asked for.

    context: `fresh` when the session's context was thrown away, `kept` when the session goes on
        with the context it had
    """

    session: str = ""
    query: str = ""
    files: tuple[str, ...] = ()
    context: str = ""


class Loaded(NamedTuple):
    """What the decision needs from the store."""

    candidates: tuple[selection.Candidate, ...]
    pointers: tuple[selection.Pointer, ...]
    skills: tuple[selection.Skill, ...]
    frozen: window_steps_contexts.StableBlock | None
    shown: frozenset[str] = frozenset()
    """What was shown in a context that is kept."""


class Briefing(NamedTuple):
    """What the model sees, item by item, with the reason and the price of each."""

    stable: str
    turn: str
    items: tuple[Item, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    tokens: int = 0
    notes: tuple[str, ...] = ()
    explained: bool = False
    begins: bool = True
    """Whether the context sees its stable block for the first time."""

    @property
    def text(self) -> str:
        return "\n".join(part for part in (self.stable, self.turn) if part)


EMPTY = Briefing("", "")


def unwanted(mode: str, query: str) -> str:
    """Why there is no briefing at all this time; empty when there may be one."""
    if mode == "no-ltm":
        return "the mode is no-ltm: no long-term memory is injected"
    if query:
        from ..capture import ignore_memory  # only a prompt can say so

        if ignore_memory.asks_to_ignore(query):
            return "the user asked to do without memory this turn"
    return ""


def load(txs: Sequence[Tx], ask: Ask, now: int) -> Loaded:
    """Candidates from all spaces; the first one is the project's, which has the sessions."""
    known = bool(ask.session) and ask.context != "fresh"
    frozen = window_steps_contexts.load_block(txs, ask.session) if known else None
    resumed = ask.context == "kept" and frozen is not None
    candidates: dict[str, selection.Candidate] = {}
    pointers: list[selection.Pointer] = []
    skills: list[selection.Skill] = []
    own = memory_steps_visible.find_memory_owners(txs, ask.session)
    start = resumed or not (ask.query or ask.files or frozen)
    for tx in txs:
        kinds = (*BASELINE, *REST) if start else (() if frozen else BASELINE)
        for kind in kinds:
            for memory in memory_sql.list_strongest(tx, kind, MOST_OF_A_KIND, own):
                candidates[memory.id] = _candidate(tx, memory, 0.0, now)
        for memory in _scoped(tx, ask.files, own):
            candidates[memory.id] = _candidate(tx, memory, 0.0, now)
        if ask.query:
            matches = _matches(tx, ask.query, own)
            for memory, match in _matched(tx, matches, ask.query):
                candidates[memory.id] = _candidate(tx, memory, match, now)
            pointers += [*_sessions(tx, matches, ask), *_episodes(tx, matches, ask)]
            skills += _skills(tx, matches, ask)
        elif start:
            skills += [_skill(row, 0.0) for row in procedures_sql.proven(tx, MOST_SKILLS)]
    found = tuple(candidates.values())
    judged = _judged(txs, found)
    pointers.sort(key=lambda one: (-one.match, one.address))
    shown = frozenset(window_steps_contexts.shown_ids(txs, ask.session)) if resumed else frozenset()
    return Loaded(judged, tuple(pointers[:5]), tuple(skills), frozen, shown)


def applies(txs: Sequence[Tx], session: str, files: Sequence[str]) -> bool:
    """Check whether the scope of any memory that the session sees takes in one of the files."""
    from ..memory import steps_visible as memory_steps_visible

    own = memory_steps_visible.find_memory_owners(txs, session)
    return any(memory_steps_visible.any_applies(tx, files, own) for tx in txs)


def load_for_files(txs: Sequence[Tx], ask: Ask, now: int) -> Loaded:
    """Only what applies to the files by its scope, and was not shown in this context before."""
    frozen = window_steps_contexts.load_block(txs, ask.session)
    shown = window_steps_contexts.shown_ids(txs, ask.session)
    own = memory_steps_visible.find_memory_owners(txs, ask.session)
    found = {
        memory.id: _candidate(tx, memory, 0.0, now)
        for tx in txs
        for memory in _scoped(tx, ask.files, own)
        if memory.id not in shown
    }
    return Loaded(_judged(txs, tuple(found.values())), (), (), frozen)


def _scoped(tx: Tx, files: Sequence[str], own: Sequence[str]) -> Iterator[Memory]:
    """What was said of files in play."""
    if files:
        from ..memory import steps_visible as memory_steps_visible

        for path in files:
            yield from memory_steps_visible.find_for_file(tx, path, MOST_MATCHES, own)


def _candidate(tx: Tx, memory: Memory, match: float, now: int) -> selection.Candidate:
    return selection.Candidate(memory, lifecycle.compute_strength(memory, now), match)


def _judged(
    txs: Sequence[Tx], found: Sequence[selection.Candidate]
) -> tuple[selection.Candidate, ...]:
    """The candidates with what feedback says of them."""
    ids = [one.memory.id for one in found if one.memory.successes or one.memory.failures]
    if not ids:
        return tuple(found)
    from ..memory.lifecycle import rate_usefulness

    said: dict[str, dict[str, int]] = {}
    for tx in txs:
        said.update(memory_sql_upkeep.count_verdicts(tx, ids))
    judged = []
    for one in found:
        counts = said.get(one.memory.id, {})
        factor = rate_usefulness(
            counts.get("helped", 0), counts.get("wrong", 0), counts.get("stale", 0)
        )
        judged.append(one._replace(usefulness=factor))
    return tuple(judged)


def _matches(tx: Tx, query: str, own: Sequence[str]) -> list[IndexMatch]:
    wanted = terms.query_stems(query)
    active = {"status": ("active",), "seen": own}
    found = index_sql.find_candidates(tx, wanted, MOST_MATCHES, active)
    if len(found) == MOST_MATCHES and any(match.source not in _LEARNED for match in found):
        # What was said at length must not crowd out what was learned from it.
        learned = index_sql.find_candidates(
            tx, wanted, MOST_MATCHES, {**active, "source": _LEARNED}
        )
        found += [match for match in learned if match not in found]
    return found


def _matched(tx: Tx, matches: Sequence[IndexMatch], query: str) -> list[tuple[Memory, float]]:
    found = {match.ref: match for match in matches if match.source == "memory"}
    asked = terms.query_terms(query)
    held = memory_sql.get_many(tx, list(found))
    return [(memory, _strength_of_match(found[id], asked)) for id, memory in held.items()]


def _strength_of_match(match: IndexMatch, asked: Sequence[str]) -> float:
    """From 0 to 1: rare words count by BM25, and all words by how many of them are there."""
    share = _held(match, asked) / len(asked)
    return 0.5 * lifecycle.score_words(match.score) + 0.5 * share


def _is_about(match: IndexMatch, asked: Sequence[str]) -> bool:
    """Whether what was said long ago speaks of what is asked now: it shares two words at least,
    and most of them. One word (“ok”, “go on”) is no subject."""
    held = _held(match, asked)
    return held >= 2 and 2 * held > len(asked)


def _held(match: IndexMatch, asked: Sequence[str]) -> int:
    held = frozenset(match.stems.split())
    return len([term for term in asked if terms.stem(term) in held])


def _skills(tx: Tx, matches: Sequence[IndexMatch], ask: Ask) -> list[selection.Skill]:
    """Procedures that fit the question."""
    asked = terms.query_terms(ask.query)
    found = []
    for match in matches:
        if match.source != "procedure":
            continue
        row = database.read_or_none(partial(procedures_sql.get, tx, match.ref))
        if row is not None:
            found.append(_skill(row, _strength_of_match(match, asked)))
    return found


def _skill(row: procedures_sql.ProcedureRow, match: float) -> selection.Skill:
    return selection.Skill(
        row.id,
        f"memory://{row.id}",
        row.name,
        row.description,
        row.successes,
        row.failures,
        match,
        row.status,
        row.label,
        row.valid_from,
    )


_MANNER = frozenset(
    ("now", "always", "never", "use", "instead", "again", "just", "also", "need", "want", "really")
)
"""Any long text holds most of these: “from now on always use X instead of Y” is about X and Y."""


def _subject(query: str) -> list[str]:
    """What a prompt is about: its words without those that say how something is wished."""
    return [term for term in terms.query_terms(query) if term not in _MANNER]


def _episodes(tx: Tx, matches: Sequence[IndexMatch], ask: Ask) -> list[selection.Pointer]:
    """What happened on tasks like this one."""
    asked = _subject(ask.query)
    found = []
    for match in matches:
        told = episodes_sql.sketch(tx, match.ref) if match.source == "episode" else None
        own = bool(ask.session) and match.owner == ask.session
        if told is None or own or told.label in _UNTRUSTED or not _is_about(match, asked):
            continue
        share = _strength_of_match(match, asked)
        said = lifecycle.cut_snippet(told.text, asked, 120)
        address = f"memory://{match.ref}"
        found.append(selection.Pointer(address, said, share, "episode", told.label, told.at))
    return found


def _sessions(tx: Tx, matches: Sequence[IndexMatch], ask: Ask) -> list[selection.Pointer]:
    """Other sessions in which the same was spoken of; what tools said, or a person pasted, is not
    repeated."""
    asked = _subject(ask.query)
    best: dict[str, selection.Pointer] = {}
    for match in matches:
        if match.source != "message" or match.ref == ask.session or match.kind not in _SPOKEN:
            continue
        if not _is_about(match, asked):
            continue
        row = archive_sql.message(tx, match.ref, match.seq)
        if row is None or match.ref in best or row.label in _UNTRUSTED:
            continue
        message = messages.message_from_body(json.loads(row.body))
        # A call with its arguments says nothing to whoever reads one line of it.
        spoken = message._replace(calls=())
        text = (
            messages.typed_text(message)
            if row.label == "user"
            else messages.searchable_text(spoken)
        )
        if not text:
            continue
        share = _strength_of_match(match, asked)
        address = messages.range_address(row.session, row.seq, row.seq)
        said = lifecycle.cut_snippet(text, asked, 120)
        best[match.ref] = selection.Pointer(address, said, share, "session", row.label, row.at)
    return list(best.values())


def decide(
    loaded: Loaded, ask: Ask, fresh: Mapping[str, Fresh], budget: int, withhold: bool
) -> tuple[Plan, Briefing]:
    """The briefing: within the budget, the stable part first."""
    frozen = loaded.frozen
    candidates = [
        one._replace(freshness=fresh[one.memory.id].state, moved_to=fresh[one.memory.id].moved_to)
        if one.memory.id in fresh
        else one
        for one in loaded.candidates
    ]
    if frozen and ask.context == "kept":
        now = selection.plan(
            candidates, selection.Moment(), budget, skills=loaded.skills, withhold=withhold
        )
        return _since(now, frozen, loaded.shown)
    moment = selection.Moment(
        ask.query, ask.files, frozen is not None, frozenset(frozen.ids if frozen else ())
    )
    room = max(budget - (frozen.tokens if frozen else 0), 0)
    plan = selection.plan(
        candidates,
        moment,
        room,
        skills=loaded.skills,
        pointers=loaded.pointers,
        withhold=withhold,
    )
    stable, turn = render(plan)
    stable = frozen.text if frozen else stable
    price = plan.tokens + (frozen.tokens if frozen else 0)
    items = (*plan.stable, *plan.turn)
    return plan, Briefing(stable, turn, items, plan.left_out, price, begins=frozen is None)


def block(briefing: Briefing) -> window_steps_contexts.StableBlock:
    """Return the stable block of a briefing, with the ids of what is in it."""
    inside = tuple(item.id for item in briefing.items if item.address in briefing.stable)
    return window_steps_contexts.StableBlock(
        briefing.stable, inside, text_tokens.count_text(briefing.stable)
    )


def _since(
    now: Plan, frozen: window_steps_contexts.StableBlock, shown: frozenset[str]
) -> tuple[Plan, Briefing]:
    """Of a stable block built afresh, keep what the context does not hold yet."""
    new = tuple(item for item in now.stable if item.id not in {*frozen.ids, *shown})
    plan = Plan(turn=new, frozen=True, tokens=sum(item.tokens for item in new))
    _, turn = render(plan)
    return plan, Briefing(frozen.text, turn, new, now.left_out, plan.tokens, begins=False)


def log(tx: Tx, session: str, turn: int, items: Sequence[tuple[str, Item]], now: int) -> None:
    """Write down what was put in front of the model."""
    rows = [
        memory_sql_upkeep.Injection(id, session, turn, item.layer, item.id, item.tokens)
        for id, item in items
    ]
    memory_sql_upkeep.log_injections(tx, rows, now)
