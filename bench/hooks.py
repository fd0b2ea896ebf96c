"""`python -m bench.hooks [FOLDER]`: CPU time of a hook as a multiple of a bare interpreter's.

Stores of 10,000 and of 100,000 memories, made of sentences like those that engineers write, or of
the text files in FOLDER. Each event is a whole process, as an agent starts it. It takes turns with
the bare interpreter, and medians are compared.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator, Sequence

import recollect

from .texts import Sentences
from .yardstick import Ratio, line, paired, processor_milliseconds, report

SIZES = (10_000, 100_000)
BATCH = 2_000
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
_NEW_SESSION = ("PreToolUse", "SessionStart")
"""Events that are fired for a new session each time: a started session has its block already."""


EVENTS = {
    "user prompt": ("UserPromptSubmit", 5.0),
    "stop": ("Stop", 4.0),
    "before a command": ("PreToolUse command", 3.0),
    "before an edit": ("PreToolUse docs", 5.0),
    "before an edit, with rules": ("PreToolUse src", 5.0),
    "before a compaction": ("PreCompact", 4.0),
    "session start": ("SessionStart", 6.0),
}
"""Each event with the agent's name for it, and its bound."""


def measures(sizes: Sequence[int] = SIZES, texts: str = "") -> Iterator[Ratio]:
    for size in sizes:
        with tempfile.TemporaryDirectory(
            prefix="recollect-bench-", ignore_cleanup_errors=True
        ) as folder:  # a background process may still be writing
            project = os.path.join(folder, "project")
            os.mkdir(project)
            environment = {
                "PATH": os.environ["PATH"],
                "HOME": folder,
                "RECOLLECT_HOME": os.path.join(folder, "home"),
            }
            sentences = Sentences(texts)
            with recollect.open(project, environment=environment, origin="user") as memory:
                fill(memory, sentences, size)
            for name, (event, bound) in EVENTS.items():
                fire = _firing(project, environment, event, sentences)
                fire()
                ours, bare = paired(fire, lambda: _bare(environment), PAIRS)  # noqa: B023
                title = f"hook: {name}, {size:,} memories"
                yield line(title, ours, bare, "ms", ("at most", bound))


def fill(memory: recollect.Recollect, sentences: Sentences, size: int) -> None:
    """Learn facts, some preferences and some rules of a part of the source."""
    for start in range(0, size, BATCH):
        memory.learn_many(
            [
                {
                    "text": sentences.next(),
                    "kind": "preference" if number % 50 == 0 else "fact",
                    "scope": [f"src/part{number % 7}/**"] if number % 100 == 7 else [],
                }
                for number in range(start, min(start + BATCH, size))
            ]
        )


def _bare(environment: dict[str, str]) -> float:
    return processor_milliseconds([sys.executable, "-c", "pass"], environment)


def _firing(
    project: str, environment: dict[str, str], event: str, sentences: Sentences
) -> Callable[[], float]:
    """Return a function that runs one hook process; its background process is not counted."""
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
            "session_id": str(uuid.uuid4()) if name in _NEW_SESSION else "bench",
            "tool_name": "Bash" if place == "command" else "Edit",
            "tool_input": given,
            "transcript_path": os.path.join(project, "none.jsonl"),
            "cwd": project,
            "hook_event_name": name,
            "prompt_id": uuid.uuid4().hex,
            "source": uuid.uuid4().hex,
            "prompt": sentences.question(),
        }
        with open(path, "w", encoding="utf-8") as file:
            json.dump(payload, file)
        return processor_milliseconds([sys.executable, command, "hook"], environment, path)

    return fire


def main() -> int:
    return report(measures(texts=sys.argv[1] if len(sys.argv) > 1 else ""))


if __name__ == "__main__":
    sys.exit(main())
