"""`python -m bench`: one table of ratios. It fails when a bound does not hold.

python -m bench            everything (a few minutes)
python -m bench recall     only the lines whose name holds the word
"""

from __future__ import annotations

import sys

from . import briefing, foundation
from .yardstick import table


def main() -> int:
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    lines = []
    for measure in (*foundation.measures(), briefing.briefing):
        if wanted and wanted not in str(measure):
            continue
        lines.append(measure())
        print(f"{lines[-1].name}: {lines[-1].ratio:.2f}", file=sys.stderr)
    print(table(lines))
    return 0 if all(item.holds for item in lines) else 1


if __name__ == "__main__":
    sys.exit(main())
