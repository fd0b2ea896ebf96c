"""`python -m bench.autonomous HARNESS DATA…`: what autonomous memory keeps of recorded sessions.

HARNESS is the folder of loopbench (gold/ holds the statements of the users, marked by hand), each
DATA a repository of recorded sessions with a manifest.jsonl. Neither is part of the project. The
transcripts are imported into a store in a HOME of their own, then the pipeline runs twice: by
rules, and with a scripted model, a program that answers with the marked statements. So the second
column shows what the pipeline itself loses of what a perfect model would pick.

    --out DIR      keep MEMORY.md, memory_summary.md and skills of each run in DIR/NAME-RUN
    --replay       then replay through the hooks like `bench.loop`, with the summary switched on

Every citation is followed: it must lead to messages, those of a command to a call with its words.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import recollect
from recollect.autonomous import steps as autonomous_steps
from recollect.text import terms, tokens

ENOUGH = 0.7
"""A line says a marked statement when it has so many of its words."""


class Kept(NamedTuple):
    """What a run kept."""

    statements: list[str]
    summary: str
    proposed: list[str]
    broken: list[str]


def main() -> int:
    if sys.argv[1:2] == ["--answer"]:
        return _answer(Path(sys.argv[2]))
    args = _arguments()
    if args.replay:
        return _replay(args)
    failed = False
    for data in args.data:
        gold = _gold(args.harness, data)
        runs = {}
        # Not below /tmp: what is edited there does not last, and is not told.
        with tempfile.TemporaryDirectory(prefix=".autonomous-", dir=Path.home()) as folder:
            home = Path(folder).resolve()
            project = build(data, home)
            runs["rules"] = run(home, project, {})
            _save(args.out, data, "rules", project)
            marked = home / "marked.jsonl"
            marked.write_text("\n".join(json.dumps(one) for one in gold), "utf-8")
            answer = f"{sys.executable} -m bench.autonomous --answer {marked}"
            model = f"command:env PYTHONPATH={os.getcwd()} {answer}"
            runs["scripted model"] = run(home, project, {"RECOLLECT_MODELS_DEFAULT": model})
            _save(args.out, data, "model", project)
        _print(data.name, gold, runs)
        failed = failed or any(run.broken for run in runs.values())
    return 1 if failed else 0


def _arguments() -> Namespace:
    parser = ArgumentParser(
        "bench.autonomous", description=__doc__, formatter_class=RawDescriptionHelpFormatter
    )
    parser.add_argument("harness", type=Path)
    parser.add_argument("data", type=Path, nargs="+")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--replay", action="store_true")
    parser.add_argument("--most", type=int, default=sys.maxsize)
    return parser.parse_args()


def _gold(harness: Path, data: Path) -> list[dict[str, Any]]:
    marked = harness / "gold" / f"{data.name}.jsonl"
    rows = marked.read_text("utf-8").splitlines() if marked.exists() else []
    return [json.loads(row) for row in rows if row.strip()]


# ---------------------------------------------------------------- a store of recorded sessions


def build(data: Path, home: Path) -> Path:
    """Import the transcripts of a repository into a new store; return the project's folder. Times
    are shifted so that the last session ended half a day ago, within the 30 days that count."""
    project = home / "work" / "project"
    project.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    folder = home / ".claude" / "projects" / re.sub(r"[^A-Za-z0-9]", "-", str(project))
    folder.mkdir(parents=True)
    rows = [json.loads(row) for row in (data / "manifest.jsonl").read_text("utf-8").splitlines()]
    first = min(_time(row["start"]) for row in rows)
    last = max(_time(row["end"]) for row in rows)
    end = datetime.now(UTC) - timedelta(hours=13)
    share = min(1.0, timedelta(days=25) / (last - first))
    for row in rows:
        text = (data / row["file"]).read_text("utf-8")
        begun = _time(row["start"])
        roots = re.findall(r'"cwd": ?"([^"]+)"', text)
        if roots:
            text = text.replace(min(roots, key=len), str(project))
        shift = partial(_shifted, moved=end - (last - begun) * share - begun)
        text = re.sub(r'"timestamp": ?"([^"]+)"', shift, text)
        (folder / f"{row['session']}.jsonl").write_text(text, "utf-8")
    with recollect.open(project, environment=_environment(home)) as memory:
        memory.import_transcripts()
    return project


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def _shifted(found: re.Match[str], moved: timedelta) -> str:
    try:
        return f'"timestamp":"{_time(found[1]) + moved:%Y-%m-%dT%H:%M:%S.%f}'[:-3] + 'Z"'
    except ValueError:
        return found[0]


def _environment(home: Path) -> dict[str, str]:
    return {"HOME": str(home), "PATH": os.environ["PATH"]}


# ---------------------------------------------------------------- runs


def run(home: Path, project: Path, more: dict[str, str]) -> Kept:
    """Run the pipeline from the beginning."""
    variables = {
        **_environment(home),
        "RECOLLECT_MEMORIES_MAX_ROLLOUTS_PER_STARTUP": "10000",
        "RECOLLECT_MEMORIES_DAILY_TOKEN_CAP": "1000000000",
        "RECOLLECT_MEMORIES_CHUNK_TOKENS": "200000",
        **more,
    }
    with recollect.open(project, environment=variables, origin="user") as memory:
        space = memory.context.project_space
        space.write(lambda tx: autonomous_steps.clear(tx, memory.context.clock(), forget=True))
        shutil.rmtree(project / ".recollect" / "skills", ignore_errors=True)
        (project / ".recollect" / "MEMORY.md").unlink(missing_ok=True)
        done = memory.autonomous.rebuild()
        if done.failed:
            print(f"{done.failed} failed: {'; '.join(done.notes)}")
        text = (project / ".recollect" / "MEMORY.md").read_text("utf-8")
        summary = (project / ".recollect" / "memory_summary.md").read_text("utf-8")
        lines = statements(text)
        proposed = [one.text for one in memory.list(status="proposed", limit=10_000)]
        return Kept(lines, summary, proposed, broken(memory, text))


def statements(text: str) -> list[str]:
    """Return the lines of a MEMORY.md that state something."""
    body = text.partition("\n## Sources")[0]
    return [line for line in body.splitlines() if line.startswith(("- ", "> "))]


def sources(text: str) -> dict[str, str]:
    """Return the addresses by the numbers that lines cite."""
    return dict(re.findall(r"^\[\^(\d+)\]: (\S+)$", text, re.MULTILINE))


def broken(memory: recollect.Recollect, text: str) -> list[str]:
    """Return the statements with a citation that leads nowhere, or to messages without the words
    of the command that is stated."""
    notes, wrong = sources(text), []
    for line in statements(text):
        marks = re.findall(r"\[\^(\d+)\]", line)
        said = ""
        for mark in marks:
            shown = memory.show(notes[mark])
            said += "".join(
                f"{one.message.content} {[call.arguments for call in one.message.calls]}"
                for one in shown.messages
            )
            said += shown.memory.text if shown.memory else ""
        found = re.match(r"- \w+: `([^`]+)`", line)
        words = found[1].split() if found else []
        if not marks or not said or not all(word in said for word in words):
            wrong.append(line)
    return wrong


def _save(out: Path | None, data: Path, run: str, project: Path) -> None:
    if out is not None:
        target = out / f"{data.name}-{run}"
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        for name in ("MEMORY.md", "memory_summary.md"):
            shutil.copy(project / ".recollect" / name, target / name)
        if (project / ".recollect" / "skills").exists():
            shutil.copytree(project / ".recollect" / "skills", target / "skills")


# ---------------------------------------------------------------- the scripted model


def _answer(marked: Path) -> int:
    """Be a model: answer a prompt on standard input with the marked statements in it."""
    prompt = sys.stdin.read()
    inside = prompt.partition("<messages>\n")[2].partition("\n</messages>")[0]
    if not inside:
        print('{"order": []}')
        return 0
    items = [one for one in json.loads(inside) if one["role"] == "user"]
    rows = [json.loads(row) for row in marked.read_text("utf-8").splitlines() if row.strip()]
    picked = [
        {"kind": "rule", "message": item["message"], "quote": row["quote"]}
        for row in rows
        for item in items
        if " ".join(row["quote"].split()) in " ".join(item["text"].split())
    ]
    print(json.dumps({"synopsis": "", "slug": "", "statements": picked}))
    return 0


# ---------------------------------------------------------------- figures


def _print(name: str, gold: Sequence[dict[str, Any]], runs: dict[str, Kept]) -> None:
    print(f"\n| {name} | {' | '.join(runs)} |\n|---|{'---|' * len(runs)}")
    rows: dict[str, list[str]] = {
        "statements in MEMORY.md": [str(len(run.statements)) for run in runs.values()],
        "citations that do not hold": [str(len(run.broken)) for run in runs.values()],
        "tokens of the summary": [str(tokens.count_tokens(run.summary)) for run in runs.values()],
        "proposed for review": [str(len(run.proposed)) for run in runs.values()],
    }
    for title, part in (
        ("marked statements in MEMORY.md", lambda run: run.statements),
        ("marked statements in the summary", lambda run: run.summary.splitlines()),
        ("marked statements in MEMORY.md or review", lambda run: [*run.statements, *run.proposed]),
    ):
        counts = [sum(_is_said(one["quote"], part(run)) for one in gold) for run in runs.values()]
        rows[title] = [f"{count} of {len(gold)}" for count in counts]
    for title, cells in rows.items():
        print(f"| {title} | {' | '.join(cells)} |")
    for run in runs.values():
        for line in run.broken[:10]:
            print(f"  does not hold: {line}")


def _is_said(quote: str, lines: Sequence[str]) -> bool:
    wanted = set(terms.query_stems(quote))
    return any(
        len(wanted & set(terms.stem_all(terms.split_terms(line)))) >= ENOUGH * len(wanted)
        for line in lines
    )


def _replay(args: Namespace) -> int:
    """Replay like `bench.loop`, with autonomous memory by rules switched on from the beginning."""
    sys.path.insert(0, str(args.harness))
    bench = import_module("loopbench")
    plain = bench.Recollect

    class Autonomous(plain):  # type: ignore[misc, valid-type]
        def prepare(self, home: Path, project: Path) -> None:
            super().prepare(home, project)
            place = home / ".local" / "share" / "recollect"
            place.mkdir(parents=True, exist_ok=True)
            (place / "config.toml").write_text(
                "[memories]\nenabled = true\nminRolloutIdleHours = 0\n", "utf-8"
            )

    vars(bench)["Recollect"] = Autonomous
    from bench import loop

    sys.argv = ["bench.loop", str(args.harness), *map(str, args.data), "--most", str(args.most)]
    return loop.main()


if __name__ == "__main__":
    sys.exit(main())
