"""Run a function in other processes, for work that is worth several processors.

A worker is a new Python process that runs `answer`. It is not a fork, which would copy the locks of
other threads and open stores, and not `multiprocessing`, which would run the caller's script again.
Requests and results are pickled through pipes, of which both ends are ours. The caller must be able
to do the work alone: a worker that died, or cannot be started, raises `WorkerLost`.
"""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Callable

from ..fast_typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from concurrent.futures import Future
    from queue import SimpleQueue
    from subprocess import Popen

MOST_WORKERS = 8
_PROGRAM = (
    "import sys, importlib; sys.path[:] = sys.argv[3:]; "
    "getattr(importlib.import_module(sys.argv[1]), sys.argv[2])()"
)


class WorkerLost(Exception):
    """A worker died, or its answer cannot be read."""


def count_processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class WorkerPool:
    """Workers that answer requests; close it in any case."""

    def __init__(self, module: str, function: str, count: int) -> None:
        """Start workers that run a function without arguments, which calls `answer`.

        Raises WorkerLost if none can be started.
        """
        # Here, because a worker needs neither, and they take it longer to import than all else.
        from concurrent.futures import ThreadPoolExecutor
        from queue import SimpleQueue

        self._idle: SimpleQueue[Popen[bytes] | None] = SimpleQueue()
        self._workers: list[Popen[bytes]] = []
        try:
            for _ in range(min(count, MOST_WORKERS)):
                self._start([module, function, *sys.path])
        except OSError as error:
            if not self._workers:
                raise WorkerLost(str(error)) from error
        self.size = len(self._workers)
        self._threads = ThreadPoolExecutor(self.size)

    def _start(self, arguments: list[str]) -> None:
        name = os.path.basename(sys.executable or "")
        if not name.startswith(("python", "pypy")):
            raise WorkerLost("this program is not a Python that could run a worker")
        from subprocess import DEVNULL, PIPE, Popen

        utf8 = ("-X", "utf8") if sys.flags.utf8_mode else ()
        worker = Popen(
            [sys.executable, "-P", *utf8, "-c", _PROGRAM, *arguments],
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,
            start_new_session=True,  # Ctrl-C is for us, and we end the workers
        )
        self._workers.append(worker)
        self._idle.put(worker)

    def ask(self, request: object) -> Future[Any]:
        """Send a request to the next idle worker; return a future of the result or WorkerLost."""
        return self._threads.submit(self._ask, request)

    def _ask(self, request: object) -> object:
        worker = self._idle.get()
        answered = None
        try:
            if worker is None:
                raise WorkerLost("this worker died before")
            assert worker.stdin and worker.stdout
            pickle.dump(request, worker.stdin)
            worker.stdin.flush()
            result = pickle.load(worker.stdout)  # noqa: S301
            answered = worker
        except (OSError, EOFError, ValueError, pickle.PickleError) as error:
            raise WorkerLost(str(error)) from error
        finally:
            self._idle.put(answered)
        return result

    def close(self) -> None:
        """End all workers, also in the middle of their work."""
        for worker in self._workers:
            worker.kill()
        self._threads.shutdown(cancel_futures=True)
        for worker in self._workers:
            worker.communicate()


def answer(work: Callable[[Any], object]) -> None:
    """Process requests from standard input until it ends, as a worker."""
    requests, results = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # nothing else may be written between results
    while True:
        try:
            request = pickle.load(requests)  # noqa: S301
        except EOFError:
            return
        pickle.dump(work(request), results)
        results.flush()
