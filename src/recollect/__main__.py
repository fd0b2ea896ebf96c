"""`python -m recollect` and the `recollect` command."""

from __future__ import annotations

import gc
import os
import sys


def main() -> None:
    _speak_utf8()
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


def _speak_utf8() -> None:
    """Start again in Python's UTF-8 mode where it was switched off in a locale of ASCII alone.

    Else every argument, path and stream with another character would come in as escapes, and no
    path with one could be named at all."""
    if sys.getfilesystemencoding() != "ascii" or sys.flags.utf8_mode or not sys.executable:
        return
    try:
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])
    except OSError:
        return  # what is ASCII works


if __name__ == "__main__":
    main()
