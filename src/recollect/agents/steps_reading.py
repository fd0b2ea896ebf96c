"""Read transcripts in several processes if there is enough to read."""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Generator, Iterable, Sequence

from ..fast_typing import TYPE_CHECKING
from . import steps_import

if TYPE_CHECKING:
    from concurrent.futures import Future

    from .processes_io import WorkerPool

WORTH_PROCESSES = 8_000_000
"""Bytes of new transcripts above which several processes read them."""

LARGEST_FOR_WORKER = 16_000_000
READ_AHEAD = 32_000_000
"""Bytes of transcripts that may be read and not yet written."""


def read_all(
    requests: Sequence[steps_import.ReadRequest],
) -> Generator[Iterable[steps_import.ReadItem], None, None]:
    """Yield the items of each transcript, in order; large imports are read by several processes.

    A worker reads a whole transcript; instead of waiting for it, this process reads another. A
    transcript that a worker did not return, because it was killed or because of an error, is read
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
            items = shared.get_items(place)
            yield steps_import.read_items(request) if items is None else items
    finally:
        pool.close()


class _SharedReading:
    """Transcripts that are read ahead, by workers and by this process."""

    def __init__(
        self, requests: Sequence[steps_import.ReadRequest], sizes: dict[int, int], pool: WorkerPool
    ) -> None:
        self._requests, self._sizes, self._pool = requests, sizes, pool
        self._unassigned = deque(sizes)
        self._submitted: dict[int, Future[list[steps_import.ReadItem] | None]] = {}
        self._read_here: dict[int, list[steps_import.ReadItem] | None] = {}

    def get_items(self, place: int) -> list[steps_import.ReadItem] | None:
        """Return the items of a transcript; None if the caller has to read it."""
        from .processes_io import WorkerLost

        self._submit()
        if place in self._read_here:
            return self._read_here.pop(place)
        if place not in self._submitted:
            if self._unassigned and self._unassigned[0] == place:
                self._unassigned.popleft()
            return None
        result = self._submitted[place]
        while not result.done() and (other := self._pop_next()) is not None:
            self._read_here[other] = _read_whole(self._requests[other])
            self._submit()
        try:
            return result.result()
        except WorkerLost:
            return None
        finally:
            del self._submitted[place]

    def _submit(self) -> None:
        """Submit requests until each worker has one queued beside the one that it works on."""
        while sum(not one.done() for one in self._submitted.values()) < 2 * self._pool.size:
            if (place := self._pop_next()) is None:
                break
            self._submitted[place] = self._pool.ask(self._requests[place])

    def _pop_next(self) -> int | None:
        """Return the next unassigned transcript; None if too much was read ahead."""
        ahead = sum(self._sizes[place] for place in (*self._submitted, *self._read_here))
        return self._unassigned.popleft() if self._unassigned and ahead < READ_AHEAD else None


def _choose_for_workers(requests: Sequence[steps_import.ReadRequest]) -> dict[int, int]:
    """Return the indexes of new transcripts that a worker may read, with their sizes in bytes.

    Left out are files whose messages could fill the memory (too large, or compressed), and files
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
                continue  # reading it raises the error
            if 0 < size <= LARGEST_FOR_WORKER:
                found[place] = size
    return found


def _open_workers(most: int) -> WorkerPool | None:
    """Start one worker less than there are processors; None if none starts."""
    from .processes_io import WorkerLost, WorkerPool, count_processors

    processors = count_processors()
    try:
        return WorkerPool(__name__, "work", min(processors - 1, most)) if processors > 1 else None
    except WorkerLost:
        return None


def work() -> None:
    """Run a worker process: read the requested transcripts."""
    from .processes_io import answer

    answer(_read_whole)


def _read_whole(request: steps_import.ReadRequest) -> list[steps_import.ReadItem] | None:
    """Return all items of a transcript; None if it has an error."""
    try:
        return list(steps_import.read_items(request))
    except steps_import.TRANSCRIPT_ERRORS:
        return None
