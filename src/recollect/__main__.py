"""`python -m recollect` and the `recollect` command."""

from __future__ import annotations

import gc
import os
import sys


def main() -> None:
    # What lives for some milliseconds need not look for garbage.
    gc.set_threshold(100_000)
    if sys.argv[1:2] == ["hook"]:
        # On every prompt somebody waits for it: nothing else is loaded.
        from .interfaces.hooks import main as answer

        sys.exit(answer(sys.argv[2:]))
    from .interfaces.cli import main as run

    status = run()
    # Everything is closed and written. An interpreter that now took its memory apart piece by piece
    # would need a tenth of the time of a whole search.
    os._exit(status)


if __name__ == "__main__":
    main()
