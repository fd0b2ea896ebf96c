"""The nouns of Recollect, frozen: what travels between the layers and out to the caller.

Everything is a `NamedTuple`: immutable, comparable, cheap to import (a hook pays for every
import on every prompt, and postponed annotations would be compiled one by one, so that
modules with nouns have none). Times are whole microseconds since 1970 in UTC; `FOREVER` is the open
end of a validity interval. What is stored as JSON is plain lists and dicts here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..fast_typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from typing import NewType

    SafeText = NewType("SafeText", str)
else:
    SafeText = str

"""Text that the scrubber has seen. Only `secrets.redaction` makes it; SQL takes nothing else."""

Json = Any

"""A value that `json` can write: the shape is checked where it enters."""

FOREVER = 9223372036854775807

"""The valid-to of what is still believed."""

LAYERS = ("session", "task", "project", "user")

STATUSES = ("active", "proposed", "archived", "superseded", "quarantined")

ROLES = ("system", "developer", "user", "assistant", "tool")

ORIGINS = ("system", "user", "agent", "tool", "import")

"""Where a record came in, most trusted first. A label is the least trusted of its inputs."""

PRIORITIES = ("normal", "medium", "high", "critical")

RELATIONS = (
    "derived_from",
    "related_to",
    "contradicts",
    "elaborates",
    "example_of",
    "supersedes",
    "superseded_by",
)


class Kind(NamedTuple):
    """What a kind of memory is worth before anything is known about the memory itself."""

    name: str
    priority: str
    weight: float
    category: str
    holds: str


KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("policy", "critical", 1.5, "project", "rules, constraints, non-negotiables"),
        Kind("pitfall", "high", 1.4, "feedback", "mistakes to avoid: what fails, why, prevention"),
        Kind("architecture", "high", 1.3, "project", "design decisions, boundaries"),
        Kind("solution", "high", 1.3, "project", "error and fix, with how often it worked"),
        Kind("workflow", "high", 1.1, "project", "proven step-by-step processes"),
        Kind("decision", "medium", 1.2, "project", "a choice with its context"),
        Kind("pattern", "medium", 1.1, "project", "conventions: conditions, right and wrong way"),
        Kind("preference", "medium", 1.0, "user", "likes, dislikes, style"),
        Kind("reference", "normal", 1.0, "reference", "verified commands, values, instructions"),
        Kind("fact", "normal", 0.9, "project", "everything else worth keeping"),
    )
}


class ToolCall(NamedTuple):
    """One call of a tool by the assistant; `arguments` is JSON text as the provider gave it."""

    id: str
    name: str
    arguments: str = "{}"


class Message(NamedTuple):
    """One turn, tool call or tool result, in the one normal form of the archive.

    `content` is text, or a tuple of blocks (plain dicts with a `type`). A tool result names its
    call in `call_id`. `extra` holds what the provider's own shape needs to be given back.
    `key` makes recording idempotent: the same key in a session is kept once.
    """

    role: str
    content: str | tuple[Mapping[str, Json], ...] = ""
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    is_error: bool = False
    name: str = ""
    model: str = ""
    usage: Mapping[str, Json] | None = None
    at: int = 0
    key: str = ""
    extra: Mapping[str, Json] | None = None


class Session(NamedTuple):
    """One conversation of a person with an agent. `messages` counts the archive."""

    id: str
    name: str
    agent: str
    cwd: str
    branch: str
    status: str
    created: int
    last_active: int
    messages: int
    window_from: int
    summary: str
    usage: Mapping[str, Json]
    head: str

    @property
    def address(self) -> str:
        return f"memory://session/{self.id}"


class Stored(NamedTuple):
    """A message in its place in the archive, with the hashes that prove it."""

    session: str
    seq: int
    message: Message
    origin: str
    digest: str
    hash: str

    @property
    def address(self) -> str:
        return f"memory://session/{self.session}/messages/{self.seq}-{self.seq}"


class Memory(NamedTuple):
    """A typed, durable statement. Confidence, label (trust), priority and strength differ.

    `root` is the first version's id: versions share it, and exactly one of them is open
    (`valid_to == FOREVER`). `label` is the least trusted origin among `sources`.
    """

    id: str
    root: str
    revision: int
    kind: str
    text: str
    subject: str
    detail: Mapping[str, Json]
    category: str
    scope: tuple[str, ...]
    tags: tuple[str, ...]
    examples: tuple[str, ...]
    citations: tuple[Mapping[str, Json], ...]
    evidence: tuple[str, ...]
    reason: str
    confidence: float
    priority: str
    layer: str
    owner: str
    status: str
    origin: str
    label: str
    sources: tuple[str, ...]
    reinforcement: int
    successes: int
    failures: int
    recalls: int
    first_seen: int
    last_confirmed: int
    last_reinforced: int
    last_recalled: int
    valid_from: int
    valid_to: int
    digest: str

    @property
    def address(self) -> str:
        return f"memory://{self.id}"


class Document(NamedTuple):
    """A text at a `memory://` address: notes, checkpoint, scratch, task artifact, ledger, …"""

    address: str
    revision: int
    type: str
    title: str
    text: str
    fields: Mapping[str, Json]
    layer: str
    owner: str
    status: str
    origin: str
    label: str
    sources: tuple[str, ...]
    valid_from: int
    valid_to: int


class NearbyMessage(NamedTuple):
    """A message beside a hit."""

    address: str
    role: str
    text: str


class Hit(NamedTuple):
    """One answer of a recall: enough to be read alone, and to be cited."""

    id: str
    address: str
    kind: str
    text: str
    score: float
    why: str
    layer: str
    status: str
    trust: str
    at: int
    session: str = ""
    role: str = ""
    tokens: int = 0
    freshness: str = ""
    outdated_by: str = ""
    """The address of a newer statement about the same thing."""
    around: tuple[NearbyMessage, ...] = ()
    """The messages before and after, when they were asked for."""


class Recalled(tuple[Hit, ...]):
    """The hits, best first, with what was left out of them and what they cost.

    It is a tuple of hits, so that `for hit in mem.recall(…)` reads as it should.
    """

    left_out: int
    tokens: int
    notes: tuple[str, ...]

    def __new__(
        cls,
        hits: Iterable[Hit] = (),
        left_out: int = 0,
        tokens: int = 0,
        notes: tuple[str, ...] = (),
    ) -> Recalled:
        self = super().__new__(cls, hits)
        self.left_out = left_out
        self.tokens = tokens
        self.notes = notes
        return self


class Learned(NamedTuple):
    """What `learn` did: created, reinforced, revised, skipped, or unchanged, and the memory as it
    stands now. `similar` names memories that say almost the same, `contradicts` the opposite."""

    id: str
    address: str
    action: str
    memory: Memory
    notes: tuple[str, ...] = ()
    redacted: tuple[str, ...] = ()
    similar: tuple[str, ...] = ()
    contradicts: tuple[str, ...] = ()


class Link(NamedTuple):
    """A typed connection between two records, both named without `memory://`."""

    source: str
    relation: str
    target: str
    reason: str = ""
    origin: str = "system"
    at: int = 0


class Recorded(NamedTuple):
    """Where a message went in the archive; `new` is false when its key was there already."""

    session: str
    seq: int
    address: str
    new: bool
    redacted: tuple[str, ...] = ()


class Embedder(Protocol):
    """Who turns a text into a vector of `dims` bytes; `id` changes when vectors would."""

    @property
    def id(self) -> str: ...
    @property
    def dims(self) -> int: ...
    @property
    def local(self) -> bool:
        """Whether a vector costs no more than a look-up in this process."""

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """The vector of each text; raises `Unavailable` when there is none to be had."""

    def rarity(self, word: str) -> float:
        """How much a word tells by itself, from 0 to 1."""

    def knows(self, question: str) -> bool:
        """Whether a question has a word that the model was taught."""


class Check(NamedTuple):
    """One thing that `doctor` looked at."""

    name: str
    ok: bool
    detail: str
