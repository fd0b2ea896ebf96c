"""Count the files of ours that one prompt hook, one recall and one learn walk through.

    python tools/hook_walk.py [--list]

What counts is a function that is called on the second call in a process, not the body of a module.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "recollect"
PROMPT = "Fix the login test in src/login.py, it fails with a timeout"


def files_called(work: Callable[[], object]) -> set[str]:
    """Return the files of ours with a function that `work` calls."""
    found: set[str] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        name = frame.f_code.co_filename
        if event == "call" and frame.f_code.co_name != "<module>" and name.startswith(str(PACKAGE)):
            found.add(os.path.relpath(name, PACKAGE))

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return found


def main() -> int:
    """Print the counts, and with --list the files."""
    sys.path.insert(0, str(PACKAGE.parent))
    import recollect
    from recollect.agents import registry
    from recollect.agents.operations_events import answer_event

    with tempfile.TemporaryDirectory() as folder:
        environment = {"RECOLLECT_HOME": folder, "HOME": folder}
        payload = {
            "session_id": "walk",
            "transcript_path": f"{folder}/none.jsonl",
            "cwd": folder,
            "hook_event_name": "UserPromptSubmit",
            "prompt": PROMPT,
        }

        def hook() -> None:
            # The same event within some seconds is answered once.
            payload["prompt"] = f"{PROMPT} ({len(payload['prompt'])})"
            host = registry.detect_agent(payload, environment)
            event = registry.load_hooks(host).parse(json.loads(json.dumps(payload)), environment)
            with recollect.open(folder, environment=environment, origin="user") as memory:
                answer = answer_event(memory.context, event)
            registry.load_hooks(host).reply(event, answer.context, answer.notice)

        def learn() -> None:
            with recollect.open(folder, environment=environment, origin="user") as memory:
                memory.learn("The login test needs Redis on port 6380", kind="reference")

        def recall() -> None:
            with recollect.open(folder, environment=environment, origin="user") as memory:
                memory.recall("login test redis")

        for name, work in (("learn", learn), ("recall", recall), ("prompt hook", hook)):
            work()
            files = files_called(work)
            print(f"{name}: {len(files)} files")
            if "--list" in sys.argv:
                print("  " + "\n  ".join(sorted(files)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
