"""A process that indexes a store again and is killed at its n-th statement, if it comes so far.

python -m tests.faults.indexer PROJECT HOW N

HOW is `all` or `missing`. Without being killed (N = 0) it says how many statements it took.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

import apsw

import recollect


def main() -> None:
    project, how, last = sys.argv[1], sys.argv[2], int(sys.argv[3])
    done = 0

    def count(_: Any) -> None:
        nonlocal done
        done += 1
        if done == last:
            os.kill(os.getpid(), signal.SIGKILL)

    def watch(connection: apsw.Connection) -> None:
        connection.trace_v2(apsw.SQLITE_TRACE_STMT, count)

    apsw.connection_hooks.append(watch)
    with recollect.open(project) as memory:
        memory.store.rebuild(missing=how == "missing")
    print(done)


if __name__ == "__main__":
    main()
