"""Watch over a worker: whether the process that it works for is still there, and its heartbeat."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

HEARTBEAT = 30.0
"""Seconds between two renewals of a lease."""


class Watch:
    """Tells a worker when to stop: its parent is gone, or its lease was lost.

    A parent that was gone before the work began is not waited for: the work ends when the queue is
    empty.
    """

    def __init__(self, parent: int = 0) -> None:
        self._parent = parent if parent > 1 and _is_alive(parent) else 0
        self.lost = threading.Event()

    def should_stop(self) -> bool:
        """Check whether to stop before the next job."""
        return self.lost.is_set() or bool(self._parent and not _is_alive(self._parent))


class Heartbeat:
    """Renews leases in a thread of its own while work is going on.

    `renew` raises when a lease was lost; then the watch says so, and the thread ends.
    """

    def __init__(self, renew: Callable[[], None], watch: Watch, every: float = HEARTBEAT) -> None:
        self._renew = renew
        self._watch = watch
        self._every = every
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self) -> Heartbeat:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _beat(self) -> None:
        try:
            while not self._done.wait(self._every):
                self._renew()
        except Exception:
            self._watch.lost.set()
            raise


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # it runs, as another user
    return True
