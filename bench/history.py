"""File claims over a repository's history: anchored at an old commit, checked at ten later ones.

    python -m bench.history REPOSITORY [COMMITS]

What git itself says (`git diff -M`) is the truth: a renamed file must be `moved` with the right
target, a deleted one `missing`, an unchanged one `fresh`, any other `changed`. It also prints what
checking 50 anchored files costs, as a ratio to `stat`-ing them. The repository is cloned first.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from tempfile import TemporaryDirectory

from recollect.core.claims import Claim, Known
from recollect.worktree import WorkTree

from .yardstick import Ratio, line, own_time, paired, table

STEPS = 10


def git(folder: str, *arguments: str) -> str:
    done = subprocess.run(("git", "-C", folder, *arguments), check=True, capture_output=True)
    return done.stdout.decode("utf-8", "surrogateescape")


def truth(folder: str, old: str, new: str) -> dict[str, tuple[str, str]]:
    """What git says became of each file that is not as it was."""
    found = {}
    fields = git(folder, "diff", "-M", "-z", "--name-status", old, new).split("\0")
    while len(fields) > 1:
        status, path = fields.pop(0), fields.pop(0)
        if status.startswith("R"):
            found[path] = ("moved", fields.pop(0))
        elif status == "D":
            found[path] = ("missing", "")
        elif status != "A":
            found[path] = ("changed", "")
    return found


def main() -> int:
    with TemporaryDirectory() as base:
        folder = os.path.join(base, "clone")
        subprocess.run(("git", "clone", "--quiet", sys.argv[1], folder), check=True)
        commits = git(folder, "rev-list", "--first-parent", "--reverse", "HEAD").split()
        back = min(int(sys.argv[2]) if len(sys.argv) > 2 else 500, len(commits) - 1)
        steps = [commits[-1 - back * step // STEPS] for step in range(STEPS)][::-1]
        old = commits[-1 - back]
        git(folder, "checkout", "--quiet", old)
        files = [name for name in git(folder, "ls-files", "-z").split("\0") if name]
        known = WorkTree(folder).pin([Claim(name, given=True) for name in files])
        right: Counter[str] = Counter()
        wrong: Counter[tuple[str, str]] = Counter()
        for commit in steps:
            git(folder, "checkout", "--quiet", commit)
            expected = truth(folder, old, commit)
            for item in WorkTree(folder).check(known):
                state, target = expected.get(item.path, ("fresh", ""))
                if (item.state, item.moved_to) == (state, target):
                    right[state] += 1
                else:
                    wrong[state, item.state] += 1
        total = sum(right.values()) + sum(wrong.values())
        print(
            f"{len(known)} files, {back} commits, {STEPS} looks: {dict(right)}, wrong {dict(wrong)}"
        )
        share = sum(right.values()) / total
        lines = [line("right", share, 1.0, "", ("at least", 0.99)), cost(folder, known)]
        print(table(lines))
    return 0 if all(item.holds for item in lines) else 1


def cost(folder: str, known: list[Known]) -> Ratio:
    """A look at 50 anchored files that was taken before, against `stat` of the same files."""
    chosen = [item for item in known if os.path.exists(os.path.join(folder, item.path))][:50]
    for item in chosen:
        # Old enough that a second look trusts the stamp.
        os.utime(os.path.join(folder, item.path), (1_600_000_000, 1_600_000_000))
    seen = WorkTree(folder).check(chosen)

    def ours() -> float:
        return own_time(lambda: [WorkTree(folder).check(seen) for _ in range(40)])

    def stats() -> float:
        paths = [os.path.join(folder, item.path) for item in seen]
        return own_time(lambda: [os.stat(path) for _ in range(40) for path in paths])

    mine, yardstick = paired(ours, stats, 7)
    return line(
        f"looking at {len(seen)} files again", mine * 25, yardstick * 25, "ms CPU", ("at most", 3.0)
    )


if __name__ == "__main__":
    sys.exit(main())
