"""`python -m bench`: one table of ratios to a yardstick. It fails when a bound does not hold.

python -m bench                  what needs no data (some minutes), but not million and scale
python -m bench learn writers    only these
python -m bench --help           the names of all

Others need data, other programs or much time, and are commands of their own: `python -m bench.NAME`
with NAME one of audit, autonomous, autonomous_ratings, budgets, capture, consolidation, episodes,
export_browser, history, hooks, imports, loop, loop_poison, mcp_conformance, peers, recall,
recall.filters, recall.work, scale, secrets, secrets_published, sessions, staleness, team,
team_scale, transcripts, windows. The docstring of each says how it is called.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping

from . import (
    briefing,
    consolidation,
    episodes,
    foundation,
    hooks,
    mcp,
    scale,
    sessions,
    writers,
)
from .yardstick import Ratio, report

BENCHES: Mapping[str, Callable[[], Iterable[Ratio]]] = {
    "learn": foundation.learn,
    "grown": foundation.grown,
    "append": foundation.append,
    "writers": writers.measures,
    "cold": foundation.cold,
    "hooks": hooks.measures,
    "mcp": mcp.measures,
    "recall": foundation.recalls,
    "million": foundation.million,
    "scale": scale.measures,
    "briefing": briefing.measures,
    "sessions": sessions.measures,
    "consolidation": consolidation.measures,
    "episodes": episodes.measures,
}


LONG = ("million", "scale")
"""Only when they are named."""


def main() -> int:
    wanted = sys.argv[1:] or [name for name in BENCHES if name not in LONG]
    if unknown := [name for name in wanted if name not in BENCHES]:
        print(f"{__doc__}\n{', '.join(BENCHES)}")
        return 0 if unknown[0] in ("-h", "--help") else 2
    return report(item for name in wanted for item in BENCHES[name]())


if __name__ == "__main__":
    sys.exit(main())
