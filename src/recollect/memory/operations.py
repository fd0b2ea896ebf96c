"""Operations on memories: learn, recall, show, list."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from ..briefing import steps_pages as briefing_steps_pages
from ..briefing.operations import Briefing
from ..context import new_id
from ..errors import InvalidInput, NotFound
from ..fast_typing import TypedDict, Unpack
from ..freshness import steps as freshness_steps
from ..index import steps_vectors as index_steps_vectors
from ..recall import steps as recall_steps
from ..recall import steps_hits as recall_steps_hits
from ..recall import steps_show as recall_steps_show
from ..types.records import KINDS, LAYERS, ROLES, STATUSES, Hit, Json, Learned, Memory, Recalled
from . import steps, steps_layers, steps_verify, steps_versions


class MemoryFields(TypedDict, total=False):
    """The fields of a memory besides its text and kind.

    subject: what it is about, in a few words
    scope: path globs it applies to, such as src/api/** (repeat for several)
    tags: words to filter by (repeat for several)
    examples: files that show it (repeat for several)
    citations: where it can be checked, such as src/db.py:42 (repeat for several)
    evidence: addresses of the messages or episodes it came from (repeat for several)
    reason: why it is worth keeping
    confidence: how sure you are, from 0 to 1
    priority: normal, medium, high or critical (only a person); the kind decides if you do not
    layer: project (default), user (across projects; only a person), task or session
    owner: the task or session, for these two layers
    detail: fields of its kind as a JSON object, such as {"error": "…", "fix": "…"}
    near: what to do when a memory says almost the same, or the same of other files: create
        (default), skip or merge
    key: makes the call idempotent: the same key again changes nothing
    """

    subject: str
    scope: Sequence[str]
    tags: Sequence[str]
    examples: Sequence[str]
    citations: Sequence[str]
    evidence: Sequence[str]
    reason: str
    confidence: float
    priority: str
    layer: str
    owner: str
    detail: Mapping[str, Json]
    near: str
    key: str


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


class Memories(Briefing):
    """Learn, recall, show and list."""

    def learn(self, text: str, kind: str = "fact", **fields: Unpack[MemoryFields]) -> Learned:
        """Keep a statement for later conversations; the same text again reinforces it.

        text: one statement, as you would tell a colleague
        kind: policy, pitfall, architecture, solution, workflow, decision, pattern, preference,
            reference or fact

        Example: recollect learn "Integration tests need Redis on port 6380" --kind reference
        Example: recollect learn "Never edit generated files" --kind policy --scope 'src/gen/**'
        """
        citations = tuple({"path": place} for place in fields.get("citations", ()))
        draft = steps.Draft(
            text=text,
            kind=kind,
            subject=fields.get("subject", ""),
            detail=fields.get("detail"),
            scope=tuple(fields.get("scope", ())),
            tags=tuple(fields.get("tags", ())),
            examples=tuple(fields.get("examples", ())),
            citations=citations,
            evidence=tuple(fields.get("evidence", ())),
            reason=fields.get("reason", ""),
            confidence=fields.get("confidence", 0.8),
            priority=fields.get("priority", ""),
            layer=fields.get("layer", "project"),
            owner=fields.get("owner", ""),
            near=fields.get("near", ""),
            key=fields.get("key", ""),
        )
        now = self._clock()
        space = self._writable(self._space_of(draft.layer))
        label = self.origin
        if draft.evidence:
            label = self._project_space.read(
                lambda tx: steps.label_of(tx, self.origin, draft.evidence)
            )
        ready = steps.prepare(draft, self.origin, now, new_id("m"), label)
        around = space.read(lambda tx: steps_versions.neighbours(tx, ready.row))
        cited = json.loads(ready.row.citations)
        known = [] if draft.layer == "user" else self._pinned(ready.row.text, cited)
        return space.write(lambda tx: steps.learn(tx, ready, now, around, known))

    def recall(
        self, query: str, limit: int = 0, budget: int = 0, **filters: Unpack[RecallFilters]
    ) -> Recalled:
        """Find what was learned, said and done, by words, meaning and time; best first.

        query: a question or a few words
        limit: at most so many hits (setting recall_limit)
        budget: at most so many tokens of text (setting recall_budget)

        Example: recollect recall "how do we run the tests"
        Example: recollect recall "what did I say about the release last week" --around 1
        Example: recollect recall "rate limit" --kind fact --since 2w --budget 300
        """
        now = self._clock()
        return self._recall(self._question(query, limit, budget, filters, now), now)

    def _question(
        self, query: str, limit: int, budget: int, filters: RecallFilters, now: int
    ) -> recall_steps.Question:
        return recall_steps.Question(
            query=query,
            limit=limit or self.settings.recall_limit,
            budget=budget or self.settings.recall_budget,
            kinds=_among("kind", tuple(filters.get("kind", ())), _FOUND),
            layers=_among("layer", tuple(filters.get("layer", ())), LAYERS),
            statuses=_among("status", tuple(filters.get("status", ())), STATUSES)
            or recall_steps.Question._field_defaults["statuses"],
            tags=tuple(filters.get("tags", ())),
            file=self._in_project(filters.get("file", "")),
            session=filters.get("session", ""),
            since=recall_steps.moment(filters.get("since", ""), now),
            until=recall_steps.moment(filters.get("until", ""), now),
            as_of=recall_steps.moment(filters.get("as_of", ""), now),
            around=filters.get("around", 0),
            explain=filters.get("explain", False),
        )

    def _recall_for(self, query: str, limit: int, file: str = "") -> tuple[Hit, ...]:
        """Find what may be shown to somebody who did not ask for it."""
        now = self._clock()
        question = self._question(query, limit, 4000, {"file": file}, now)
        own = self._both(steps_layers.owners)
        return tuple(filter(_may_be_shown, self._recall(question._replace(seen=own), now)))

    def _recall(self, question: recall_steps.Question, now: int) -> Recalled:
        embedder = self._meaning()
        indexed = self._index_again()
        if embedder and embedder.local:
            for space in self._present():
                index_steps_vectors.catch_up_a_little(space, embedder, now)
        found = self._both(lambda txs: recall_steps.recall(txs, question, now, embedder))
        if indexed:
            found.notes += (f"{indexed} records of an earlier version were indexed again first",)
        self._note_recalls(recall_steps_hits.memory_ids(found), now)
        unchecked = [hit.id for hit in found if hit.freshness]
        return recall_steps.marked(found, self._freshness(unchecked)) if unchecked else found

    def _pinned(self, text: str, citations: Sequence[Json]) -> list[freshness_steps.Known]:
        """What a text says of the code, with what the code looks like now."""
        found = freshness_steps.found(text, citations)
        return self._tree().pin(found) if found else []

    def show(self, address: str) -> recall_steps_show.Shown:
        """One record whole: a memory with its history, a session, messages, a document.

        address: an id (or its beginning), or a memory:// address

        Example: recollect show m-4k9w2c
        Example: recollect show memory://session/s-1/messages/10-20
        """
        self._write_recalls()
        if address.removeprefix("memory://").partition("/")[0] == "root":
            shown = self._root(address)
        else:
            shown = self._both(lambda txs: recall_steps_show.show_first(txs, address))
        if shown is None:
            raise NotFound("there is no such record", where=address, hint=_where_it_is(address))
        if shown.memory and self._freshness([shown.memory.id]):
            id = shown.memory.id
            said = self._project_space.read(lambda tx: steps_verify.last_seen(tx, id))
            shown = shown._replace(claims=said)
        return recall_steps_show.seen(shown, self._clock())

    def _root(self, address: str) -> recall_steps_show.Shown | None:
        place = recall_steps_show.parsed(address)
        if not place.path:
            text = self.briefing().text
        elif place.path == "MEMORY.md":
            text = self._both(briefing_steps_pages.memory_md)
        else:
            text = self._both(
                lambda txs: briefing_steps_pages.skill_md(txs, place.path.split("/")[1])
            )
        made = briefing_steps_pages.document(place, text)
        return recall_steps_show.Shown(document=made) if made else None

    def list(
        self,
        kind: str = "",
        layer: str = "",
        status: str = "",
        limit: int = 50,
        offset: int = 0,
        as_of: str = "",
    ) -> tuple[Memory, ...]:
        """The memories in use, or those believed at another time, newest first.

        kind: only this kind
        layer: only this layer: session, task, project or user
        status: only this status: active, proposed, quarantined, or archived, which are hidden
            otherwise
        limit: at most so many
        offset: after skipping so many
        as_of: what was believed then: 2026-05-01, 3d, last week

        Example: recollect list --kind policy
        Example: recollect list --as-of 2w
        """
        _among("kind", (kind,) if kind else (), tuple(KINDS))
        _among("layer", (layer,) if layer else (), LAYERS)
        _among("status", (status,) if status else (), STATUSES)
        if as_of and status:
            raise InvalidInput("which status a memory had at a time is not known", where="status")
        at = recall_steps.moment(as_of, self._clock())
        self._write_recalls()
        chosen = {"kind": kind, "layer": layer, "status": status}
        where = {name: value for name, value in chosen.items() if value}
        found = self._both(
            lambda txs: [
                memory
                for tx in txs
                for memory in recall_steps_show.listing(tx, where, limit + offset, at)
            ]
        )
        found.sort(key=lambda memory: (-memory.first_seen, memory.id))
        return tuple(found[offset : offset + limit])


def _may_be_shown(hit: Hit) -> bool:
    """Whether somebody who did not ask for it may be told: see `core.activate`."""
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


def _among(name: str, values: tuple[str, ...], allowed: tuple[str, ...]) -> tuple[str, ...]:
    for value in values:
        if value not in allowed:
            raise InvalidInput(
                f"{value!r} is not a {name}", where=name, hint=f"one of: {', '.join(allowed)}"
            )
    return values
