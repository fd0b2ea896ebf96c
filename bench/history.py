"""File claims over a repository's history: anchored at an old commit, checked at ten later ones.

    python -m bench.history REPOSITORY [COMMITS]

What git itself says (`git diff -M`) is the truth: a renamed file must be `moved` with the right
target, a deleted one `missing`, an unchanged one `fresh`, any other `changed`. A thorough check, as
`recollect verify` makes it, also finds files that one diff over many commits calls deleted: then
`git log --follow` has to find the same file.

It also prints what it costs to verify 50 memories as a briefing does, from the claims in the store
to a verdict on each, when nothing changed since the last look. Each memory names a symbol in a file
of its own and, in the second line, one more file. The yardstick is `os.stat` of each of these
files, once however many memories name it. The repository is cloned first.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from tempfile import TemporaryDirectory

import recollect
from recollect.freshness import sql as freshness_sql
from recollect.freshness.claims import Claim, PinnedClaim
from recollect.freshness.steps import check_freshness
from recollect.freshness.working_tree_io import WorkTree

from .yardstick import Ratio, line, own_time, paired, table

STEPS = 10
MEMORIES = 50


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


def followed(folder: str, commit: str, path: str, target: str) -> bool:
    """Whether git, following the target back commit by commit, finds that it was called so."""
    options = ("--follow", "-M", "-z", "--format=", "--name-status")
    return path in git(folder, "log", *options, commit, "--", target).split("\0")


def judged(
    folder: str, steps: list[str], known: list[PinnedClaim], thorough: bool
) -> tuple[Counter[str], Counter[tuple[str, str]]]:
    """How many claims are judged right by their state, and wrong by the true and the told one."""
    right: Counter[str] = Counter()
    wrong: Counter[tuple[str, str]] = Counter()
    for commit in steps:
        git(folder, "checkout", "--quiet", commit)
        expected = truth(folder, known[0].committed, commit)
        for item in WorkTree(folder).check(known, thorough):
            state, target = expected.get(item.path, ("fresh", ""))
            if (item.state, item.moved_to) == (state, target):
                right[state] += 1
            elif state == "missing" and followed(folder, commit, item.path, item.moved_to):
                right["moved, step by step"] += 1
            else:
                wrong[state, item.state] += 1
    return right, wrong


def main() -> int:
    lines = []
    with TemporaryDirectory() as base:
        folder = os.path.join(base, "clone")
        subprocess.run(("git", "clone", "--quiet", sys.argv[1], folder), check=True)
        commits = git(folder, "rev-list", "--first-parent", "--reverse", "HEAD").split()
        back = min(int(sys.argv[2]) if len(sys.argv) > 2 else 500, len(commits) - 1)
        steps = [commits[-1 - back * step // STEPS] for step in range(STEPS)][::-1]
        git(folder, "checkout", "--quiet", commits[-1 - back])
        files = [name for name in git(folder, "ls-files", "-z").split("\0") if name]
        known = WorkTree(folder).pin([Claim(name, given=True) for name in files])
        for name, thorough in (("right", False), ("right, thorough", True)):
            right, wrong = judged(folder, steps, known, thorough)
            print(f"{len(known)} files, {back} commits: {dict(right)}, wrong {dict(wrong)}")
            share = right.total() / (right.total() + wrong.total())
            lines.append(line(name, share, 1.0, "", ("at least", 0.99)))
        lines += [cost(folder, base, files) for files in (1, 2)]
        print(table(lines))
    return 0 if all(item.holds for item in lines) else 1


def cost(folder: str, base: str, files: int) -> Ratio:
    """Verifying memories that name so many files each, against `stat` of the same files."""
    variables = {"RECOLLECT_HOME": os.path.join(base, f"home{files}")}
    store = os.path.join(folder, ".recollect")
    with recollect.open(folder, environment=variables) as memory:
        ids = [memory.learn(text).id for text in anchored(folder, files)]
        rows = memory.context.project_space.read(lambda tx: freshness_sql.load_checks(tx, ids))
        paths = [os.path.join(folder, path) for path in {row[0] for row in rows}]
        verdicts = check_freshness(memory.context, ids)
        assert set(verdicts) == set(ids) and {item.state for item in verdicts.values()} == {"fresh"}

        def ours() -> float:
            return own_time(lambda: [check_freshness(memory.context, ids) for _ in range(40)])

        def stats() -> float:
            return own_time(lambda: [os.stat(path) for _ in range(40) for path in paths])

        mine, yardstick = paired(ours, stats, 9)
    shutil.rmtree(store)
    name = f"verifying {len(ids)} memories of {len(rows)} claims on {len(paths)} files"
    return line(name, mine * 25, yardstick * 25, "ms CPU", ("at most", 3.0))


def anchored(folder: str, files: int) -> list[str]:
    """What 50 memories say, each of the first definition in a file of its own."""
    defined: dict[str, str] = {}
    others = []
    for path in git(folder, "ls-files", "-z").split("\0"):
        place = os.path.join(folder, path)
        if not os.path.isfile(place):
            continue
        # Old enough that a look trusts the stamp.
        os.utime(place, (1_600_000_000, 1_600_000_000))
        with open(place, encoding="utf-8", errors="replace") as file:
            found = path.endswith(".py") and re.search(r"^(?:class|def) (\w+)", file.read(), re.M)
        if found and len(defined) < MEMORIES:
            defined[path] = found[1]
        else:
            others.append(path)
    more = [f" See {path} for how." for path in others] if files > 1 else [""]
    return [
        f"`{name}` in {path} gives up after three attempts.{more[at % len(more)]}"
        for at, (path, name) in enumerate(defined.items())
    ]


if __name__ == "__main__":
    sys.exit(main())
