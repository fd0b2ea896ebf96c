"""`python -m recollect` and the `recollect` command."""

from __future__ import annotations

import sys


def main() -> None:
    from .interfaces.cli import main as run

    sys.exit(run())


if __name__ == "__main__":
    main()
