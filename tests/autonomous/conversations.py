"""Small sessions for the tests of autonomous memory, and models that answer as they are told."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import recollect
from recollect.types.records import Message, ToolCall
from tests.conftest import Clock

Mem = recollect.Recollect
RULE = "We never push to main without a review"


def call(id: str, command: str, output: str, failed: bool = False) -> list[Message]:
    arguments = json.dumps({"command": command})
    return [
        Message("assistant", "", (ToolCall(id, "Bash", arguments),)),
        Message("tool", output, call_id=id, is_error=failed),
    ]


def edit(id: str, path: str) -> list[Message]:
    arguments = json.dumps({"file_path": path, "old_string": "a", "new_string": "b"})
    return [
        Message("assistant", "", (ToolCall(id, "Edit", arguments),)),
        Message("tool", f"The file {path} has been updated.", call_id=id),
    ]


def worked(mem: Mem, session: str, said: str = "Please make the login check the password") -> None:
    """Record a session that edits, lints, tests and commits."""
    title = "Check the password of a login in constant time"
    commit = f"git commit -am '{title}' -m 'A comparison that ends early leaks the length.'"
    made = f"[main 1a2b3c4] {title}\n 1 file changed, 12 insertions(+), 3 deletions(-)"
    messages = [
        Message("user", said),
        *edit("e1", "src/login.py"),
        *call("c1", "ruff check", "All checks passed!"),
        *call("c2", "pytest", "3 passed in 0.1s"),
        *call("c3", commit, made),
        Message("assistant", "Done: `src/login.py` compares the password in constant time."),
    ]
    for message in messages:
        mem.record(session, message)


def switch(mem: Mem, **settings: Any) -> None:
    """Change settings of an open memory."""
    mem.context.settings = mem.context.settings._replace(**settings)


def later(clock: Clock) -> None:
    clock.advance(hours=13)


class Server:
    """A loopback server that speaks the protocols of models; `reply` makes the answers."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        self.reply: Callable[[str, str], str] = lambda system, prompt: "{}"
        self.status = 200
        self.headers: dict[str, str] = {}
        self.raw: bytes | None = None
        self.hold = threading.Event()
        self.hold.set()
        self.url = ""

    def answer(self, path: str, body: dict[str, Any]) -> bytes:
        if self.raw is not None:
            return self.raw
        if self.status != 200:
            return json.dumps({"error": {"type": "overloaded_error", "message": "no"}}).encode()
        if path.endswith("/messages"):
            text = self.reply(body["system"], body["messages"][0]["content"])
            content = [{"type": "text", "text": text}]
            usage = {"input_tokens": 1000, "output_tokens": 50}
            return json.dumps({"content": content, "usage": usage}).encode()
        system, user = (one["content"] for one in body["messages"])
        message = {"role": "assistant", "content": self.reply(system, user)}
        usage = {"prompt_tokens": 1000, "completion_tokens": 50}
        return json.dumps({"choices": [{"message": message}], "usage": usage}).encode()


@contextmanager
def serving() -> Iterator[Server]:
    """Run a loopback server for models."""
    server = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            headers = {name.lower(): value for name, value in self.headers.items()}
            server.requests.append((self.path, headers, body))
            server.hold.wait()
            answer = server.answer(self.path, body)
            self.send_response(server.status)
            for name, value in server.headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            try:
                self.wfile.write(answer)
            except (BrokenPipeError, ConnectionResetError):
                pass  # whoever asked has heard enough

        def log_message(self, *_: object) -> None: ...

    web = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.url = f"http://127.0.0.1:{web.server_port}/v1"
    thread = threading.Thread(target=web.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.hold.set()
        web.shutdown()
        thread.join()
        web.server_close()


def items_of(prompt: str) -> list[dict[str, Any]]:
    """Return the messages that a prompt of phase 1 holds."""
    inside = prompt.partition("<messages>\n")[2].partition("\n</messages>")[0]
    return list(json.loads(inside)) if inside else []
