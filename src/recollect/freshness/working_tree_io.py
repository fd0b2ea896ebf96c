"""Observe the working tree for claims about the code.

Compares the stamp of a file first, its content if the stamp changed, and asks git only about
missing files. `freshness.claims` judges the observation. Without git, a lost file stays lost.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Mapping, Sequence

from . import definitions, stamps_io
from .claims import MENTION, Claim, Observation, PinnedClaim, judge_claim
from .git_io import Git, list_tracked, read_head
from .stamps_io import DIRECTORY
from .tree_files_io import TreeFiles

MOST_UNTRACKED = 500
"""At most this many untracked files are hashed to find one that moved."""

MOST_NAMES = 200
"""The most names that one process searches for."""

_SETTLED = 2_000_000_000
"""Nanoseconds after which another change of a file certainly gets another time stamp."""

_SHORTEST_LINE = 8
"""Shorter lines (a brace, an else) occur anywhere."""

_SYMBOLS = ("symbol", "declaration")
_LOST = ("missing", "moved")


EMPTY_BLOB = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
"""The hash of every empty file: it does not show where one of them went."""


class WorkTree(TreeFiles):
    """One working tree. It caches all reads, so make a new one for every check.

    A `quick` one starts no process, and finds nothing that only git knows.
    """

    def __init__(self, root: str, quick: bool = False) -> None:
        super().__init__(root)
        self._quick = quick
        self._defined: dict[str, list[str]] = {}
        self._meant: dict[str, str] = {}
        self._head: str | None = None
        self._tracked: str | None = None
        self._files: str | None = None

    def _sign(self, claim: Claim | PinnedClaim) -> str:
        """Hash the claimed part of a file; empty if the part is missing."""
        text = self.text(claim.path)
        if claim.symbol:
            return definitions.sign_symbol(text, claim.path, claim.symbol, claim.kind)
        lines = text.splitlines()[claim.line - 1 : claim.line] if claim.line else []
        telling = [line for line in lines if len(line.strip()) >= _SHORTEST_LINE]
        return definitions.hash_text(telling[0].strip()) if telling else ""

    def _seen(self, known: PinnedClaim) -> Observation:
        blob = self.blob(known.path)
        if not blob or blob == known.blob:
            return Observation(bool(blob), blob)
        if known.symbol:
            return Observation(True, blob, self._sign(known))
        lines = self.text(known.path).splitlines() if known.sign else ()
        stands = any(definitions.hash_text(line.strip()) == known.sign for line in lines)
        return Observation(True, blob, known.sign if stands else "")

    def find_files(self, paths: Iterable[str]) -> dict[str, str]:
        """Return the file that each path means, as far as there is one."""
        return self._find_files(paths, Git(self.root))

    def look_up(self, claims: Sequence[Claim]) -> None:
        """Find the definitions of all symbols without a path at once, for many calls of `pin`."""
        wanted = sorted({one.symbol for one in claims if one.kind in _SYMBOLS and not one.path})
        for start in range(0, len(wanted), MOST_NAMES):
            self._defined |= self._homes(wanted[start : start + MOST_NAMES], Git(self.root))

    def pin(self, claims: Sequence[Claim]) -> list[PinnedClaim]:
        """Pin each claim to the current tree, for later comparison.

        A claim found in a text is dropped if the tree does not confirm it; a cited one stays, as
        unverifiable. Paths are completed if that is unambiguous.
        """
        git = Git(self.root)
        places = self._located(claims, git)
        commit = self._read_head(git) if any(places) else ""
        pinned: dict[PinnedClaim, None] = {}
        for claim, place in zip(claims, places, strict=True):
            if place:
                known = PinnedClaim(
                    path=place,
                    symbol=claim.symbol,
                    line=claim.line,
                    kind=claim.kind,
                    blob=self.blob(place),
                    committed=commit,
                    state="fresh",
                )
                pinned[known._replace(sign=self._sign(known), stamp=self._settled(place))] = None
            elif claim.given:
                pinned[PinnedClaim(claim.path, claim.symbol, claim.line, claim.kind)] = None
        # A claim about a part includes its file.
        covered = {known.path for known in pinned if known.symbol or known.line}
        return [item for item in pinned if item.symbol or item.line or item.path not in covered]

    def pin_all(self, claims: Mapping[str, Sequence[Claim]]) -> dict[str, list[PinnedClaim]]:
        """Pin the claims of many memories, by id; those without any are left out."""
        named = {claim.path for some in claims.values() for claim in some if claim.path}
        files = self._find_files(named, Git(self.root))
        pinned = {
            id: self.pin(some)
            for id, some in claims.items()
            # Without a process only a file that is there confirms a claim: most texts name none.
            if not self._quick or any(claim.given or claim.path in files for claim in some)
        }
        return {id: some for id, some in pinned.items() if some}

    def _read_head(self, git: Git) -> str:
        """Return the commit that is checked out; empty without one."""
        if self._head is None:
            self._head = read_head(self.root) or ("" if self._quick else git.resolved(["HEAD"])[0])
        return self._head

    def _located(self, claims: Sequence[Claim], git: Git) -> list[str]:
        """Return the path where each claim holds; empty for none or several."""
        files = self._find_files({claim.path for claim in claims if claim.path}, git)
        named = [files[claim.path] for claim in claims if claim.path in files]
        places: list[str] = []
        for claim in claims:
            home = files.get(claim.path, "")
            if claim.symbol:
                likely = [home, *named] if claim.kind in _SYMBOLS else [home]
                home = next((path for path in likely if path and self._holds(path, claim)), "")
            places.append(home)
        return self._searched(claims, places, git)

    def _find_files(self, paths: Iterable[str], git: Git) -> dict[str, str]:
        """Return the file that each path means, as far as there is one; each is looked up once."""
        new = {path: self.inside(path) for path in paths if path not in self._meant}
        here = {path: own for path, own in new.items() if own and self.look(own)}
        here |= self._completed(new.keys() - here.keys(), git)
        self._meant |= {path: here.get(path, "") for path in new}
        return {path: file for path in paths if (file := self._meant[path])}

    def _holds(self, path: str, claim: Claim) -> bool:
        """Check whether a file has the symbol; a mention is enough only for a citation."""
        sign = self._sign(claim._replace(path=path))
        return bool(sign) and (sign != MENTION or claim.given)

    def _searched(self, claims: Sequence[Claim], places: list[str], git: Git) -> list[str]:
        """Fill in the one file that defines a symbol without a path."""
        homeless = {
            claim.symbol
            for claim, place in zip(claims, places, strict=True)
            if not place and claim.kind in _SYMBOLS
        }
        homes = {} if self._quick else self._homes(homeless, git)
        for at, claim in enumerate(claims):
            found = homes.get(claim.symbol, [])
            if not places[at] and len(found) == 1:
                places[at] = found[0]
        return places

    def _completed(self, paths: Iterable[str], git: Git) -> dict[str, str]:
        """Return the only file that matches each partial path, tracked or not (but not ignored)."""
        wanted = set(paths)
        if wanted and self._tracked is None:
            self._tracked = _listed(list_tracked(self.root) or ())
        found = {path: _ending(self._tracked or "", path) for path in wanted}
        if not self._quick:
            # Two tracked files decide without a process; an untracked one is known to git alone.
            open_still = {path for path, ends in found.items() if len(ends) < 2}
            if open_still and self._files is None:
                self._files = _listed(path for path, _ in git.files())
            found = {path: _ending(self._files or "", path) for path in open_still}
        return {path: ends.pop() for path, ends in found.items() if len(ends) == 1}

    def _homes(self, symbols: Iterable[str], git: Git) -> dict[str, list[str]]:
        """Return the files of the tree that define each symbol."""
        asked = set(symbols)
        wanted = sorted(asked - self._defined.keys())
        homes = {symbol: self._defined.get(symbol, []) for symbol in asked}
        likely = git.defining({_first_part(symbol) for symbol in wanted}) if wanted else {}
        for path in sorted({path for paths in likely.values() for path in paths}):
            text = self.text(path)
            for symbol in wanted:
                if path in likely[_first_part(symbol)] and definitions.find_definition(
                    text, path, symbol
                ):
                    homes[symbol].append(path)
        return homes

    def _settled(self, path: str) -> str:
        """Return the stamp, unless the file changed so recently that it could change again
        unnoticed."""
        status = self.status(path)
        fresh = status is not None and time.time_ns() - status.st_mtime_ns < _SETTLED
        return "" if fresh and self.stamp(path) != DIRECTORY else self.stamp(path)

    # ---------------------------------------------------------------- moved files and symbols

    def check(self, known: Sequence[PinnedClaim], thorough: bool = False) -> list[PinnedClaim]:
        """Return the claims with their current states; while a stamp holds, nothing is read.

        A thorough check also follows renames commit by commit, which takes seconds in a large
        repository.
        """
        looks = {(claim.path, claim.stamp) for claim in known if claim.blob}
        changed = stamps_io.find_changed(self.root, looks)
        index = stamps_io.index_stamp(self.root) if changed or thorough else ""
        seen: dict[int, Observation] = {}
        for at, claim in enumerate(known):
            again = (claim.path, claim.stamp) in changed
            if claim.blob and (again or (thorough and claim.state in _LOST)):
                seen[at] = self._seen(claim)
        lost = [at for at, sight in seen.items() if judge_claim(known[at], sight) == "missing"]
        places = self._moves([known[at] for at in lost], Git(self.root), thorough)
        for at, place in zip(lost, places, strict=True):
            seen[at] = seen[at]._replace(moved_to=place)
        checked = list(known)
        for at, sight in seen.items():
            verdict = judge_claim(known[at], sight)
            stamp = self._settled(known[at].path)
            if verdict in _LOST:
                stamp = stamps_io.stamp_with_index(stamp, index)
            checked[at] = known[at]._replace(state=verdict, moved_to=sight.moved_to, stamp=stamp)
        return checked

    def _moves(self, lost: Sequence[PinnedClaim], git: Git, thorough: bool) -> list[str]:
        """Return the new path of each lost claim; empty for none or several."""
        if not lost:
            return []
        gone = {known.path: known for known in lost if not self.stamp(known.path)}
        files = self._moved_files(gone, git, thorough)
        symbols = [known for known in lost if known.symbol and known.kind in _SYMBOLS]
        homes = self._homes({known.symbol for known in symbols}, git)
        before = git.texts(
            {(known.committed, home) for known in symbols for home in homes[known.symbol]}
        )
        places = []
        for known in lost:
            place = files.get(known.path, "")
            if known.symbol and not (place and self._sign(known._replace(path=place))):
                # A file that already defined the symbol then is not its new place.
                new = [
                    home
                    for home in homes.get(known.symbol, ())
                    if not definitions.find_definition(
                        before.get((known.committed, home), ""), home, known.symbol
                    )
                ]
                place = new[0] if len(new) == 1 else ""
            places.append(place)
        return places

    def _moved_files(
        self, gone: dict[str, PinnedClaim], git: Git, thorough: bool
    ) -> dict[str, str]:
        """Return the new path of each lost file: the same content, or a rename that git detects."""
        if not gone:
            return {}
        wanted = {known.blob for known in gone.values()} - {EMPTY_BLOB}
        by_blob: dict[str, list[str]] = {}
        untracked = 0
        for path, blob in git.files():
            if not blob and untracked < MOST_UNTRACKED:
                untracked += 1
                blob = self.blob(path)
            if blob in wanted and self.stamp(path):
                by_blob.setdefault(blob, []).append(path)
        moved: dict[str, str] = {}
        for path, known in gone.items():
            same = by_blob.get(known.blob, [])
            named = [new for new in same if os.path.basename(new) == os.path.basename(path)]
            if len(same) == 1 or len(named) == 1:
                moved[path] = same[0] if len(same) == 1 else named[0]
        commits = {known.committed for path, known in gone.items() if path not in moved}
        renames = git.renames(commits - {""}) if commits else {}
        if thorough and not gone.keys() <= moved.keys() | renames.keys():
            renames = {**git.renames_step_by_step(), **renames}
        for path in gone.keys() - moved.keys():
            new = _last(path, renames)
            if new != path and self.stamp(new):
                moved[path] = new
        return moved


# -------------------------------------------------------------------- reading


def _listed(files: Iterable[str]) -> str:
    """Return files as one text, a line each: searching it is ten times faster than a loop."""
    return "\n".join(("", *files, ""))


def _ending(listed: str, path: str) -> set[str]:
    """Return the listed files whose last parts are a partial path."""
    found: set[str] = set()
    if not listed:
        return found
    end = f"/{path}\n"
    at = listed.find(end)
    while at >= 0:
        found.add(listed[listed.rfind("\n", 0, at) + 1 : at + len(end) - 1])
        at = listed.find(end, at + 1)
    return found


def _first_part(symbol: str) -> str:
    return re.split(r"\.|::|#", symbol)[0]


def _last(path: str, renames: dict[str, str]) -> str:
    seen = {path}
    while (path := renames.get(path, path)) not in seen:
        seen.add(path)
    return path
