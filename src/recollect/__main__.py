"""`python -m recollect` and the `recollect` command."""

from __future__ import annotations

import gc
import os
import sys


def main() -> None:
    if sys.platform == "win32":
        _refuse_windows()
    _ensure_utf8()
    # Skip garbage collection: the process is short-lived.
    gc.set_threshold(100_000)
    if sys.argv[1:2] == ["hook"]:
        # The user waits for every hook: load nothing else.
        from .interfaces.hooks import main as run_hook

        sys.exit(run_hook(sys.argv[2:]))
    from .interfaces.cli import main as run_command

    status = run_command()
    # Skip the interpreter's teardown: everything is written, and it takes a tenth of a search.
    os._exit(status)


WINDOWS = """recollect: native Windows is not supported (Linux and macOS are)
Use it in WSL: run `wsl --install`, then install Recollect and your agents inside of it."""


def _refuse_windows() -> None:
    """Exit with advice on native Windows; a hook exits silently, so that its agent goes on."""
    if sys.argv[1:2] == ["hook"]:
        sys.exit(0)
    print(WINDOWS, file=sys.stderr)
    sys.exit(8)  # the status of `Unavailable`


def _ensure_utf8() -> None:
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
