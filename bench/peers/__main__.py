"""`python -m bench.peers`: memory systems that are installed, beside Recollect, on the same texts.

python -m bench.peers                          those that this interpreter has
python -m bench.peers --python ~/peers/bin/python --mcp ~/peers/node_modules
python -m bench.peers --sizes 1000 --only Recollect engram-core

Every system runs in processes of its own, fed with the same generated sentences: it is filled in
bulk, then single texts are written and questions asked. Processor times count the servers that a
system starts; wall times tell how busy the machine was, too. What is not installed is a row that
says so. The table ends with the measures in which Recollect loses.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from ..texts import UNANSWERED, Sentences
from .adapters import ADAPTERS

ROOT = Path(__file__).parents[2]


class Measure(NamedTuple):
    """A column: its title, and where its number stands in what a system measured."""

    title: str
    place: tuple[str, ...]
    more_is_better: bool = False


MEASURES = (
    Measure("cold start, ms CPU", ("cold", "total")),
    Measure("write one, ms CPU", ("write", "cpu")),
    Measure("write one, ms", ("write", "wall")),
    Measure("syncs a write", ("syncs",), True),
    Measure("bulk, s CPU", ("bulk", "cpu")),
    Measure("by words, ms CPU", ("words", "cpu")),
    Measure("found by words", ("found",), True),
    Measure("by meaning, ms CPU", ("meaning", "cpu")),
    Measure("found by meaning", ("found_by_meaning",), True),
    Measure("memory, MB", ("memory",)),
    Measure("disk, MB", ("disk",)),
)
US = "Recollect"


def make_given(count: int) -> dict[str, Any]:
    """Return the texts to store, those to write one by one, and the questions."""
    texts = Sentences()
    kept = list(dict.fromkeys(texts.next() for _ in range(count + 200)))
    new, kept = kept[-40:], kept[:-40][:count]
    words = (re.findall(r"[A-Za-z]{4,}", text) for text in kept[:: max(1, count // 40)])
    asked = zip(words, kept[:: max(1, count // 40)], strict=True)
    return {
        "texts": kept,
        "new": new,
        "questions": [(" ".join(dict.fromkeys(some[:6])), text) for some, text in asked][:40],
        "meaning": list(UNANSWERED),
    }


class Runner:
    """Runs parts of a measurement in processes of one interpreter."""

    def __init__(self, python: str, mcp: str) -> None:
        self._python = python
        server = Path(mcp) / "@modelcontextprotocol/server-memory/dist/index.js"
        self._environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "src"))),
            "BENCH_MCP_MEMORY": str(server) if server.exists() else "",
        }
        self.server = server

    def run(self, name: str, folder: str, given: str, part: str, tracer: Iterable[str] = ()) -> Any:
        """Return what a process printed; raise CalledProcessError."""
        python = sys.executable if name == US else self._python
        command = [*tracer, python, "-W", "ignore", "-m", "bench.peers.measure"]
        done = subprocess.run(
            [*command, name, folder, given, part],
            env=self._environment, cwd=ROOT, capture_output=True, text=True, check=True,
            timeout=1800,
        )  # fmt: skip
        return json.loads(done.stdout.splitlines()[-1])

    def check(self, name: str, given: str) -> Any:
        """Return the version of a system and a note on it; None if it is not installed."""
        if name == "MCP memory server":
            if not self.server.exists() or not shutil.which("node"):
                return None
            about = json.loads((self.server.parents[1] / "package.json").read_text())
            return {"version": about["version"], "note": ADAPTERS[name].note}
        try:
            return self.run(name, "", given, "check")
        except subprocess.CalledProcessError:
            return None

    def measure(self, name: str, folder: str, given: str) -> dict[str, Any]:
        measured: dict[str, Any] = self.run(name, folder, given, "fill")
        measured["cold"] = self.run(name, folder, given, "cold")
        if tracer := shutil.which("strace"):
            log = f"{given}.trace"
            calls = "trace=fsync,fdatasync,msync"
            self.run(name, folder, given, "write", [tracer, "-f", "-qq", "-e", calls, "-o", log])
            measured["syncs"] = Path(log).read_text().count("sync(") / 10
        return measured


def number(measured: Mapping[str, Any], place: Iterable[str]) -> float | None:
    found: Any = measured
    for name in place:
        found = found.get(name) if isinstance(found, Mapping) else None
    return None if found is None else float(found)


def show(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def table(found: Mapping[str, dict[str, Any] | str]) -> list[str]:
    """Return the rows of a Markdown table, and what Recollect loses."""
    rows = [
        f"| | {' | '.join(one.title for one in MEASURES)} |",
        f"|---|{'---|' * len(MEASURES)}",
    ]
    for name, measured in found.items():
        if isinstance(measured, str):
            rows.append(f"| {name} | {measured}{' |' * len(MEASURES)}")
        else:
            cells = (show(number(measured, one.place)) for one in MEASURES)
            rows.append(f"| {name} | {' | '.join(cells)} |")
    rows += ["", *list_losses(found)]
    return rows


def list_losses(found: Mapping[str, dict[str, Any] | str]) -> list[str]:
    """Return a line for each measure in which another system is better."""
    ours = found.get(US)
    lines = []
    for one in MEASURES if isinstance(ours, dict) else ():
        mine = number(ours, one.place) if isinstance(ours, dict) else None
        if mine is None or one.title.startswith("syncs"):
            continue
        better = {
            name: theirs
            for name, measured in found.items()
            if isinstance(measured, dict) and (theirs := number(measured, one.place)) is not None
            if (theirs > mine if one.more_is_better else theirs < mine)
        }
        if better:
            listed = ", ".join(f"{name} {show(value)}" for name, value in better.items())
            lines.append(f"- Recollect loses {one.title} ({show(mine)}) to {listed}")
    return lines or ["- Recollect loses nothing here"]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--python", default=sys.executable, help="an interpreter with the systems")
    parser.add_argument("--mcp", default="node_modules", help="the folder of npm's packages")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument("--only", nargs="+", default=list(ADAPTERS), choices=list(ADAPTERS))
    asked = parser.parse_args()
    runner = Runner(asked.python, asked.mcp)
    for size in asked.sizes:
        with TemporaryDirectory(prefix="recollect-peers-") as base:
            given = f"{base}/given.json"
            Path(given).write_text(json.dumps(make_given(size)))
            found: dict[str, dict[str, Any] | str] = {}
            notes = []
            for name in asked.only:
                about = runner.check(name, given)
                if about is None:
                    found[name] = "not installed"
                    continue
                title = f"{name} {about['version']}" if name != US else US
                notes.append(f"{title}: {about['note']}")
                folder = f"{base}/{name.replace(' ', '-')}"
                os.mkdir(folder)
                print(f"{title}, {size:,} texts", file=sys.stderr, flush=True)
                try:
                    found[title] = runner.measure(name, folder, given)
                except subprocess.CalledProcessError as error:
                    last = error.stderr.strip().splitlines()[-1:] or ["failed"]
                    found[title] = f"failed: {last[0][:80]}"
            print(f"\n{size:,} texts\n\n" + "\n".join(table(found)) + "\n")
    print("\n".join(notes))
    return 0


if __name__ == "__main__":
    sys.exit(main())
