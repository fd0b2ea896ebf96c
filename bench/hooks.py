"""`python -m bench.hooks`: what a hook costs, in processor time, against a bare interpreter.

A store of 10,000 memories; each event is a whole process, as an agent starts it. Turns are taken
with the bare interpreter, and medians compared, so that a slow spell hits both.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import uuid
from collections.abc import Callable, Sequence

import recollect
from recollect.memory import hygiene
from recollect.memory import steps as memory_steps
from recollect.storage.database import Tx

from .yardstick import Notes, Ratio, line, paired, processor_milliseconds, report

MEMORIES = 10_000
COMMAND = """\
import re
import sys
from recollect.__main__ import main
if __name__ == '__main__':
    sys.argv[0] = re.sub(r'(-script\\.pyw|\\.exe)?$', '', sys.argv[0])
    sys.exit(main())
"""
"""The `recollect` command as an installer writes it, which is what agents are told to run."""

PAIRS = 15


def measures() -> list[Ratio]:
    with tempfile.TemporaryDirectory(
        prefix="recollect-bench-", ignore_cleanup_errors=True
    ) as folder:  # a process that catches up may still be writing
        project = os.path.join(folder, "project")
        os.mkdir(project)
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": folder,
            "RECOLLECT_HOME": os.path.join(folder, "home"),
        }
        notes = Notes()
        with recollect.open(project, environment=environment, origin="user") as memory:
            fill(memory, notes)
        events = {
            "user prompt": ("UserPromptSubmit", 5.0),
            "stop": ("Stop", 4.0),
            "before a command": ("PreToolUse command", 3.0),
            "before an edit": ("PreToolUse docs", 5.0),
            "before an edit, with rules": ("PreToolUse src", 5.0),
            "before a compaction": ("PreCompact", 4.0),
            "session start": ("SessionStart", 6.0),
        }
        found = []
        for name, (event, bound) in events.items():
            fire = _firing(project, environment, event, notes)
            fire()
            ours, bare = paired(fire, lambda: _bare(environment), PAIRS)
            found.append(line(f"hook: {name}", ours, bare, "ms", ("at most", bound)))
        return found


def fill(memory: recollect.Recollect, notes: Notes) -> None:
    """Ten thousand references, in few transactions: how they got there is not measured here."""
    ready = []
    for number in range(MEMORIES):
        scope = (f"src/part{number % 7}/**",) if number % 100 == 7 else ()
        kind = "preference" if number % 50 == 0 else "fact"
        draft = memory_steps.Draft(notes.note(), kind=kind, scope=scope)
        if not hygiene.find_refusal(draft.text, draft.kind, draft.layer):
            ready.append(memory_steps.prepare(draft, "user", 1_790_000_000_000_000, f"m-{number}"))
    for start in range(0, len(ready), 1_000):
        part = ready[start : start + 1_000]
        memory.context.project_space.write(lambda tx, part=part: _write(tx, part))  # type: ignore[misc]


def _write(tx: Tx, ready: Sequence[memory_steps.PreparedMemory]) -> None:
    for item in ready:
        memory_steps.learn(tx, item, 1_790_000_000_000_000)


def _bare(environment: dict[str, str]) -> float:
    return processor_milliseconds([sys.executable, "-c", "pass"], environment)


def _firing(
    project: str, environment: dict[str, str], event: str, notes: Notes
) -> Callable[[], float]:
    """One hook process; the reader that it leaves behind is not waited for, and not counted."""
    path = os.path.join(project, "payload.json")
    command = os.path.join(project, "recollect")
    with open(command, "w", encoding="utf-8") as file:
        file.write(COMMAND)

    # Memories that apply to files apply to those in src.
    name, _, place = event.partition(" ")
    edited: dict[str, str] = {"file_path": os.path.join(project, place, "part3", "tax.py")}
    given = {"command": "pytest -x"} if place == "command" else edited

    def fire() -> float:
        payload = {
            "session_id": uuid.uuid4().hex if name == "PreToolUse" else "bench",
            "tool_name": "Bash" if place == "command" else "Edit",
            "tool_input": given,
            "transcript_path": os.path.join(project, "none.jsonl"),
            "cwd": project,
            "hook_event_name": name,
            "prompt_id": uuid.uuid4().hex,
            "source": uuid.uuid4().hex,
            "prompt": f"how do we {notes.question()}",
        }
        with open(path, "w", encoding="utf-8") as file:
            json.dump(payload, file)
        return processor_milliseconds([sys.executable, command, "hook"], environment, path)

    return fire


def main() -> int:
    return report(measures())


if __name__ == "__main__":
    sys.exit(main())
