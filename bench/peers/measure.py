"""Measure one system in a process of its own: python -m bench.peers.measure NAME FOLDER TEXTS PART.

`PART` is `fill` (bulk write into an empty folder, then everything on the open store), `cold` (open
the filled store and ask one question) or `write` (open it and write ten texts, for a tracer).
Prints one JSON object.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from statistics import median
from typing import Any

from .adapters import ADAPTERS, Adapter


def version_of(package: str) -> str:
    from importlib.metadata import version

    return version(package)


def time_each(adapter: Adapter, works: Sequence[Callable[[], object]]) -> dict[str, float]:
    """Return the medians of wall and processor milliseconds."""
    walls, cpus = [], []
    for work in works:
        wall, cpu = time.perf_counter(), adapter.cpu()
        work()
        walls.append(time.perf_counter() - wall)
        cpus.append(adapter.cpu() - cpu)
    # A server's processor time is counted in hundredths of a second: the mean of all is finer.
    return {"wall": 1000 * median(walls), "cpu": 1000 * sum(cpus) / len(cpus)}


def found_share(ask: Callable[[str], list[str]], asked: list[tuple[str, str]]) -> float:
    """Return the share of questions whose text is among the first ten answers."""
    return sum(text in ask(question) for question, text in asked) / len(asked)


def size_of(folder: str) -> int:
    paths = (os.path.join(place, name) for place, _, names in os.walk(folder) for name in names)
    return sum(os.path.getsize(path) for path in paths)


def fill(adapter: Adapter, folder: str, given: dict[str, Any]) -> dict[str, Any]:
    texts, questions = given["texts"], [(one[0], one[1]) for one in given["questions"]]
    wall, cpu = time.perf_counter(), adapter.cpu()
    adapter.write_many(texts)
    measured: dict[str, Any] = {
        "bulk": {"wall": time.perf_counter() - wall, "cpu": adapter.cpu() - cpu},
        "write": time_each(adapter, [partial(adapter.write, text) for text in given["new"]]),
    }
    if adapter.words:
        ask = adapter.by_words
        ask(questions[0][0])
        measured["words"] = time_each(adapter, [partial(ask, one) for one, _ in questions])
        measured["found"] = found_share(ask, questions)
    if adapter.meaning:
        near = adapter.by_meaning
        near(given["meaning"][0])
        asked = [partial(near, one) for one in given["meaning"] * 4]
        measured["meaning"] = time_each(adapter, asked)
        measured["found_by_meaning"] = found_share(near, questions)
    measured["disk"] = size_of(folder) / 2**20
    return measured


def main() -> None:
    name, folder, path, part = sys.argv[1:5]
    kind = ADAPTERS[name]
    with open(path) as file:
        given = json.load(file)
    if part == "check":
        told = {"version": version_of(kind.package) if kind.package else "", "note": kind.note}
        print(json.dumps(told))
        return
    adapter = kind(folder)
    measured: dict[str, Any] = {}
    if part == "fill":
        measured = fill(adapter, folder, given)
    elif part == "cold":
        question = given["questions"][0][0]
        (adapter.by_words if adapter.words else adapter.by_meaning)(question)
    else:
        for text in given["new"][:10]:
            adapter.write(f"{text} again")
    measured["total"] = 1000 * adapter.cpu()
    adapter.close()
    most = max(resource.getrusage(who).ru_maxrss for who in (0, resource.RUSAGE_CHILDREN))
    measured["memory"] = most / 1024
    print(json.dumps(measured))


if __name__ == "__main__":
    main()
