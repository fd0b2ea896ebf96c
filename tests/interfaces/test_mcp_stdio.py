"""MCP over pipes, message by message: what the official client never sends, and what it cannot see.

The conversations of well-behaved clients are in `test_mcp.py`.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import IO, Any

import pytest

import recollect
from recollect.context import Progress
from recollect.errors import StoreBusy
from recollect.interfaces import mcp, mcp_requests, mcp_tools
from recollect.interfaces.mcp import StdioServer
from recollect.interfaces.mcp_requests import RequestHandlers
from tests.conftest import PATIENCE

HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t"}}
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


def request(id: Any, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


INITIALIZE = request(0, "initialize", **HELLO)


@pytest.fixture
def memory(project: Path, tmp_path: Path) -> Iterator[recollect.Recollect]:
    variables = {"RECOLLECT_HOME": str(tmp_path / "home"), "HOME": str(tmp_path)}
    with recollect.open(project, environment=variables, origin="agent") as opened:
        yield opened


def exchange(memory: recollect.Recollect, *sent: Any) -> list[Any]:
    """Return everything that the server writes; texts and bytes are sent as they are."""
    lines = [one if isinstance(one, (str, bytes)) else json.dumps(one) for one in sent]
    raw = b"\n".join(one.encode() if isinstance(one, str) else one for one in lines)
    sink = BytesIO()
    StdioServer(RequestHandlers(memory), BytesIO(raw + b"\n"), sink).serve()
    assert sink.getvalue() == b"" or sink.getvalue().endswith(b"\n")
    answers = [json.loads(line) for line in sink.getvalue().decode().split("\n")[:-1]]
    for answer in answers:
        for one in answer if isinstance(answer, list) else [answer]:
            assert one.pop("jsonrpc") == "2.0"
    return answers


def in_session(memory: recollect.Recollect, *sent: Any) -> list[Any]:
    """The same after the handshake."""
    hello, *rest = exchange(memory, INITIALIZE, *sent)
    assert hello["id"] == 0
    return rest


# ---------------------------------------------------------------- versions


@pytest.mark.parametrize(
    ("asked", "agreed"),
    [
        *((version, version) for version in mcp.HANDSHAKE_VERSIONS),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ],
)
def test_the_handshake_agrees_on_a_revision(
    memory: recollect.Recollect, asked: str, agreed: str
) -> None:
    (answer,) = exchange(memory, request("a", "initialize", **{**HELLO, "protocolVersion": asked}))
    assert answer["id"] == "a"
    assert answer["result"]["protocolVersion"] == agreed
    assert answer["result"]["serverInfo"]["name"] == "recollect"
    assert {"tools", "resources", "prompts", "logging"} == set(answer["result"]["capabilities"])


def test_a_request_before_the_handshake_is_refused_and_ping_is_not(
    memory: recollect.Recollect,
) -> None:
    answers = exchange(memory, request(1, "tools/list"), request(2, "ping"), INITIALIZE)
    found = {answer["id"]: answer for answer in answers}
    assert found[1]["error"] == {"code": -32600, "message": "send initialize first"}
    assert found[2]["result"] == {}
    assert "result" in found[0]


def test_a_request_that_names_its_revision_needs_no_handshake(memory: recollect.Recollect) -> None:
    memory.learn("The build uses make.")
    discovered, listed, found = exchange(
        memory,
        request(1, "server/discover", _meta=ENVELOPE),
        request(2, "resources/list", _meta=ENVELOPE),
        request(3, "tools/call", name="memory_recall", arguments={"query": "make"}, _meta=ENVELOPE),
    )
    assert discovered["result"]["supportedVersions"] == ["2026-07-28"]
    assert "logging" not in discovered["result"]["capabilities"]
    assert (listed["result"]["ttlMs"], listed["result"]["cacheScope"]) == (0, "private")
    for answer in (discovered, listed, found):
        assert answer["result"]["resultType"] == "complete"
        about = answer["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]
        assert about["version"] == recollect.__version__
    assert found["result"]["structuredContent"]["hits"][0]["text"] == "The build uses make."


@pytest.mark.parametrize(
    ("meta", "code"),
    [
        ({**ENVELOPE, "io.modelcontextprotocol/protocolVersion": "2030-01-01"}, -32022),
        ({**ENVELOPE, "io.modelcontextprotocol/protocolVersion": 7}, -32602),
        ({"io.modelcontextprotocol/protocolVersion": "2026-07-28"}, -32602),
    ],
)
def test_a_wrong_revision_in_a_request_is_an_error(
    memory: recollect.Recollect, meta: dict[str, Any], code: int
) -> None:
    (answer,) = exchange(memory, request(1, "tools/list", _meta=meta))
    assert answer["error"]["code"] == code
    if code == -32022:
        assert answer["error"]["data"] == {"supported": ["2026-07-28"], "requested": "2030-01-01"}


@pytest.mark.parametrize("method", ["ping", "logging/setLevel", "initialize"])
def test_methods_of_the_handshake_do_not_exist_without_it(
    memory: recollect.Recollect, method: str
) -> None:
    (answer,) = exchange(memory, request(1, method, _meta=ENVELOPE))
    assert answer["error"]["code"] == -32601


# ---------------------------------------------------------------- malformed input


@pytest.mark.parametrize(
    ("line", "id", "code"),
    [
        ("{", None, -32700),
        ("nonsense", None, -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"\xff"}', None, -32700),
        ("[" * 100_000, None, -32700),
        ('{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":NaN}}', None, -32700),
        ("1", None, -32600),
        ('"text"', None, -32600),
        ("[]", None, -32600),
        ([request(1, "ping")], None, -32600),
        ({"jsonrpc": "1.0", "id": 1, "method": "ping"}, 1, -32600),
        ({"id": "x", "method": "ping"}, "x", -32600),
        ({"jsonrpc": "2.0", "id": 1}, 1, -32600),
        ({"jsonrpc": "2.0", "id": 1, "method": 7}, 1, -32600),
        ({"jsonrpc": "2.0", "id": None, "method": "ping"}, None, -32600),
        ({"jsonrpc": "2.0", "id": True, "method": "ping"}, None, -32600),
        ({"jsonrpc": "2.0", "id": [1], "method": "ping"}, None, -32600),
        ({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": [1]}, 1, -32602),
        (request(1, "no/such/method"), 1, -32601),
        (request(1, "completion/complete"), 1, -32601),
        (request(1, "initialize"), 1, -32602),
        (request(1, "server/discover"), 1, -32602),
        (request(1, "initialize", protocolVersion=3), 1, -32602),
        (request(1, "tools/list", cursor="page-2"), 1, -32602),
        (request(1, "tools/call"), 1, -32602),
        (request(1, "tools/call", name=7), 1, -32602),
        (request(1, "tools/call", name="memory_recall", arguments=[1]), 1, -32602),
        (request(1, "tools/call", name="no_such_tool"), 1, -32602),
        (request(1, "resources/read"), 1, -32602),
        (request(1, "resources/read", uri="memory://m-nosuchmemory"), 1, -32002),
        (request(1, "prompts/get", name="recall", arguments={"query": 7}), 1, -32602),
        (request(1, "prompts/get", name="recall", arguments={"colour": "x"}), 1, -32602),
        (request(1, "prompts/get", name="nosuch"), 1, -32602),
        (request(1, "logging/setLevel", level="loud"), 1, -32602),
        (request(1, "logging/setLevel", level=[]), 1, -32602),
    ],
)
def test_a_malformed_message_is_an_error_and_the_next_one_is_answered(
    memory: recollect.Recollect, line: Any, id: Any, code: int
) -> None:
    wrong, next_one = in_session(memory, line, request(2, "prompts/list"))
    assert (wrong["id"], wrong["error"]["code"]) == (id, code)
    assert wrong["error"]["message"]
    assert "prompts" in next_one["result"]


@pytest.mark.parametrize(
    "line",
    [
        "",
        "  \r",
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "method": "notifications/roots/list_changed", "params": {}},
        {"jsonrpc": "2.0", "method": "no/such/notification"},
        {"jsonrpc": "2.0", "method": "tools/list", "params": [1]},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": [1]}},
        {"jsonrpc": "2.0", "method": "notifications/cancelled"},
        {"jsonrpc": "2.0", "method": "ping"},
        {"jsonrpc": "2.0", "id": 5, "result": {}},
        {"jsonrpc": "2.0", "id": 5, "error": {"code": 1, "message": "x"}},
    ],
)
def test_notifications_responses_and_empty_lines_are_not_answered(
    memory: recollect.Recollect, line: Any
) -> None:
    (answer,) = in_session(memory, line, request(2, "prompts/list"))
    assert answer["id"] == 2


def test_a_line_that_is_too_long_is_discarded(
    memory: recollect.Recollect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mcp_requests, "LONGEST_LINE", 2 << 20)
    huge = request(1, "tools/call", name="memory_recall", arguments={"query": "x" * (5 << 20)})
    fits = request(2, "tools/call", name="memory_recall", arguments={"query": "x" * (1 << 20)})
    wrong, answer = in_session(memory, huge, fits)
    assert (wrong["id"], wrong["error"]["code"]) == (None, -32600)
    assert "longer than 2 MB" in wrong["error"]["message"]
    assert answer["id"] == 2


def test_text_of_any_language_and_half_characters_come_back_as_they_went(
    memory: recollect.Recollect,
) -> None:
    names = ["naïve – 日本語 – 😀 – \u2028", "\ud800"]
    first, second = in_session(memory, *(request(1, name) for name in names))
    assert [first["error"]["data"], second["error"]["data"]] == names


def test_batches_are_answered_together_in_the_revision_that_has_them(
    memory: recollect.Recollect,
) -> None:
    hello = request(0, "initialize", **{**HELLO, "protocolVersion": "2025-03-26"})
    note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    _, both = exchange(memory, hello, [request(1, "ping"), note, request(2, "x"), 7], [note])
    assert [(one["id"], "result" in one) for one in both] == [(1, True), (2, False), (None, False)]


# ---------------------------------------------------------------- cancelling, progress, logs


def cancelled(id: Any) -> dict[str, Any]:
    params = {"requestId": id, "reason": "the user pressed Escape"}
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}


class Source(BytesIO):
    """Says when all of it was read; a cancellation comes only after a tool call has begun."""

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        self.begun, self.ended = threading.Event(), threading.Event()

    def readline(self, size: int | None = -1, /) -> bytes:
        line = super().readline(size)
        if not line:
            self.ended.set()
        if b"notifications/cancelled" in line:
            assert self.begun.wait(PATIENCE)
        return line


class HeldHandlers(RequestHandlers):
    """Answers `tools/call` only after all input was read, and reports progress before."""

    source: Source
    calls: list[str]

    def answer(self, method: str, params: Mapping[str, Any], progress: Any = None) -> Any:
        self.calls.append(method)
        if method == "tools/call":
            self.source.begun.set()
            assert self.source.ended.wait(PATIENCE)
            for done in range(3):
                progress(Progress("work", done, 3, 0))
        return super().answer(method, params)


def held(memory: recollect.Recollect, *sent: Any) -> tuple[list[str], list[Any]]:
    """The methods that were worked on, and the messages that were written."""
    raw = "".join(json.dumps(one) + "\n" for one in (INITIALIZE, *sent)).encode()
    handlers, sink = HeldHandlers(memory), BytesIO()
    handlers.source, handlers.calls = Source(raw), []
    StdioServer(handlers, handlers.source, sink).serve()
    written = [json.loads(line) for line in sink.getvalue().decode().splitlines()]
    return handlers.calls, [one for one in written if one.get("id") != 0]


def test_a_cancelled_request_is_not_answered_and_a_waiting_one_is_not_begun(
    memory: recollect.Recollect,
) -> None:
    learn = {"text": "The build uses make."}
    calls, written = held(
        memory,
        request("a", "tools/call", name="memory_learn", arguments=learn),
        request("b", "resources/list"),
        request("c", "prompts/list"),
        cancelled("b"),
        cancelled("a"),
        request("b", "prompts/list"),
    )
    assert calls == ["tools/call", "prompts/list", "prompts/list"]
    assert [one["id"] for one in written] == ["c", "b"], "the second b is another request"
    assert not memory.list(), "the work ended at its next report of progress"


def test_a_ping_is_answered_while_a_request_is_worked_on(memory: recollect.Recollect) -> None:
    slow = request(1, "tools/call", name="memory_stats")
    _, written = held(memory, slow, request(2, "ping"))
    assert [one["id"] for one in written] == [2, 1]


def test_progress_is_sent_to_clients_that_gave_a_token(memory: recollect.Recollect) -> None:
    slow = request(1, "tools/call", name="memory_stats", _meta={"progressToken": "t"})
    _, written = held(memory, slow)
    sent = [one["params"] for one in written if one.get("method") == "notifications/progress"]
    assert [(one["progressToken"], one["progress"], one["total"]) for one in sent] == [
        ("t", 1, 3),
        ("t", 2, 3),
    ]
    assert written[-1]["id"] == 1


class Broken(RequestHandlers):
    """Has a fault in one method, and a busy store in another."""

    def answer(self, method: str, params: Mapping[str, Any], progress: Any = None) -> Any:
        if method == "resources/list":
            raise KeyError("a fault of ours")
        return super().answer(method, params, progress)

    def _get_prompt(self, params: Mapping[str, Any]) -> dict[str, Any]:
        raise StoreBusy("other processes held the lock")


def test_a_fault_is_an_internal_error_and_the_session_goes_on(
    memory: recollect.Recollect, capsys: pytest.CaptureFixture[str]
) -> None:
    sink = BytesIO()
    sent = [
        INITIALIZE,
        request(1, "resources/list"),
        request(2, "prompts/get"),
        request(3, "logging/setLevel", level="error"),
        request(4, "resources/list"),
        request(5, "tools/list"),
    ]
    raw = "".join(json.dumps(one) + "\n" for one in sent).encode()
    StdioServer(Broken(memory), BytesIO(raw), sink).serve()
    _, fault, busy, level, log, again, listed = map(json.loads, sink.getvalue().splitlines())
    assert fault["error"]["code"] == -32603 and "a fault of ours" in fault["error"]["message"]
    assert busy["error"] == {"code": -32603, "message": "other processes held the lock"}
    assert level["result"] == {}
    assert log["method"] == "notifications/message" and log["params"]["level"] == "error"
    assert again["error"]["code"] == -32603
    assert len(listed["result"]["tools"]) == len(mcp_tools.TOOLS)
    assert capsys.readouterr().err.count("KeyError: 'a fault of ours'") == 2


def test_an_input_that_cannot_be_read_is_an_error(memory: recollect.Recollect) -> None:
    class Unreadable(BytesIO):
        def readline(self, size: int | None = -1, /) -> bytes:
            raise OSError(errno.EIO, "the terminal is gone")

    with pytest.raises(OSError, match="the terminal is gone"):
        StdioServer(RequestHandlers(memory), Unreadable(), BytesIO()).serve()


def test_the_store_is_closed_after_each_request(
    memory: recollect.Recollect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be replaced by `adopt` or a backup while the server waits."""
    closed: list[str] = []
    space = memory.context.project_space
    close = space.close

    def count_and_close() -> None:
        closed.append(space.space)
        close()

    monkeypatch.setattr(space, "close", count_and_close)
    in_session(memory, request(1, "resources/list"), request(2, "tools/call"))
    assert len(closed) == 2


# ---------------------------------------------------------------- the process


@pytest.fixture
def variables(tmp_path: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "RECOLLECT_HOME": str(tmp_path / "home"),
        "HOME": str(tmp_path),
    }


def start(project: Path, variables: dict[str, str], **streams: Any) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "recollect", "mcp", "--project", str(project)]
    return subprocess.Popen(
        command, env=variables, stdin=subprocess.PIPE, stderr=subprocess.PIPE, **streams
    )


def write(stream: IO[bytes] | None, *sent: Any) -> None:
    assert stream
    for one in sent:
        stream.write(json.dumps(one).encode() + b"\n")
    stream.flush()


def test_requests_before_the_end_of_input_are_answered(
    project: Path, variables: dict[str, str]
) -> None:
    with start(project, variables, stdout=subprocess.PIPE) as server:
        learn = {"text": "The build uses make."}
        write(server.stdin, INITIALIZE)
        write(server.stdin, request(1, "tools/call", name="memory_learn", arguments=learn))
        output, errors = server.communicate(timeout=PATIENCE)
    assert [json.loads(line)["id"] for line in output.splitlines()] == [0, 1]
    assert (server.returncode, errors) == (0, b"")


def test_a_client_that_stops_reading_ends_the_server_quietly(
    project: Path, variables: dict[str, str]
) -> None:
    """Also when it keeps its other end open."""
    reading, writing = os.pipe()
    with start(project, variables, stdout=writing) as server:
        os.close(writing)
        os.close(reading)
        write(server.stdin, INITIALIZE)
        assert server.wait(PATIENCE) == 0
        assert server.stderr and server.stderr.read() == b""


def test_a_killed_server_leaves_what_it_acknowledged(
    project: Path, variables: dict[str, str]
) -> None:
    with start(project, variables, stdout=subprocess.PIPE) as server:
        learn = {"text": "The build uses make."}
        write(server.stdin, INITIALIZE)
        write(server.stdin, request(1, "tools/call", name="memory_learn", arguments=learn))
        assert server.stdout
        answers = [json.loads(server.stdout.readline()) for _ in range(2)]
        server.send_signal(signal.SIGKILL)
    assert not answers[1]["result"]["isError"]
    with recollect.open(project, environment=variables) as memory:
        assert [item.text for item in memory.list()] == ["The build uses make."]


def test_printed_text_and_child_processes_do_not_touch_the_protocol(
    project: Path, variables: dict[str, str]
) -> None:
    program = (
        "import os, sys\n"
        "from recollect.interfaces import commands, mcp, mcp_requests\n"
        "main = mcp.main\n"
        "class Loud(mcp_requests.RequestHandlers):\n"
        "    def answer(self, method, params, progress=None):\n"
        "        print('a stray line', flush=True)\n"
        "        os.system('test -p /dev/stdin && echo input; echo of a child')\n"
        "        return {}\n"
        "mcp.RequestHandlers = Loud\n"
        f"main(commands.Arguments({{}}, project={str(project)!r}))\n"
    )
    sent = "".join(json.dumps(one) + "\n" for one in (INITIALIZE, request(1, "tools/list")))
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=variables,
        input=sent.encode(),
        capture_output=True,
        timeout=PATIENCE,
        check=True,
    )
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == [0, 1]
    assert done.stderr == b"a stray line\nof a child\n"


def test_a_closed_input_is_a_clear_error(project: Path, variables: dict[str, str]) -> None:
    command = f"{sys.executable} -m recollect mcp --project {project} <&-"
    done = subprocess.run(
        ["sh", "-c", command], env=variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 8
    assert done.stderr == "recollect: standard input or output is closed (recollect mcp)\n"


_LOADED = """
import sys
from recollect.interfaces.cli import main
status = main(["mcp", "--project", sys.argv[1]])
names = sorted(sys.modules)
ours = [name for name in names if name.startswith("recollect.")]
ran = [name for name in ours if type(sys.modules[name]).__name__ != "_PendingModule"]
print(status, len(names) - len(ours), len(ran), *names, file=sys.stderr)
"""


def loaded(project: Path, variables: dict[str, str], *sent: Any) -> tuple[int, int, set[str]]:
    """Count the modules that a server has loaded when it ends: of others, and of ours."""
    done = subprocess.run(
        [sys.executable, "-c", _LOADED, str(project)],
        env=variables,
        input="".join(json.dumps(one) + "\n" for one in sent),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    status, others, ours, *names = done.stderr.split()
    assert status == "0" and len(done.stdout.splitlines()) == len(sent)
    return int(others), int(ours), set(names)


def test_the_server_starts_with_few_modules(project: Path, variables: dict[str, str]) -> None:
    """Importing is what a start costs; `python -m bench mcp` measures it in processor time."""
    with recollect.open(project, environment=variables) as memory:
        memory.learn("The build uses make.")
    tools = request(1, "tools/list")
    recall = request(2, "tools/call", name="memory_recall", arguments={"query": "make"})
    heavy = {"mcp", "pydantic", "anyio", "asyncio", "inspect", "dataclasses", "typing_extensions"}
    others, ours, names = loaded(project, variables, INITIALIZE, tools)
    assert not names & heavy
    assert others <= 85 and ours <= 65, (others, ours)
    others, ours, names = loaded(project, variables, INITIALIZE, tools, recall)
    assert not names & heavy
    assert others <= 92 and ours <= 93, (others, ours)
