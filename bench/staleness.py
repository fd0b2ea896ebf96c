"""How many claims about code are judged right after the code moved on, and what a look costs.

    python -m bench.staleness REPOSITORY CLAIMS.jsonl   labelled claims: how many are judged right
    python -m bench.staleness REPOSITORY                definitions of an older commit: times only

A labelled claim is a JSON object with `old`, `new` (revisions), `path`, `symbol`, `claim` (the
text), `label` (true, changed, moved, removed) and `moved_to`. The text alone is learned at `old`,
as if a memory said so, and checked at `new`. The repository is cloned first; it is never touched.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from recollect.freshness.claims import Claim, PinnedClaim, extract_claims
from recollect.freshness.working_tree_io import WorkTree

from .yardstick import wall

STATES = {"true": "fresh", "changed": "changed", "moved": "moved", "removed": "missing"}
COMMITS_BACK = 200


def git(folder: str, *arguments: str) -> str:
    done = subprocess.run(
        ("git", "-C", folder, *arguments), check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def learned(folder: str, claims: list[dict[str, Any]]) -> list[PinnedClaim | None]:
    """What a memory with each text would keep: the claim about the labelled symbol."""
    found: list[PinnedClaim | None] = []
    for claim in claims:
        pinned = WorkTree(folder).pin(extract_claims(claim["claim"]))
        own = [
            item for item in pinned if (item.path, item.symbol) == (claim["path"], claim["symbol"])
        ]
        found.append(own[0] if own else None)
    return found


def labelled(folder: str, file: str) -> bool:
    rows = [json.loads(line) for line in Path(file).read_text(encoding="utf-8").splitlines()]
    confusion: Counter[tuple[str, str]] = Counter()
    for old, new in sorted({(row["old"], row["new"]) for row in rows}):
        claims = [row for row in rows if (row["old"], row["new"]) == (old, new)]
        git(folder, "checkout", "--quiet", old)
        known = learned(folder, claims)
        git(folder, "checkout", "--quiet", new)
        kept = [item for item in known if item]
        results = dict(zip(map(id, kept), WorkTree(folder).check(kept), strict=True))
        for row, item in zip(claims, known, strict=True):
            result = results.get(id(item)) if item else None
            state = result.state if result else "not learned"
            if state == "moved" and result and result.moved_to != row["moved_to"]:
                state = "moved elsewhere"
            confusion[row["label"], state] += 1
            if state != STATES[row["label"]]:
                print(f"{old}..{new} {row['path']} {row['symbol']}: {row['label']}, not {state}")
    total = sum(confusion.values())
    right = sum(count for (label, state), count in confusion.items() if STATES[label] == state)
    for (label, state), count in sorted(confusion.items()):
        print(f"{label:>8} -> {state:<12} {count:>5}")
    print(f"right: {right} of {total} = {right / total:.2%}")
    return right / total >= 0.99


def every_definition(folder: str) -> list[Claim]:
    claims = []
    for path in git(folder, "ls-files", "*.py").splitlines():
        tree = ast.parse(Path(folder, path).read_text(encoding="utf-8", errors="replace"))
        for node in tree.body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                claims.append(Claim(path, node.name, 0, "symbol"))
    return claims


def age(folder: str) -> None:
    """Make all files old: the stamp of one that changed just now is not relied on."""
    for path in git(folder, "ls-files").splitlines():
        os.utime(Path(folder, path), (1_600_000_000, 1_600_000_000), follow_symlinks=False)


def timed(folder: str) -> None:
    newest = git(folder, "rev-parse", "HEAD")
    git(folder, "checkout", "--quiet", f"HEAD~{COMMITS_BACK}")
    claims = every_definition(folder)
    known: list[PinnedClaim] = []
    seconds = wall(lambda: known.extend(WorkTree(folder).pin(claims)))
    print(f"pin {len(claims)} claims: {seconds:.3f} s")
    git(folder, "checkout", "--quiet", newest)
    age(folder)
    for name in ("first check", "check again"):
        before = list(known)
        known.clear()
        seconds = wall(lambda: known.extend(WorkTree(folder).check(before)))  # noqa: B023
        print(f"{name}: {seconds:.4f} s, {dict(Counter(item.state for item in known))}")


def main() -> int:
    if len(sys.argv) not in (2, 3):
        print(__doc__)
        return 2
    with TemporaryDirectory() as base:
        folder = f"{base}/clone"
        subprocess.run(("git", "clone", "--quiet", sys.argv[1], folder), check=True)
        if len(sys.argv) == 3:
            return 0 if labelled(folder, sys.argv[2]) else 1
        timed(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
