"""A process that writes to a store and says what was acknowledged, one line each, as it happens.

python -m tests.faults.writer PROJECT NAME COUNT [WAY]

WAY is `api` (a message and a memory each), `same` (also a memory that all of them learn), `cli` (a process for each memory), `mcp` (a server on
stdio) or `hook` (prompts with a rule, which is heard). Each line ends with the number of the write.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator

import recollect
from tests.interfaces.conftest import HOOK

COMMAND = [sys.executable, "-m", "recollect"]


def by_api(project: str, name: str, count: int) -> Iterator[str]:
    with recollect.open(project) as memory:
        for number in range(count):
            recorded = memory.record("shared", f"message {number} of {name}")
            learned = memory.learn(f"fact {number} of {name} is worth keeping")
            yield f"{recorded.seq} {learned.id}"


def by_same(project: str, name: str, count: int) -> Iterator[str]:
    with recollect.open(project) as memory:
        for number, told in enumerate(by_api(project, name, count)):
            for _ in range(2):  # the same key again changes nothing
                memory.learn(f"shared statement {number}", key=f"{name}-{number}")
            yield told


def by_cli(project: str, name: str, count: int) -> Iterator[str]:
    for number in range(count):
        text = f"fact {number} of {name} is worth keeping"
        done = subprocess.run(
            [*COMMAND, "learn", text, "--json"],
            cwd=project, capture_output=True, text=True, check=True,
        )  # fmt: skip
        yield f"0 {json.loads(done.stdout)['id']}"


def by_mcp(project: str, name: str, count: int) -> Iterator[str]:
    server = subprocess.Popen(
        [*COMMAND, "mcp"], cwd=project, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert server.stdin and server.stdout
    hello = {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "writer", "version": "1"},
    }  # fmt: skip
    ids = 0

    def ask(method: str, params: object) -> dict[str, object]:
        nonlocal ids
        ids += 1
        request = {"jsonrpc": "2.0", "id": ids, "method": method, "params": params}
        server.stdin.write(json.dumps(request) + "\n")  # type: ignore[union-attr]
        server.stdin.flush()  # type: ignore[union-attr]
        answer = json.loads(server.stdout.readline())  # type: ignore[union-attr]
        assert answer["id"] == ids
        return dict(answer["result"])

    ask("initialize", hello)
    server.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
    for number in range(count):
        text = f"fact {number} of {name} is worth keeping"
        answer = ask("tools/call", {"name": "memory_learn", "arguments": {"text": text}})
        assert not answer.get("isError"), answer
        told = answer["structuredContent"]
        assert isinstance(told, dict)
        yield f"0 {told['id']}"


def by_hook(project: str, name: str, count: int) -> Iterator[str]:
    for number in range(count):
        event = {
            "hook_event_name": "UserPromptSubmit", "session_id": f"hook-{name}", "cwd": project,
            "prompt": f"From now on, always run check {number} before {name} is pushed.",
        }  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-c", HOOK], cwd=project, input=json.dumps(event), text=True,
            capture_output=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        yield "0 -"


WAYS: dict[str, Callable[[str, str, int], Iterator[str]]] = {
    "api": by_api, "same": by_same, "cli": by_cli, "mcp": by_mcp, "hook": by_hook,
}  # fmt: skip


def main() -> None:
    project, name, count, *way = sys.argv[1:]
    os.environ.setdefault("PYTHONPATH", os.getcwd())
    for number, told in enumerate(WAYS[way[0] if way else "api"](project, name, int(count))):
        print("ack", told, number, flush=True)


if __name__ == "__main__":
    main()
