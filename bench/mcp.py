"""`python -m bench mcp`: what the start of `recollect mcp` costs, against a bare interpreter.

The processor time of a whole process that answers from its standard input and ends with it: the
handshake and the list of tools, then the same with a first search in a store of 10,000 memories.
Turns are taken with the bare interpreter, and medians compared.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping

import recollect

from .hooks import COMMAND, fill
from .texts import Sentences
from .yardstick import Ratio, line, paired, processor_milliseconds, report

PAIRS = 15
MEMORIES = 10_000
Requests = list[tuple[str, Mapping[str, object]]]
_HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench"}}


def measures() -> list[Ratio]:
    with tempfile.TemporaryDirectory(prefix="recollect-bench-") as folder:
        project = os.path.join(folder, "project")
        os.mkdir(project)
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": folder,
            "RECOLLECT_HOME": os.path.join(folder, "home"),
        }
        sentences = Sentences()
        with recollect.open(project, environment=environment, origin="user") as memory:
            fill(memory, sentences, MEMORIES)
        command = os.path.join(project, "recollect")
        with open(command, "w", encoding="utf-8") as file:
            file.write(COMMAND)
        call = [sys.executable, command, "mcp", "--project", project]
        path = os.path.join(project, "requests.jsonl")
        start: Requests = [("initialize", _HELLO), ("tools/list", {})]

        def serve(asked: Requests) -> float:
            with open(path, "w", encoding="utf-8") as file:
                for id, (method, params) in enumerate(asked):
                    message = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
                    file.write(json.dumps(message) + "\n")
            return processor_milliseconds(call, environment, path)

        def recall() -> float:
            given = {"name": "memory_recall", "arguments": {"query": sentences.question()}}
            return serve([*start, ("tools/call", given)])

        def check(measure: Callable[[], float]) -> None:
            """Run once and read the answers: a server that fails at once would be fast."""
            measure()
            with open(path, "rb") as file:
                told = subprocess.run(call, env=environment, stdin=file, capture_output=True)
            answers = [json.loads(line)["result"] for line in told.stdout.splitlines()]
            assert answers[1]["tools"]
            assert all(answer["structuredContent"]["hits"] for answer in answers[2:])

        found = []
        for name, measure, bound in (
            ("mcp: initialize and tools/list", lambda: serve(start), 15.0),
            ("mcp: the same and a first memory_recall", recall, 20.0),
        ):
            check(measure)
            ours, bare = paired(
                measure,
                lambda: processor_milliseconds([sys.executable, "-c", "pass"], environment),
                PAIRS,
            )
            found.append(line(name, ours, bare, "ms", ("at most", bound)))
        return found


def main() -> int:
    return report(measures())


if __name__ == "__main__":
    sys.exit(main())
