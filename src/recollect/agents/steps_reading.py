"""Read transcripts in several processes if there is enough to read."""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Generator, Iterable, Iterator, Sequence

from ..fast_typing import TYPE_CHECKING
from . import steps_import

if TYPE_CHECKING:
    from .processes_io import WorkerAnswer, WorkerPool

WORTH_PROCESSES = 8_000_000
"""Bytes of new transcripts above which several processes read them."""

LARGEST_FOR_WORKER = 16_000_000
READ_AHEAD = 32_000_000
"""Bytes of transcripts that may be read and not yet written."""


def read_all(
    requests: Sequence[steps_import.ReadRequest],
) -> Generator[Iterable[steps_import.ReadItem], None, None]:
    """Yield the items of each transcript, in order; large imports are read by several processes.

    A worker reads a whole transcript. One that a worker did not return, because it was killed or
    because of an error, is read here.
    """
    sizes = _choose_for_workers(requests)
    is_worth_it = len(sizes) > 1 and sum(sizes.values()) >= WORTH_PROCESSES
    pool = _open_workers(len(sizes)) if is_worth_it else None
    if pool is None:
        yield from map(steps_import.read_items, requests)
        return
    try:
        yield from _read_ahead(requests, sizes, pool)
    finally:
        pool.close()


def _read_ahead(
    requests: Sequence[steps_import.ReadRequest], sizes: dict[int, int], pool: WorkerPool
) -> Iterator[Iterable[steps_import.ReadItem]]:
    """Yield the items of each transcript, in order, while workers read the next ones.

    A single worker leaves the stems, a quarter of the work, to this process: so both have as much
    to do, and only one of them learns the words. Several workers would wait for it.
    """
    from .processes_io import WorkerLost

    stems = pool.size > 1
    unassigned = deque(sizes)
    answers: dict[int, WorkerAnswer] = {}
    ahead = 0
    for place, request in enumerate(requests):
        while unassigned and ahead < READ_AHEAD:
            following = unassigned.popleft()
            answers[following] = pool.ask(requests[following]._replace(stems=stems))
            ahead += sizes[following]
        items = None
        if place in answers:
            try:
                items = answers.pop(place).wait()
            except WorkerLost:
                pass
        yield steps_import.read_items(request) if items is None else steps_import.add_stems(items)
        ahead -= sizes.get(place, 0)


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
