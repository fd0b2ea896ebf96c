"""`python -m bench.loop HARNESS DATA…`: what later sessions are shown of what earlier ones found.

HARNESS is the folder of loopbench (loopbench.py, scoring.py, systems.py, gold/), each DATA a
repository of recorded sessions with a manifest.jsonl. Neither is part of the project. Every session
is replayed in order through the hooks that `recollect init` installs, in a HOME of its own, and
what the hooks said is scored: was it knowable, was it said in time, what did it cost.

    --control     then send prompts and failures of the next DATA, about which nothing is known
    --first N     begin the part that is reported apart at session N (default: the last third)
    --command X   the recollect to replay (default: the one beside this Python)
    --most N      replay only the first N sessions
    --out DIR     write every shown text and every missed item to DIR/NAME.json
    --again DIR   score the texts of an earlier --out again, without a replay
    --keep DIR    keep each replay's HOME with its store under DIR/NAME

Counts stand beside shares; the repositories are pooled. It fails when a bar of the last column is
missed. It measures exposure in time at a price: a necessary condition of use, not a proof of it.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections import Counter
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple


class Row(NamedTuple):
    """A figure: the counts it is a share of, and its bar; `most` says that less is better."""

    name: str
    above: str
    below: str
    bar: float | None = None
    most: bool = False


ROWS = (
    Row("known commands shown in time", "commands_shown", "commands_knowable", 0.80),
    Row("shown commands used, now or later", "commands_used", "commands_named", 0.70),
    Row("shown commands used now", "commands_used_now", "commands_named", 0.25),
    Row("error fixes shown in time", "errors_shown", "errors_knowable", 10 / 12),
    Row("error fixes shown before the failure", "errors_forestalled", "errors_knowable"),
    Row("known files shown in time", "files_shown", "files_knowable"),
    Row("shown files used, now or later", "files_used", "files_named"),
    Row("user's statements in time", "gold_in_time", "gold_related", 0.40),
    Row("user's statements at start", "gold_at_start", "gold_pairs", 0.30),
    Row("user's repetitions foreseen", "repeats_foreseen", "repeats"),
    Row("tokens a session", "tokens", "sessions", 250, True),
    Row("tokens a session at start", "start_tokens", "sessions"),
    Row("tokens a hit", "tokens", "hits", 150, True),
    Row("useful lines", "useful_lines", "lines", 0.25),
    Row("repeated lines", "repeated", "lines"),
    Row("wrapping at start, at most", "frame_start", "one", 60, True),
    Row("wrapping elsewhere, at most", "frame_elsewhere", "one", 10, True),
    Row("empty starts though something was known", "empty_though_known", "sessions", 0, True),
    Row("control: spoke at prompts", "control_prompt_spoke", "control_prompt", 0.10, True),
    Row("control: spoke at failures", "control_failed_spoke", "control_failed", 0.02, True),
)
_HITS = ("commands_shown", "files_shown", "errors_shown", "gold_in_time")
_LARGEST = ("frame_start", "frame_elsewhere")


def main() -> int:
    args = _arguments()
    sys.path.insert(0, str(args.harness))
    bench = import_module("loopbench")
    whole: Counter[str] = Counter()
    apart: Counter[str] = Counter()
    waits: list[float] = []
    for place, data in enumerate(args.data):
        other = args.data[(place + 1) % len(args.data)] if args.control else None
        sessions, system, control = _replayed(bench, data, other, args)
        first = args.first if args.first is not None else len(sessions) * 2 // 3
        gold = [json.loads(row) for row in _gold(args.harness, data).splitlines() if row.strip()]
        every = _scored(bench, sessions, gold, system, 0)
        late = _scored(bench, sessions, gold, system, first)
        _pool(whole, every | control)
        _pool(apart, late)
        waits += [seconds for session in sessions for seconds in session.seconds]
        _print(data.name, {"all": every | control, f"from {first}": late})
    failed = _print("pooled", {"all": whole, "last part": apart})
    if waits:
        late_one = sorted(waits)[int(len(waits) * 0.95)]
        print(f"hooks: {len(waits)}, 95 of 100 within {late_one:.2f} s")
    return 1 if failed else 0


def _arguments() -> Namespace:
    parser = ArgumentParser(
        "bench.loop", description=__doc__, formatter_class=RawDescriptionHelpFormatter
    )
    parser.add_argument("harness", type=Path)
    parser.add_argument("data", type=Path, nargs="+")
    parser.add_argument("--control", action="store_true")
    parser.add_argument("--first", type=int)
    parser.add_argument("--command", default=str(Path(sys.executable).parent / "recollect"))
    parser.add_argument("--most", type=int, default=sys.maxsize)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--again", type=Path)
    parser.add_argument("--keep", type=Path)
    return parser.parse_args()


def _gold(harness: Path, data: Path) -> str:
    marked = harness / "gold" / f"{data.name}.jsonl"
    return marked.read_text("utf-8") if marked.exists() else ""


def _replayed(
    bench: Any, data: Path, other: Path | None, args: Namespace
) -> tuple[list[Any], Any, Counter[str]]:
    """Replay a repository; return its sessions with what was shown, the system, the control."""
    sessions = bench.load(data)[: args.most]
    system = bench.Recollect(args.command)
    control: Counter[str] = Counter()
    if args.again:
        shown = json.loads((args.again / f"{data.name}.json").read_text("utf-8"))
        for session, texts in zip(sessions, shown["shown"], strict=False):
            session.shown = [bench.Shown(*text) for text in texts]
        return sessions, system, Counter(shown["control"])
    home = Path(tempfile.mkdtemp(prefix="loop-")).resolve()
    if args.keep:
        home = (args.keep / data.name).resolve()
        home.mkdir(parents=True)
    try:
        replay = bench.Replay(sessions, system, home)
        replay.run()
        if other is not None:
            control = _controlled(replay, bench.load(other))
    finally:
        if not args.keep:
            shutil.rmtree(home, ignore_errors=True)
    if args.out:
        args.out.mkdir(parents=True, exist_ok=True)
        texts = [[list(text) for text in session.shown] for session in sessions]
        body = json.dumps({"control": control, "shown": texts}, indent=1)
        (args.out / f"{data.name}.json").write_text(body, "utf-8")
    return sessions, system, control


def _controlled(replay: Any, others: Sequence[Any]) -> Counter[str]:
    """Count how often the product speaks about prompts and failures of another repository."""
    counts: Counter[str] = Counter()
    for session in [one for one in others if one.hooked][:20]:
        session.clock = replay.now, replay.now
        path = replay.place(session)
        replay.system.start(session, path)
        left = Counter(prompt=5, failed=5)
        for event in session.events:
            kind = "prompt" if event.kind == "prompt" else event.state
            if not left[kind]:
                continue
            left[kind] -= 1
            call = replay.system.prompt if kind == "prompt" else replay.system.tool
            said = call(session, path, replay.localise(event, session))
            counts[f"control_{kind}"] += 1
            counts[f"control_{kind}_spoke"] += bool(said.strip())
    return counts


def _scored(
    bench: Any, sessions: Sequence[Any], gold: list[Any], system: Any, first: int
) -> Counter[str]:
    """Return the counts of the sessions from number `first` on."""
    found = bench.truths(sessions)
    names = bench.Names(sessions, found, gold)
    counts = Counter(bench.score(sessions, found, names, system.frame, first=first)["counts"])
    counts["hits"] = sum(counts[name] for name in _HITS)
    counts["one"] = 1
    for session in sessions[first:]:
        for shown in session.shown:
            rows = [row.strip() for row in shown.text.split("\n") if row.strip()]
            frame = sum(len(row) / 4 for row in rows if system.frame.search(row))
            kind = "frame_start" if shown.kind == "start" else "frame_elsewhere"
            counts[kind] = max(counts[kind], round(frame))
    return counts


def _pool(total: Counter[str], more: Counter[str]) -> None:
    for name, count in more.items():
        total[name] = max(total[name], count) if name in _LARGEST else total[name] + count
    total["one"] = 1


def _print(title: str, columns: dict[str, Counter[str]]) -> bool:
    """Print a table; return whether a bar is missed by the first column."""
    print(f"\n| {title} | {' | '.join(columns)} | bar |\n|---|{'---|' * len(columns)}---|")
    print(f"| sessions | {' | '.join(str(one['sessions']) for one in columns.values())} | |")
    missed = False
    for row in ROWS:
        cells = [_cell(counts[row.above], counts[row.below]) for counts in columns.values()]
        bar = "" if row.bar is None else f"{'≤' if row.most else '≥'} {row.bar:.4g}"
        first = next(iter(columns.values()))
        if row.bar is not None and first[row.below]:
            share = first[row.above] / first[row.below]
            below = share > row.bar if row.most else share < row.bar - 1e-9
            bar += " missed" if below else ""
            missed = missed or below
        print(f"| {row.name} | {' | '.join(cells)} | {bar} |")
    return missed


def _cell(above: int, below: int) -> str:
    if not below:
        return "-"
    share = above / below
    return f"{share:.3f} ({above}/{below})" if share <= 5 else f"{share:.0f}"


if __name__ == "__main__":
    sys.exit(main())
