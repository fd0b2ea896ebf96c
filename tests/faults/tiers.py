"""How much a fault test does: little in every run, more by command.

RECOLLECT_TEST_TIER=long    nightly, some minutes
RECOLLECT_TEST_TIER=release before a release, up to an hour
"""

from __future__ import annotations

import os

TIERS = ("fast", "long", "release")
TIER = os.environ.get("RECOLLECT_TEST_TIER", TIERS[0])
if TIER not in TIERS:
    raise ValueError(f"RECOLLECT_TEST_TIER is {TIER!r}: use one of {', '.join(TIERS)}")


def choose(fast: int, long: int, release: int | None = None) -> int:
    """Return the number of repetitions for this run."""
    return {"fast": fast, "long": long, "release": long if release is None else release}[TIER]
