"""The protocol's own programs against our servers: the conformance tool and the inspector.

python -m bench.mcp_conformance [FOLDER]

The programs need Node 22. In an empty FOLDER (default: the current one),

    npm install node@22 @modelcontextprotocol/conformance@0.2.0-alpha.12 \\
        @modelcontextprotocol/inspector@2.12.0

gives all three. The conformance tool speaks HTTP only. It is run against our HTTP server (it cannot
send a bearer token, so a layer in front of the application adds it; Host and Origin arrive as the
tool sent them), and against `recollect mcp`, whose pipes a small bridge connects to a port. It was
written for a fixture server: many scenarios call tools, prompts and resources of that server's
names, or want a capability that a memory does not have. Those are in `NOT_OURS`, with the reason;
everything else must pass, in both eras. The inspector's command line starts `recollect mcp` itself.
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
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

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
    "resources-subscribe": "capability not offered: subscriptions",
    "resources-unsubscribe": "capability not offered: subscriptions",
    "tasks-": "extension not offered: tasks",
    "server-stateless:sep-2575-server-rejects-undeclared-capability": _FIXTURE,
}
"""How a scenario's name begins, or a scenario and one of its checks, and why it is not for us."""

_TRANSPORT = "about HTTP itself, which is the bridge's"
NOT_OF_PIPES = {
    "dns-rebinding-protection": _TRANSPORT,
    "http-header-validation": _TRANSPORT,
    "server-stateless:sep-2575-http-server-header-mismatch-400": _TRANSPORT,
}
"""The same for the bridge."""

NOT_OF_HTTP = {"logging-set-level": "capability not offered: logging (the SDK deprecated it)"}
"""The same for our HTTP server."""

INSPECTED = (
    ("tools/list", ("--strict",), '"memory_recall"'),
    ("tools/call", ("--tool-name", "memory_recall", "--tool-arg", "query=redis"), "port 6380"),
    ("tools/call", ("--tool-name", "memory_stats"), '"isError": false'),
    ("resources/list", (), '"memory://root"'),
    ("resources/templates/list", (), '"memory://{id}"'),
    ("resources/read", ("--uri", "memory://root/MEMORY.md"), "port 6380"),
    ("prompts/list", (), '"briefing"'),
    ("prompts/get", ("--prompt-name", "recall", "--prompt-args", "query=redis"), "port 6380"),
    ("logging/setLevel", ("--log-level", "debug"), "{}"),
)
"""Method, options, and a part of the answer."""


class Check(NamedTuple):
    """One check of one scenario, and the reason why it is not for us."""

    scenario: str
    id: str
    status: str
    why: str
    not_ours: str


def variables(folder: str) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "RECOLLECT_HOME": os.path.join(folder, "home"),
        "HOME": folder,
    }


@contextmanager
def listening(application: ASGIApp) -> Iterator[str]:
    """An application on a free port of this machine."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(application, log_level="warning"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [taken]})
        thread.start()
        while not server.started:
            time.sleep(0.05)
        yield f"http://127.0.0.1:{taken.getsockname()[1]}{http.PATH}"
        server.should_exit = True
        thread.join()


@contextmanager
def over_http(folder: str) -> Iterator[str]:
    """Our HTTP server."""
    with recollect.open(folder, environment=variables(folder), origin="agent") as memory:
        inner = http.make_application(http.make_server(RequestHandlers(memory)), TOKEN)

        async def with_token(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "http":
                token = (b"authorization", b"Bearer " + TOKEN.encode())
                scope = {**scope, "headers": [*scope["headers"], token]}
            await inner(scope, receive, send)

        with listening(with_token) as url:
            yield url


@contextmanager
def over_pipes(folder: str) -> Iterator[str]:
    """`recollect mcp`, with a bridge from HTTP to its pipes: a request is a line and its answer
    another; the error's code decides the status of HTTP, as the specification says."""
    command = [sys.executable, "-m", "recollect", "mcp", "--project", folder]
    with subprocess.Popen(
        command, env=variables(folder), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as server:

        def exchange(body: bytes) -> tuple[int, bytes]:
            assert server.stdin and server.stdout
            try:
                asked = json.loads(body)
                line = json.dumps(asked).encode()
            except ValueError:
                asked, line = {"id": None, "method": ""}, body.replace(b"\n", b" ")
            server.stdin.write(line + b"\n")
            server.stdin.flush()
            if "id" not in asked or "method" not in asked:
                return 202, b""
            while True:
                answer = server.stdout.readline()
                told = json.loads(answer)
                if told.get("id") == asked["id"] and "method" not in told:
                    code = told.get("error", {}).get("code", 0)
                    return {0: 200, -32601: 404, -32603: 200}.get(code, 400), answer

        async def bridge(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                return
            body, more = b"", True
            while more:
                part = await receive()
                body, more = body + part.get("body", b""), part.get("more_body", False)
            status, answer = exchange(body) if scope["method"] == "POST" else (405, b"")
            headers = [(b"content-type", b"application/json")]
            await send({"type": "http.response.start", "status": status, "headers": headers})
            await send({"type": "http.response.body", "body": answer})

        with listening(bridge) as url:
            yield url
        assert server.stdin
        server.stdin.close()


def run(tool: Path, url: str, era: str, excluded: Mapping[str, str]) -> list[Check]:
    """What the tool found of one revision of the protocol."""
    modules = tool / "node_modules"
    with tempfile.TemporaryDirectory() as results:
        command = [str(modules / "node/bin/node"), str(modules / ".bin/conformance"), "server"]
        options = ["--url", url, "--requirements", era, "-o", results]
        done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
        found = [
            _checked(_scenario(path.parent.name), item, excluded)
            for path in sorted(Path(results).glob("*/checks.json"))
            for item in json.loads(path.read_text(encoding="utf-8"))
        ]
    if not found:
        raise SystemExit(f"the tool gave no results:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return found


def _scenario(folder: str) -> str:
    """The scenario in the name of a folder of results: server-<scenario>-<time>."""
    return folder.removeprefix("server-")[: -len("-2026-01-01T00-00-00-000Z")]


def _checked(scenario: str, item: dict[str, Any], excluded: Mapping[str, str]) -> Check:
    why = str(item.get("errorMessage") or item.get("description") or "")
    full = f"{scenario}:{item['id']}"
    not_ours = next((why for lead, why in excluded.items() if full.startswith(lead)), "")
    if why.startswith("Not testable: "):
        not_ours = _FIXTURE
    return Check(scenario, item["id"], item["status"], why, not_ours)


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


def inspect(tool: Path, folder: str) -> tuple[str, bool]:
    """The inspector's command line, which starts `recollect mcp` for each request."""
    modules = tool / "node_modules"
    program = [str(modules / "node/bin/node"), str(modules / ".bin/mcp-inspector"), "--cli"]
    server = [sys.executable, "-m", "recollect", "mcp", "--project", folder]
    kept = [word for pair in variables(folder).items() for word in ("-e", "=".join(pair))]
    lines = []
    for method, options, expected in INSPECTED:
        done = subprocess.run(
            [*program, "--method", method, *options, *kept, *server],
            env=variables(folder),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode or expected not in done.stdout:
            lines.append(f"  FAILED {method} {' '.join(options)}: {done.stdout}{done.stderr}")
    passed = len(INSPECTED) - len(lines)
    return "\n".join([f"inspector: {passed} of {len(INSPECTED)} requests", *lines]), not lines


def main() -> int:
    tool = Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    programs = [tool / "node_modules/.bin" / name for name in ("conformance", "mcp-inspector")]
    if not all(program.exists() for program in programs):
        print(__doc__, file=sys.stderr)
        return 2
    results = []
    with tempfile.TemporaryDirectory() as folder:
        with recollect.open(folder, environment=variables(folder), origin="agent") as memory:
            memory.learn("Integration tests need Redis on port 6380")
        for name, serve, excluded in (
            ("pipes", over_pipes, {**NOT_OURS, **NOT_OF_PIPES}),
            ("HTTP", over_http, {**NOT_OURS, **NOT_OF_HTTP}),
        ):
            for era in ERAS:
                with serve(folder) as url:
                    results.append(told(f"{name}, {era}", run(tool, url, era, excluded)))
        results.append(inspect(tool, folder))
    print("\n".join(text for text, _ in results))
    return 0 if all(holds for _, holds in results) else 1


if __name__ == "__main__":
    sys.exit(main())
