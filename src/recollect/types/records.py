"""Public records: the arguments and results of operations.

Each is a `NamedTuple`: immutable, comparable and cheap to import, because a hook pays for every
import on every prompt. Times are whole microseconds since 1970 in UTC; `FOREVER` is the open end of
a validity interval. JSON columns are plain lists and dicts here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..fast_typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from typing import NewType

    SafeText = NewType("SafeText", str)
else:
    SafeText = str

"""Text that was scanned for secrets. Only `secrets.redaction` makes it, and SQL takes nothing else.
"""

Json = Any
"""A value that `json` can write; its shape is checked where it enters."""

FOREVER = 9223372036854775807
"""The `valid_to` of a record that is still valid."""

LAYERS = ("session", "task", "project", "user")
STATUSES = ("active", "proposed", "hidden", "superseded", "quarantined")
STATUSES_IN_USE = ("active", "proposed")
"""Statuses of memories that are used, or wait for a person to confirm them: duplicates and
contradictions are looked for here."""

WAITING_STATUSES = ("proposed", "quarantined")
"""Statuses of memories that wait for a person's answer."""

STALE_STATES = ("changed", "moved", "missing")
"""The states of a claim about code that make a memory stale, in the order of the index of them."""

ROLES = ("system", "developer", "user", "assistant", "tool")
ORIGINS = ("system", "user", "teammate", "agent", "tool", "import")
"""The sources of records, most trusted first. A label is the least trusted origin of all inputs;
`teammate` is the label of another person's statement in a shared space, never a call's origin."""

CALLER_ORIGINS = ("user", "agent", "tool", "import")
"""Origins that a caller may have: none is the system, or another person."""

TRUSTED_ORIGINS = ("system", "user")
"""Origins with the authority of the user."""

UNTRUSTED_ORIGINS = ("tool", "import")
"""Origins that anybody may have written: such records are never shown unasked as memories, and are
no evidence for other records."""


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
    """A kind of memory, with its default priority, ranking weight and category."""

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


KIND_NAMES: Mapping[str, str] = {
    **{f"{name}s": name for name in KINDS if name != "policy"},
    **dict.fromkeys(("policies", "context_rule", "context_rules"), "policy"),
    **dict.fromkeys(("failure", "failures", "anti-pattern", "anti-patterns"), "pitfall"),
    **dict.fromkeys(("discovery", "discoveries"), "fact"),
    **dict.fromkeys(("problem_solution", "problem_solutions"), "solution"),
    **dict.fromkeys(("code_pattern", "code_patterns"), "pattern"),
}
"""Names of our kinds in other systems; accepted wherever a kind is an argument."""

BASELINE_KINDS = ("policy", "architecture", "preference")
"""Kinds that a briefing always includes at high priority."""


class ToolCall(NamedTuple):
    """One tool call of the assistant; `arguments` is JSON text as the provider sent it."""

    id: str
    name: str
    arguments: str = "{}"


class Message(NamedTuple):
    """One turn, tool call or tool result, in the archive's normal form.

    `content` is text, or a tuple of blocks (plain dicts with a `type`). A tool result names its
    call in `call_id`. `extra` holds fields that only the provider's own format needs. `key` makes
    recording idempotent: a session keeps a key once.
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
    """One conversation of a person with an agent. `messages` is the number of archived messages."""

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
    """A message at its position in the archive, with the hashes that prove it."""

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
    """A typed, durable statement. Confidence, label (trust), priority and strength are independent.

    A memory keeps its `id`; `revision` counts its wordings, and `change` names the operation that
    made this one. A revision was valid from `valid_from` to `valid_to` (`FOREVER`: it still is). A
    memory that replaces another statement has its own id, continues its revision numbers and shares
    its `root`, the id of the first of them. `label` is the least trusted origin among `sources`.
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
    change: str = "learn"
    author: str = ""
    """The other person who wrote or last reworded it in a shared space; empty for one's own."""

    @property
    def address(self) -> str:
        return f"memory://{self.id}"

    @property
    def revision_address(self) -> str:
        """Return the address of this revision, which stays valid after the next one."""
        return f"memory://{self.id}@{self.revision}"


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
    """A message before or after a hit."""

    address: str
    role: str
    text: str


class Hit(NamedTuple):
    """One result of a recall, with enough context to be read and cited alone."""

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
    """The address of a newer statement about the same subject."""
    around: tuple[NearbyMessage, ...] = ()
    """The messages before and after, if requested."""
    outcome: NearbyMessage | None = None
    """The last message of the turn that a request of the user began."""
    alike: tuple[str, ...] = ()
    """The addresses of messages with almost the same text, which are not shown, newest first."""


class Recalled(tuple[Hit, ...]):
    """The hits, best first, with the number left out and their cost in tokens.

    A tuple of hits, so that `for hit in mem.recall(…)` works. `commands` are the commands that
    worked, if the question asks how to run something; `fixes` are earlier resolutions of errors
    that hold its words. `budget_for_all` is the budget in tokens that shows those left out too, 0
    if the one of the search is enough.
    """

    left_out: int
    tokens: int
    notes: tuple[str, ...]
    commands: tuple[str, ...] = ()
    fixes: tuple[str, ...] = ()
    budget_for_all: int = 0

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
    """The result of `learn`: created, reinforced, revised, skipped or unchanged, and the current
    memory. `similar` holds near duplicates, `contradicts` opposite statements."""

    id: str
    address: str
    action: str
    memory: Memory
    notes: tuple[str, ...] = ()
    redacted: tuple[str, ...] = ()
    similar: tuple[str, ...] = ()
    contradicts: tuple[str, ...] = ()


class Link(NamedTuple):
    """A typed link between two records, both named without `memory://`."""

    source: str
    relation: str
    target: str
    reason: str = ""
    origin: str = "system"
    at: int = 0


class Recorded(NamedTuple):
    """The position of a message in the archive; `new` is false when its key was recorded before."""

    session: str
    seq: int
    address: str
    new: bool
    redacted: tuple[str, ...] = ()


class Embedder(Protocol):
    """Turns texts into vectors of `dims` bytes; `id` changes whenever the vectors would."""

    @property
    def id(self) -> str: ...
    @property
    def dims(self) -> int: ...
    @property
    def local(self) -> bool:
        """Check whether embedding needs no network."""

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """Return the vector of each text; raise `Unavailable` without a working model."""

    def rarity(self, word: str) -> float:
        """Return how distinctive a word is, from 0 to 1."""

    def knows(self, question: str) -> bool:
        """Check whether a question contains a word of the model's vocabulary."""


class Check(NamedTuple):
    """One check of `doctor`; `waits` if nothing is broken and the user has a step to do, or if it
    is ok with a warning."""

    name: str
    ok: bool
    detail: str
    waits: bool = False
