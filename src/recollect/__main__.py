"""`python -m recollect` and the `recollect` command."""

from __future__ import annotations

import gc
import os
import sys


def main() -> None:
    if sys.platform == "win32":
        _refuse_windows()
    _speak_utf8()
    # Skip garbage collection: the process is short-lived.
    gc.set_threshold(100_000)
    if sys.argv[1:2] == ["hook"]:
        # A person waits for every hook: load nothing else.
        from .interfaces.hooks import main as answer

        sys.exit(answer(sys.argv[2:]))
    from .interfaces.cli import main as run

    status = run()
    # Everything is closed and written. Freeing the memory at exit would take a tenth of the time of
    # a search.
    os._exit(status)


WINDOWS = """recollect: native Windows is not supported (Linux and macOS are)
Use it in WSL: run `wsl --install`, then install Recollect and your agents inside of it."""


def _refuse_windows() -> None:
    """Say what to do on native Windows. A hook ends quietly: an agent waits for it."""
    if sys.argv[1:2] == ["hook"]:
        sys.exit(0)
    print(WINDOWS, file=sys.stderr)
    sys.exit(8)  # the status of `Unavailable`


def _speak_utf8() -> None:
    """Restart in Python's UTF-8 mode when the locale is plain ASCII.

    Otherwise non-ASCII arguments, paths and streams would arrive as escapes.
    """
    if sys.getfilesystemencoding() != "ascii" or sys.flags.utf8_mode or not sys.executable:
        return
    try:
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])
    except OSError:
        return  # plain ASCII still works


if __name__ == "__main__":
    main()
