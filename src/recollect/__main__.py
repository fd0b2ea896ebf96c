"""`python -m recollect` and the `recollect` command."""

from __future__ import annotations

import sys


def main() -> None:
    if sys.argv[1:2] == ["hook"]:
        # On every prompt somebody waits for it: nothing else is loaded.
        from .interfaces.hooks import main as answer

        sys.exit(answer(sys.argv[2:]))
    from .interfaces.cli import main as run

    sys.exit(run())


if __name__ == "__main__":
    main()
