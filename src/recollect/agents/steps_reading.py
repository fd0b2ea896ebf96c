"""Read transcripts in several processes, if it is worth it."""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Generator, Iterable, Sequence
from typing import TYPE_CHECKING

from . import steps_import

if TYPE_CHECKING:
    from concurrent.futures import Future

    from .processes_io import WorkerPool

WORTH_PROCESSES = 8_000_000
"""Bytes of new transcripts from which on several processes read them."""

LARGEST_FOR_WORKER = 16_000_000
READ_AHEAD = 32_000_000
"""Bytes of transcripts that may be read and not yet written."""


def read_all(
    requests: Sequence[steps_import.ReadRequest],
) -> Generator[Iterable[steps_import.ReadItem], None, None]:
    """Yield the items of each transcript, in order: read by several processes if it is worth it.

    A worker reads a whole transcript, and so does this process instead of waiting for one. What a
    worker does not return, because it was killed or because the transcript has an error, is read
    here.
    """
    sizes = _choose_for_workers(requests)
    is_worth_it = len(sizes) > 1 and sum(sizes.values()) >= WORTH_PROCESSES
    pool = _open_workers(len(sizes)) if is_worth_it else None
    if pool is None:
        yield from map(steps_import.read_items, requests)
        return
    try:
        shared = _SharedReading(requests, sizes, pool)
        for place, request in enumerate(requests):
            items = shared.take(place)
            yield steps_import.read_items(request) if items is None else items
    finally:
        pool.close()


class _SharedReading:
    """Transcripts that are read ahead, by workers and by this process."""

    def __init__(
        self, requests: Sequence[steps_import.ReadRequest], sizes: dict[int, int], pool: WorkerPool
    ) -> None:
        self._requests, self._sizes, self._pool = requests, sizes, pool
        self._open = deque(sizes)
        self._asked: dict[int, Future[list[steps_import.ReadItem] | None]] = {}
        self._read: dict[int, list[steps_import.ReadItem] | None] = {}

    def take(self, place: int) -> list[steps_import.ReadItem] | None:
        """Return the items of a transcript; None if it is to be read here, without reading
        ahead."""
        from .processes_io import WorkerLost

        self._ask()
        if place in self._read:
            return self._read.pop(place)
        if place not in self._asked:
            if self._open and self._open[0] == place:
                self._open.popleft()
            return None
        asked = self._asked[place]
        while not asked.done() and (after := self._next()) is not None:
            self._read[after] = _read_whole(self._requests[after])
            self._ask()
        try:
            return asked.result()
        except WorkerLost:
            return None
        finally:
            del self._asked[place]

    def _ask(self) -> None:
        """Keep a request waiting for each worker beside the one that it works on."""
        while sum(not one.done() for one in self._asked.values()) < 2 * self._pool.size:
            if (after := self._next()) is None:
                break
            self._asked[after] = self._pool.ask(self._requests[after])

    def _next(self) -> int | None:
        """Return the next transcript that nobody reads; None if too much was read ahead."""
        ahead = sum(self._sizes[place] for place in (*self._asked, *self._read))
        return self._open.popleft() if self._open and ahead < READ_AHEAD else None


def _choose_for_workers(requests: Sequence[steps_import.ReadRequest]) -> dict[int, int]:
    """Return the indexes of new transcripts that a worker may read, with their sizes in bytes.

    Left out: files so large, or compressed, that their messages would fill the memory, and files
    with several transcripts.
    """
    paths = Counter(request.transcript.path for request in requests)
    found = {}
    for place, request in enumerate(requests):
        path = request.transcript.path
        if request.position is None and paths[path] == 1 and not path.endswith(".zst"):
            try:
                size = os.path.getsize(path) if os.path.isfile(path) else 0
            except OSError:
                continue  # reading it will say why
            if 0 < size <= LARGEST_FOR_WORKER:
                found[place] = size
    return found


def _open_workers(most: int) -> WorkerPool | None:
    """Start a worker for each processor but the one of this process; None if none starts."""
    from .processes_io import WorkerLost, WorkerPool, count_processors

    processors = count_processors()
    try:
        return WorkerPool(__name__, "work", min(processors - 1, most)) if processors > 1 else None
    except WorkerLost:
        return None


def work() -> None:
    """Read the transcripts that are asked for, in a process of its own."""
    from .processes_io import answer

    answer(_read_whole)


def _read_whole(request: steps_import.ReadRequest) -> list[steps_import.ReadItem] | None:
    """Return all items of a transcript; None if it has an error."""
    try:
        return list(steps_import.read_items(request))
    except steps_import.TRANSCRIPT_ERRORS:
        return None
