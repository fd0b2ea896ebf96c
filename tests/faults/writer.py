"""A process that writes to a store and says what was acknowledged, one line each, as it happens.

python -m tests.faults.writer PROJECT NAME COUNT
"""

from __future__ import annotations

import sys

import recollect


def main() -> None:
    project, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    with recollect.open(project) as memory:
        for number in range(count):
            recorded = memory.record("shared", f"message {number} of {name}")
            learned = memory.learn(f"fact {number} of {name} is worth keeping")
            print("ack", recorded.seq, learned.id, number, flush=True)


if __name__ == "__main__":
    main()
