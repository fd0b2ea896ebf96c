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
    from queue import SimpleQueue
    from subprocess import Popen
    from threading import Thread

MOST_WORKERS = 8
_PROGRAM = (
    "import sys, importlib; sys.path[:] = sys.argv[3:]; "
    "getattr(importlib.import_module(sys.argv[1]), sys.argv[2])()"
)


_UNREADABLE = (
    *(OSError, EOFError, MemoryError, pickle.PickleError, ImportError, AttributeError, LookupError),
    *(TypeError, ValueError, ArithmeticError, RuntimeError),
)
"""Errors of a broken pipe, and of the pickle of an answer that was cut off."""


class WorkerLost(Exception):
    """A worker died, or its answer cannot be read."""


def count_processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class WorkerAnswer:
    """The result of a request, as soon as a worker has it."""

    def __init__(self) -> None:
        from queue import SimpleQueue

        self._found: SimpleQueue[object] = SimpleQueue()

    def put(self, found: object) -> None:
        self._found.put(found)

    def wait(self) -> Any:
        """Return the result, once; raise WorkerLost if the worker died."""
        found = self._found.get()
        if isinstance(found, WorkerLost):
            raise found
        return found


class WorkerPool:
    """Workers that answer requests; close it in any case."""

    def __init__(self, module: str, function: str, count: int) -> None:
        """Start workers that run a function without arguments, which calls `answer`.

        Raises WorkerLost if none can be started.
        """
        # Here, because a worker needs neither, and they take it longer to import than all else.
        # `concurrent.futures` takes as long again: it imports `logging`.
        from queue import SimpleQueue
        from threading import Thread

        self._requests: SimpleQueue[tuple[object, WorkerAnswer] | None] = SimpleQueue()
        self._workers: list[Popen[bytes]] = []
        try:
            for _ in range(min(count, MOST_WORKERS)):
                self._workers.append(_start([module, function, *sys.path]))
        except OSError as error:
            if not self._workers:
                raise WorkerLost(str(error)) from error
        self.size = len(self._workers)
        self._alive = list(self._workers)
        self._threads: list[Thread] = [
            Thread(target=self._serve, args=(worker,), daemon=True) for worker in self._workers
        ]
        for thread in self._threads:
            thread.start()

    def ask(self, request: object) -> WorkerAnswer:
        """Send a request to the next idle worker."""
        answer = WorkerAnswer()
        self._requests.put((request, answer))
        return answer

    def _serve(self, worker: Popen[bytes]) -> None:
        """Hand requests to a worker. Those after its death are left to the other workers; when all
        have died, each is answered with WorkerLost."""
        while (asked := self._requests.get()) is not None:
            request, answer = asked
            try:
                answer.put(_ask(worker, request))
            except _UNREADABLE as error:
                answer.put(WorkerLost(str(error)))
                if worker in self._alive:
                    self._alive.remove(worker)
                if self._alive:
                    return

    def close(self) -> None:
        """End all workers, also in the middle of their work."""
        for worker in self._workers:
            worker.kill()
            self._requests.put(None)
        for thread in self._threads:
            thread.join()
        for worker in self._workers:
            worker.communicate()


def _start(arguments: list[str]) -> Popen[bytes]:
    name = os.path.basename(sys.executable or "")
    if not name.startswith(("python", "pypy")):
        raise WorkerLost("this program is not a Python that could run a worker")
    from subprocess import DEVNULL, PIPE, Popen

    utf8 = ("-X", "utf8") if sys.flags.utf8_mode else ()
    return Popen(
        # Without `site`: the worker gets our path.
        [sys.executable, "-P", "-S", *utf8, "-c", _PROGRAM, *arguments],
        stdin=PIPE,
        stdout=PIPE,
        stderr=DEVNULL,
        start_new_session=True,  # Ctrl-C is for us, and we end the workers
    )


def _ask(worker: Popen[bytes], request: object) -> object:
    assert worker.stdin and worker.stdout
    pickle.dump(request, worker.stdin)
    worker.stdin.flush()
    return pickle.load(worker.stdout)  # noqa: S301


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
