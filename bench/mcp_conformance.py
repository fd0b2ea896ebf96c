"""The reference conformance tool of the Model Context Protocol against our HTTP server.

python -m bench.mcp_conformance [FOLDER]

The tool needs Node 22. In an empty FOLDER (default: the current one),

    npm install node@22 @modelcontextprotocol/conformance@0.2.0-alpha.12

gives both. The tool cannot send a bearer token, so a layer in front of our application adds it;
Host and Origin arrive as the tool sent them. It was written for a fixture server: many scenarios
call tools, prompts and resources of that server's names, or want a capability that a memory does
not have. Those are in `NOT_OURS`, with the reason; everything else must pass, in both eras.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import uvicorn
from starlette.types import Receive, Scope, Send

import recollect
from recollect.interfaces import http
from recollect.interfaces.mcp_requests import RequestHandlers

TOKEN = "of-no-other-server"
ERAS = ("2025-11-25", "2026-07-28")
_FIXTURE = "asks for a tool, prompt or resource of the tool's own fixture server"
NOT_OURS = {
    "tools-call-": _FIXTURE,
    "prompts-get-": _FIXTURE,
    "resources-read-": _FIXTURE,
    "resources-templates-read": _FIXTURE,
    "json-schema-2020-12": _FIXTURE,
    "server-sse-polling": _FIXTURE,
    "http-custom-header-server-validation": "no tool of ours takes an argument from a header",
    "input-required-": "no tool of ours asks back",
    "elicitation-": "no tool of ours asks back",
    "completion-complete": "capability not offered: completion",
    "logging-set-level": "capability not offered: logging (deprecated by the protocol)",
    "resources-subscribe": "capability not offered: subscriptions",
    "resources-unsubscribe": "capability not offered: subscriptions",
    "tasks-": "extension not offered: tasks",
    "server-stateless:sep-2575-server-rejects-undeclared-capability": _FIXTURE,
}
"""How a scenario's name begins, or a scenario and one of its checks, and why it is not for us."""


class Check(NamedTuple):
    """One check of one scenario."""

    scenario: str
    id: str
    status: str
    why: str

    @property
    def not_ours(self) -> str:
        if self.why.startswith("Not testable: "):
            return _FIXTURE
        full = f"{self.scenario}:{self.id}"
        return next((why for lead, why in NOT_OURS.items() if full.startswith(lead)), "")


@contextmanager
def served(folder: str) -> Iterator[str]:
    """Our server on a free port of this machine."""
    variables = {"RECOLLECT_HOME": os.path.join(folder, "home"), "HOME": folder}
    with recollect.open(folder, environment=variables, origin="agent") as memory:
        memory.learn("Integration tests need Redis on port 6380")
        inner = http.make_application(http.make_server(RequestHandlers(memory)), TOKEN)

        async def with_token(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "http":
                token = (b"authorization", b"Bearer " + TOKEN.encode())
                scope = {**scope, "headers": [*scope["headers"], token]}
            await inner(scope, receive, send)

        with socket.socket() as listening:
            listening.bind(("127.0.0.1", 0))
            server = uvicorn.Server(uvicorn.Config(with_token, log_level="warning"))
            thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
            thread.start()
            while not server.started:
                time.sleep(0.05)
            yield f"http://127.0.0.1:{listening.getsockname()[1]}{http.PATH}"
            server.should_exit = True
            thread.join()


def run(tool: Path, url: str, era: str) -> list[Check]:
    """What the tool found of one revision of the protocol."""
    modules = tool / "node_modules"
    with tempfile.TemporaryDirectory() as results:
        command = [str(modules / "node/bin/node"), str(modules / ".bin/conformance"), "server"]
        options = ["--url", url, "--requirements", era, "-o", results]
        done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
        found = [
            Check(_scenario(path.parent.name), item["id"], item["status"], _said(item))
            for path in sorted(Path(results).glob("*/checks.json"))
            for item in json.loads(path.read_text(encoding="utf-8"))
        ]
    if not found:
        raise SystemExit(f"the tool gave no results:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return found


def _scenario(folder: str) -> str:
    """The scenario in the name of a folder of results: server-<scenario>-<time>."""
    return folder.removeprefix("server-")[: -len("-2026-01-01T00-00-00-000Z")]


def _said(item: dict[str, Any]) -> str:
    return str(item.get("errorMessage") or item.get("description") or "")


def told(era: str, checks: list[Check]) -> tuple[str, bool]:
    """One era in words, and whether everything that is ours holds."""
    ours = [item for item in checks if not item.not_ours]
    passed = [item for item in ours if item.status == "SUCCESS"]
    failed = [item for item in ours if item.status == "FAILURE"]
    foreign = [item for item in checks if item.not_ours]
    scenarios = {item.scenario for item in ours}
    lines = [
        f"{era}: {len(passed)} of {len(passed) + len(failed)} checks pass in {len(scenarios)} "
        f"scenarios; {len({item.scenario for item in foreign} - scenarios)} more are not for us"
    ]
    lines += [f"  FAILED {item.scenario} {item.id}: {item.why[:200]}" for item in failed]
    reasons = sorted({(item.not_ours, item.scenario) for item in foreign})
    for why in dict.fromkeys(why for why, _ in reasons):
        lines.append(f"  {why}: {', '.join(name for said, name in reasons if said == why)}")
    return "\n".join(lines), bool(passed) and not failed


def main() -> int:
    tool = Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    if not (tool / "node_modules/.bin/conformance").exists():
        print(__doc__, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder, served(folder) as url:
        results = [told(era, run(tool, url, era)) for era in ERAS]
    print("\n".join(text for text, _ in results))
    return 0 if all(holds for _, holds in results) else 1


if __name__ == "__main__":
    sys.exit(main())
