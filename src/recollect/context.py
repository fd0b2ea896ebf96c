"""The context of an operation: spaces, settings, clock, ids and origin.

An operation is a function whose first parameter is a `Context`. Nothing here knows a capability.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

from .config import Settings
from .errors import InvalidInput, StoreError
from .fast_typing import TYPE_CHECKING, Any, NamedTuple
from .project import Project, worktree_root
from .storage.database import Database, Replica, Result, Tx
from .text import tokens
from .types.records import LAYERS
from .types.trust import check_layer

if TYPE_CHECKING:
    from .types.records import Embedder

_ALPHABET = b"0123456789abcdefghjkmnpqrstvwxyz" * 8


def new_id(prefix: str) -> str:
    """Return a new id of 60 random bits that can be read aloud and typed."""
    return new_ids(prefix, 1)[0]


def new_ids(prefix: str, count: int) -> list[str]:
    """Return many new ids, in order."""
    random = os.urandom(12 * count).translate(_ALPHABET).decode()
    return sorted([f"{prefix}-{random[at : at + 12]}" for at in range(0, 12 * count, 12)])


class Progress(NamedTuple):
    """Progress of long work: units done of a total, and the number of new messages. `number` is the
    current part, `of` the number of parts."""

    path: str
    done: int
    total: int
    messages: int
    number: int = 1
    of: int = 1


class Context:
    """An opened memory: its project, spaces, settings, clock and origin.

    `origin` is set by the code that opens the memory, never by stored content.
    """

    def __init__(
        self,
        project: Project,
        settings: Settings,
        spaces: tuple[Database, Database],
        clock: Callable[[], int],
        origin: str,
    ) -> None:
        self.project = project
        self.settings = settings
        self.project_space, self.user_space = spaces
        self.clock = clock
        self.origin = origin
        self.environment: Mapping[str, str] = {}
        """Environment variables, to find agents and folders."""
        self.open_other: Any = None
        """Opens the memory of another directory; set by `opening`."""
        self.load_repair: Any = None
        """Imports `storage.repair`, which handles SQLite files; set by `opening`."""
        self.open_engine: Any = None
        """Opens the two spaces on another engine, given its address; set by `opening`."""
        self.replica: Replica | None = None
        """A standby server that answers recalls; set by `opening`."""
        self.make_embedder: Callable[[Settings], Embedder | None] = lambda settings: None
        self.progress: Callable[[Any], object] | None = None
        """Called with the progress of long work."""
        self.start_background: Callable[[str], object] | None = None
        """Starts a process that completes the index of a project, given its root; set by the
        command line. Without it, the caller completes the index itself."""
        self.counter: Callable[[str], int] | None = None
        """An exact tokenizer for prompts; None means the estimate."""
        self.sent: dict[str, SentPrompt] = {}
        """The last prepared prompt of each session."""
        self.lacks_vectors = False
        """Set when memories were saved on a server; `client.close` then makes their vectors."""
        self.embedded: dict[str, float] = {}
        """The `written_at` of each space when its vectors were made."""
        self.recalls: dict[str, tuple[int, int]] = {}
        """Recalls not written yet: count and time by memory id."""
        self._embedder: Embedder | None = None
        for space in spaces:
            space.on_upgrade = self._report_upgrade

    @cached_property
    def top(self) -> str:
        """Return the top of the working tree that this memory was opened from."""
        return os.path.realpath(worktree_root(self.project.start) or self.project.root)

    def embedder(self) -> Embedder | None:
        """Return the embedder; None when search by meaning is off."""
        if self._embedder is None and self.settings.embedder != "off":
            self._embedder = self.make_embedder(self.settings)
        return self._embedder

    def space_of(self, layer: str) -> Database:
        """Return the space that holds a layer; raise InvalidInput for a layer that is none."""
        if layer not in LAYERS:
            hint = f"one of: {', '.join(LAYERS)}"
            raise InvalidInput(f"{layer!r} is not a layer", where="layer", hint=hint)
        return self.user_space if layer == "user" else self.project_space

    def writable(self, space: Database) -> Database:
        """Return a space for writing; raise Refused unless a person writes to the user's."""
        if space is self.user_space:
            check_layer("user", self.origin)
        return space

    def path_in_project(self, path: str) -> str:
        """Return a path or glob relative to the top of the working tree, as scopes name it.

        A relative path counts from the top, or from the folder of the call if it begins with `..`
        or only exists there. A path outside of the working tree is returned unchanged.
        """
        if not os.path.isabs(path):
            first = path.partition("/")[0]
            here = os.path.join(self.project.start, first)
            if first != os.pardir and (
                os.path.lexists(os.path.join(self.top, first)) or not os.path.lexists(here)
            ):
                return path
        inside = os.path.relpath(os.path.realpath(os.path.join(self.project.start, path)), self.top)
        return path if inside.startswith(os.pardir) else inside.replace(os.sep, "/")

    def scopes_in_project(self, scopes: Sequence[str]) -> tuple[str, ...]:
        """Return scopes relative to the top of the working tree; raise InvalidInput for one that
        can match no file of it."""
        found = []
        for given in scopes:
            has_parents = os.pardir in given.split("/")
            scope = self.path_in_project(os.path.normpath(given) if has_parents else given)
            # `/src` is below the top, as in a .gitignore; `/etc/**` is not.
            first = "/".join(scope.split("/", 2)[:2])
            is_elsewhere = os.path.lexists(first) and not os.path.lexists(self.top + first)
            if scope.split("/")[0] == os.pardir or (os.path.isabs(scope) and is_elsewhere):
                raise InvalidInput(
                    f"{given} is outside of the project",
                    where="scope",
                    hint=f"a path or glob below {self.top}, such as src/api/**",
                )
            found.append(scope)
        return tuple(found)

    def present_spaces(self) -> list[Database]:
        """Return those of the two spaces, project and user, that exist."""
        return [space for space in (self.project_space, self.user_space) if space.present()]

    def read_both(self, work: Callable[[tuple[Tx, ...]], Result], *, ahead: bool = False) -> Result:
        """Run `work` with a read transaction on each of the two spaces that exists; with `ahead`,
        read the project by `Database.read_ahead`."""
        return self._read((self.project_space, self.user_space), work, ahead)

    def search_both(
        self, work: Callable[[tuple[Tx, ...]], Result], *, ahead: bool = False
    ) -> Result:
        """Run `work` as `read_both` does, but on the read replica while there is one that answers:
        what another process saved a moment ago may be missing."""
        if self.replica and (spaces := self.replica.spaces()):
            try:
                return self._read(spaces, work, ahead)
            except StoreError:
                self.replica.note_failure()
        return self.read_both(work, ahead=ahead)

    def _read(
        self,
        spaces: tuple[Database, Database],
        work: Callable[[tuple[Tx, ...]], Result],
        ahead: bool,
    ) -> Result:
        project, user = spaces
        if not user.present():
            return project.read(lambda tx: work((tx,))) if project.present() else work(())
        if not project.present():
            return user.read(lambda tx: work((tx,)))
        read = project.read_ahead if ahead else project.read
        return read(lambda project_tx: user.read(lambda user_tx: work((project_tx, user_tx))))

    def progress_of(self, task: str, total: int) -> Callable[[int], object] | None:
        """Return a function that reports finished units of work; None without a listener."""
        if self.progress is None:
            return None
        done, report = 0, self.progress

        def advance(more: int) -> None:
            nonlocal done
            done += more
            report(Progress(task, done, max(total, done), 0))

        return advance

    def _report_upgrade(self, part: int) -> None:
        if advance := self.progress_of("upgrading the store", 1):
            advance(part)


class PromptRequest(NamedTuple):
    """The parts of a request beside the conversation, and the limits of the model. `tools` is the
    text of the tool definitions, or its number of tokens; `counter` replaces the estimate."""

    context: int
    largest: int = 0
    output: int = 0
    tools: str | int = 0
    system: str = ""
    model: str = ""
    counter: tokens.TokenCounter | None = None


class SentPrompt(NamedTuple):
    """The last prompt of a session until its answer arrives: its length in characters, and our
    token count of a prompt that the provider rejected."""

    request: PromptRequest
    chars: int
    refused: int = 0
