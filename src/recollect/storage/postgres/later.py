"""Run work that no caller waits for, in one thread and in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from threading import Lock, Thread, current_thread

from ...errors import StoreError, Unavailable


class LaterRunner:
    """Run work that may be lost. The thread ends with the last of it, and needs one connection."""

    def __init__(self) -> None:
        self._turn = Lock()
        self._waiting: deque[Callable[[], object]] = deque()
        self._thread: Thread | None = None

    def run(self, work: Callable[[], object]) -> None:
        """Run something soon, after what was given before."""
        with self._turn:
            self._waiting.append(work)
            if self._thread is None:
                self._thread = Thread(target=self._run_waiting, name="recollect-later")
                self._thread.start()

    def join(self) -> None:
        """Wait until everything that was given has run."""
        with self._turn:
            thread = self._thread
        if thread and thread is not current_thread():
            thread.join()

    def _run_waiting(self) -> None:
        try:
            while work := self._next():
                with suppress(StoreError, Unavailable):
                    work()
        finally:
            with self._turn:
                if self._thread is current_thread():
                    self._thread = None

    def _next(self) -> Callable[[], object] | None:
        """Return what is to be run next; if there is nothing, the thread that asks ends."""
        with self._turn:
            if self._waiting:
                return self._waiting.popleft()
            self._thread = None
            return None
