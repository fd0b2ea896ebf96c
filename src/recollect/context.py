"""What every operation needs: the two spaces, the settings, the clock, ids, and who is speaking."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from types import TracebackType

from .agents import operations_import as agents_operations_import
from .config import Settings
from .fast_typing import TYPE_CHECKING, Any
from .index import steps_vectors as index_steps_vectors
from .lessons import steps as lessons_steps
from .lessons import steps_finished_work as lessons_steps_finished_work
from .project import Project, top_of
from .recall import steps as recall_steps
from .recall import steps_reindex as recall_steps_reindex
from .storage.database import Database, Result, Tx
from .types import trust
from .window import steps as window_steps
from .window import steps_compact as window_steps_compact

if TYPE_CHECKING:
    from typing import Self

    from .index.steps_vectors import Embedder

    Indexing = Callable[[Database, Callable[[int], object] | None], int]

_MOST_NOTED = 200
_ALPHABET = b"0123456789abcdefghjkmnpqrstvwxyz" * 8


def new_id(prefix: str) -> str:
    """A fresh id of 60 random bits that can be read out and typed."""
    return f"{prefix}-{os.urandom(12).translate(_ALPHABET).decode()}"


class Opened:
    """An opened memory. `origin` is set by whoever opens it, never by what is written."""

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
        self.origin = origin
        self._project_space, self._user_space = spaces
        for space in spaces:
            space.on_upgrade = self._upgrading
        self._clock = clock
        self._recalled: dict[str, tuple[int, int]] = {}
        # Set by whoever opens the memory: the variables to find agents by, how to open the memory
        # of another directory, and whom to tell how far a long work is.
        self.environment: Mapping[str, str] = {}
        self.elsewhere: Any = None
        self.progress: Callable[[Any], object] | None = None
        """Makes who turns words into vectors; not made before it is needed."""
        self._sent: dict[str, window_steps.Sent] = {}
        self.embedder_of: Callable[[Settings], Embedder | None] = lambda settings: None
        self._embedder: Embedder | None = None
        self.counter: Callable[[str], int] | None = None
        """An exact tokenizer, if there is one; prompts are then counted with it."""

    @cached_property
    def _top(self) -> str:
        """The top of the working tree that this memory was opened from."""
        return os.path.realpath(top_of(self.project.start) or self.project.root)

    def _in_project(self, path: str) -> str:
        """A path as scopes name it: from the top of the working tree, also when it is absolute."""
        if not os.path.isabs(path):
            return path
        inside = os.path.relpath(os.path.realpath(path), self._top)
        return path if inside.startswith(os.pardir) else inside.replace(os.sep, "/")

    def _meaning(self) -> Embedder | None:
        """Who finds by meaning; None when that is switched off."""
        if self._embedder is None and self.settings.embedder != "off":
            self._embedder = self.embedder_of(self.settings)
        return self._embedder

    def _index_again(self) -> int:
        """Index what an earlier version indexed in another way; says how much it was."""
        waiting = [one for one in self._present() if one.read(recall_steps.words_missing)]
        return self._index(waiting, recall_steps_reindex.renew) if waiting else 0

    def _index(self, spaces: Sequence[Database], index: Indexing) -> int:
        """Index everything in these spaces by its words; says how much it was."""
        tell = None
        if self.progress:
            tell = self._telling(
                "words", sum(one.read(recall_steps_reindex.count) for one in spaces)
            )
        return sum(index(one, tell) for one in spaces)

    def _make_vectors(self) -> int:
        """Make all vectors that are missing; says how many."""
        embedder = self._meaning()
        if embedder is None:
            return 0
        now = self._clock()
        spaces = self._present()
        tell = None
        if self.progress:
            lag = sum(space.read(index_steps_vectors.coverage).unembedded for space in spaces)
            tell = self._telling("meaning", lag)
        return sum(index_steps_vectors.catch_up(one, embedder, now, tell=tell) for one in spaces)

    def _telling(self, what: str, total: int) -> Callable[[int], object] | None:
        """How to tell whoever watches how far a long work is."""
        if self.progress is None:
            return None
        done, report = 0, self.progress

        def tell(more: int) -> None:
            nonlocal done
            done += more
            report(agents_operations_import.Progress(what, done, max(total, done), 0))

        return tell

    def _upgrading(self, part: int) -> None:
        if tell := self._telling("upgrading the store", 1):
            tell(part)

    def _trees(self) -> window_steps_compact.Trees:
        """How the working tree stands."""
        if self.project.how != "git":
            return window_steps_compact.Trees()
        from .freshness import git_state_io

        state = git_state_io.read(self.project.start)
        return window_steps_compact.Trees(state.commits, state.status)

    def _space_of(self, layer: str) -> Database:
        return self._user_space if layer == "user" else self._project_space

    def _writable(self, space: Database) -> Database:
        """Return a space whose records this caller may change; only a person changes the user's."""
        if space is self._user_space:
            trust.check_layer("user", self.origin)
        return space

    def _present(self) -> list[Database]:
        """The project's and the user's space, as far as they are there."""
        return [space for space in (self._project_space, self._user_space) if space.present()]

    def _both(self, work: Callable[[tuple[Tx, ...]], Result]) -> Result:
        """Read the project's and the user's space together, as far as they are there."""
        project, user = self._project_space, self._user_space
        if not user.present():
            return project.read(lambda tx: work((tx,))) if project.present() else work(())
        if not project.present():
            return user.read(lambda tx: work((tx,)))
        return project.read(lambda one: user.read(lambda other: work((one, other))))

    def _note_recalls(self, ids: Iterable[str], now: int) -> None:
        """Count recalls in memory; they are written when there are many, and on closing. Such a
        count may be lost: a search must not cost a write."""
        for id in ids:
            self._recalled[id] = (self._recalled.get(id, (0, 0))[0] + 1, now)
        if len(self._recalled) >= _MOST_NOTED:
            self._write_recalls()

    def _write_recalls(self) -> None:
        """Write down what was recalled since the last time."""
        noted, self._recalled = self._recalled, {}
        if noted:
            for space in (self._project_space, self._user_space):
                space.note(lambda tx: recall_steps.note(tx, noted))

    def _settle(self, task_done: bool = False) -> lessons_steps_finished_work.Settled:
        """Let what is over teach, if that is wanted."""
        if not self.settings.consolidate:
            return lessons_steps_finished_work.Settled()
        self._write_recalls()
        means = lessons_steps.Means(self._clock, new_id, self._meaning())
        return lessons_steps_finished_work.settle(
            self._project_space, new_id("r"), means, task_done
        )

    def close(self) -> None:
        """Give back this thread's connections; the next operation opens them again."""
        self._write_recalls()
        self._project_space.close()
        self._user_space.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
