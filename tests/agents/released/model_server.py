"""A model on loopback for the released agents: four protocols, streamed, every request kept.

It speaks Anthropic messages, OpenAI Responses, OpenAI chat and Gemini. A test lists what the model
does next (`plan`); a request that offers tools takes one step, and without steps the model says that
it is done. Requests without tools (titles, summaries) take none.
"""

from __future__ import annotations

import gzip
import http.server
import itertools
import json
import re
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

Body = dict[str, Any]

SUMMARY = "The user asked for small changes and the build uses make. SUMMARY-OF-THE-MODEL"
_SUMMARY_WORDS = ("detailed summary", "CONTEXT CHECKPOINT COMPACTION", "state_snapshot", "handoff")
_SHELLS = {
    "Bash": {"command": "", "description": "run a command"},
    "exec_command": {"cmd": ""},
    "shell_command": {"command": ""},
    "run_shell_command": {"command": "", "description": "run a command"},
    "bash": {"command": "", "description": "run a command"},
}
_OWN_BLOCK = re.compile(r"<recollect-[a-z]+.*?</recollect-[a-z]+>", re.S)
_ESCAPED_BLOCK = re.compile(r"&lt;recollect-[a-z]+.*?&lt;/recollect-[a-z]+&gt;", re.S)


class Step(NamedTuple):
    """What the model does in one answer: say a text, call a tool, or hang for some seconds."""

    text: str = ""
    tool: str = ""
    arguments: Mapping[str, Any] = {}
    shell: str = ""
    seconds: float = 0
    tokens: int = 0
    """The number of input tokens it reports, 0 for a small one."""


class ModelRequest(NamedTuple):
    """A logged request: its path and its decoded body."""

    path: str
    body: Body

    def texts(self) -> list[str]:
        """Return every string of the body outside of its list of tools."""
        return list(_walk({key: value for key, value in self.body.items() if key != "tools"}))

    @property
    def text(self) -> str:
        return "\n".join(self.texts())

    @property
    def blocks(self) -> list[str]:
        """Return our own blocks that the model saw; Gemini CLI escapes their brackets."""
        escaped = [
            found.replace("&lt;", "<").replace("&gt;", ">")
            for text in self.texts()
            for found in _ESCAPED_BLOCK.findall(text)
        ]
        return [found for text in self.texts() for found in _OWN_BLOCK.findall(text)] + escaped

    @property
    def tools(self) -> list[str]:
        return _tool_names(self.body)

    @property
    def is_turn(self) -> bool:
        """Check whether it is a turn of the conversation: titles and summaries offer no tools."""
        return bool(self.tools)


class ModelServer:
    """The server: start it with `serve`."""

    def __init__(self) -> None:
        self.requests: list[ModelRequest] = []
        self.steps: list[Step] = []
        self.lock = threading.Lock()
        self.port = 0
        self.arrived = threading.Condition(self.lock)

    def plan(self, *steps: Step) -> None:
        """Set what the model does in its next answers."""
        with self.lock:
            self.steps = list(steps)

    def take(self) -> list[ModelRequest]:
        """Return the requests since the last call."""
        with self.lock:
            found, self.requests = self.requests, []
        return found

    def wait_for_turns(self, count: int, seconds: float) -> bool:
        """Wait until so many turns were asked since the last `take`."""
        with self.arrived:
            return self.arrived.wait_for(
                lambda: sum(one.is_turn for one in self.requests) >= count, seconds
            )

    def log(self, request: ModelRequest) -> None:
        with self.arrived:
            self.requests.append(request)
            self.arrived.notify_all()

    def next_step(self, body: Body, tools: list[str]) -> Step:
        last = json.dumps((body.get("messages") or body.get("input") or [""])[-1:])
        if any(word in last + json.dumps(body.get("systemInstruction")) for word in _SUMMARY_WORDS):
            return Step(f"<summary>{SUMMARY}</summary>")
        if not tools:
            return Step('{"title": "a title"}')
        with self.lock:
            step = self.steps.pop(0) if self.steps else Step("Done.")
        if step.seconds:
            time.sleep(step.seconds)
        if step.shell:
            name = next((one for one in _SHELLS if one in tools), "")
            given = {key: value or step.shell for key, value in _SHELLS.get(name, {}).items()}
            return step._replace(tool=name, arguments=given) if name else Step("no shell")
        if step.tool:
            named = [one for one in tools if one.endswith(step.tool)]
            exact = step.tool in tools or not named
            return step if exact else step._replace(tool=named[0])
        return step


@contextmanager
def serve() -> Iterator[ModelServer]:
    """Run a model on a free port of loopback."""
    model = ModelServer()

    class Handler(_Handler):
        pass

    Handler.model = model
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    model.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()


_IDS = itertools.count(1)


class _Handler(http.server.BaseHTTPRequestHandler):
    model: ModelServer
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing: requests are in the log."""

    def do_GET(self) -> None:
        self._send({"object": "list", "data": [], "models": []})

    def do_POST(self) -> None:
        body = self._read_body()
        path = self.path
        if "ountTokens" in path or "count_tokens" in path:
            self._send({"input_tokens": 10, "totalTokens": 10})
            return
        answer = next((make for part, make in _PROTOCOLS.items() if part in path), None)
        if answer is None:
            self._send({})
            return
        request = ModelRequest(path, body)
        self.model.log(request)
        step = self.model.next_step(body, request.tools)
        streams = bool(body.get("stream")) or "streamGenerateContent" in path
        try:
            answer(self, body, step, streams)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # the agent was killed

    def _read_body(self) -> Body:
        if self.headers.get("transfer-encoding") == "chunked":
            raw = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                raw += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.headers.get("content-encoding") == "gzip":
            raw = gzip.decompress(raw)
        if self.headers.get("content-encoding") == "zstd":
            import zstandard

            raw = zstandard.ZstdDecompressor().stream_reader(raw).read()
        try:
            body = json.loads(raw or b"{}")
        except ValueError:
            return {}
        return body if isinstance(body, dict) else {}

    def _send(self, value: Body) -> None:
        data = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, events: list[tuple[str, Body]]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        for name, value in events:
            head = f"event: {name}\n" if name else ""
            self.wfile.write(f"{head}data: {json.dumps(value)}\n\n".encode())
            self.wfile.flush()

    # ------------------------------------------------------------ protocols

    def answer_anthropic(self, body: Body, step: Step, streams: bool) -> None:
        number = next(_IDS)
        blocks: list[Body] = [{"type": "text", "text": step.text or "I use a tool."}]
        if step.tool:
            call = {"type": "tool_use", "id": f"toolu_{number:06}", "name": step.tool}
            blocks.append({**call, "input": step.arguments})
        usage = {"input_tokens": step.tokens or 1000, "output_tokens": 7}
        usage |= {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 5}
        message = {
            "id": f"msg_{number:06}",
            "type": "message",
            "role": "assistant",
            "model": body.get("model"),
            "content": blocks,
            "stop_reason": "tool_use" if step.tool else "end_turn",
            "stop_sequence": None,
            "usage": usage,
        }
        if not streams:
            self._send(message)
            return
        start = {**message, "content": [], "stop_reason": None}
        events: list[tuple[str, Body]] = [("message_start", {"message": start})]
        for index, block in enumerate(blocks):
            if block["type"] == "text":
                empty, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
            else:
                given = json.dumps(block["input"])
                empty = {**block, "input": {}}
                delta = {"type": "input_json_delta", "partial_json": given}
            events.append(("content_block_start", {"index": index, "content_block": empty}))
            events.append(("content_block_delta", {"index": index, "delta": delta}))
            events.append(("content_block_stop", {"index": index}))
        end = {"stop_reason": message["stop_reason"], "stop_sequence": None}
        events.append(("message_delta", {"delta": end, "usage": {"output_tokens": 7}}))
        events.append(("message_stop", {}))
        self._stream([(name, {"type": name, **value}) for name, value in events])

    def answer_responses(self, body: Body, step: Step, streams: bool) -> None:
        number = next(_IDS)
        said = [{"type": "output_text", "text": step.text or "I use a tool.", "annotations": []}]
        message = {"type": "message", "id": f"msg_{number}", "role": "assistant", "content": said}
        items: list[Body] = [message]
        if step.tool:
            call = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}"}
            call |= {"name": step.tool, "arguments": json.dumps(step.arguments)}
            if group := _namespace(body, step.tool):
                call["namespace"] = group
            if step.tool == "apply_patch" and "input" in step.arguments:
                call = {"type": "custom_tool_call", "call_id": f"call_{number}"}
                call |= {"name": step.tool, "input": step.arguments["input"]}
            items.append(call)
        tokens = step.tokens or 1000
        usage = {"input_tokens": tokens, "output_tokens": 5, "total_tokens": tokens + 5}
        usage_details: Body = {
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0},
        }
        done: Body = {
            "id": f"resp_{number}",
            "object": "response",
            "status": "completed",
            "model": body.get("model"),
            "output": items,
            "usage": {**usage, **usage_details},
        }
        if not streams:
            self._send(done)
            return
        opened = {"response": {**done, "status": "in_progress", "output": []}}
        events: list[tuple[str, Body]] = [("response.created", opened)]
        for index, item in enumerate(items):
            place = {"output_index": index, "item_id": item.get("id", "")}
            events.append(("response.output_item.added", {**place, "item": item}))
            if item["type"] == "message":
                delta = {**place, "content_index": 0, "delta": item["content"][0]["text"]}
                events.append(("response.output_text.delta", delta))
            events.append(("response.output_item.done", {**place, "item": item}))
        events.append(("response.completed", {"response": done}))
        self._stream([(name, {"type": name, **value}) for name, value in events])

    def answer_chat(self, body: Body, step: Step, streams: bool) -> None:
        number = next(_IDS)
        message: Body = {"role": "assistant", "content": step.text or "I use a tool."}
        if step.tool:
            given = {"name": step.tool, "arguments": json.dumps(step.arguments)}
            call = {"index": 0, "id": f"call_{number}", "type": "function", "function": given}
            message["tool_calls"] = [call]
        reason = "tool_calls" if step.tool else "stop"
        tokens = step.tokens or 100
        usage = {"prompt_tokens": tokens, "completion_tokens": 5, "total_tokens": tokens + 5}
        base = {"id": f"chat_{number}", "created": 1, "model": body.get("model")}
        if not streams:
            choice = {"index": 0, "message": message, "finish_reason": reason}
            whole = {**base, "object": "chat.completion", "choices": [choice], "usage": usage}
            self._send(whole)
            return
        base["object"] = "chat.completion.chunk"
        said = {"index": 0, "delta": message, "finish_reason": None}
        ended = {"index": 0, "delta": {}, "finish_reason": reason}
        events = [{**base, "choices": [said]}, {**base, "choices": [ended], "usage": usage}]
        self._stream([("", event) for event in events])
        self.wfile.write(b"data: [DONE]\n\n")

    def answer_gemini(self, body: Body, step: Step, streams: bool) -> None:
        number = next(_IDS)
        parts: list[Body] = [{"text": step.text or "I use a tool."}]
        if body.get("generationConfig", {}).get("responseMimeType") == "application/json":
            chosen = {"reasoning": "r", "next_speaker": "user", "model_choice": "flash"}
            parts = [{"text": json.dumps({**chosen, "complexity_score": 1, "title": "t"})}]
        elif step.tool:
            call = {"id": f"call_{number}", "name": step.tool, "args": step.arguments}
            parts.append({"functionCall": call})
        tokens = step.tokens or 100
        content = {"role": "model", "parts": parts}
        usage = {"promptTokenCount": tokens, "candidatesTokenCount": 5}
        answer: Body = {
            "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
            "usageMetadata": {**usage, "totalTokenCount": tokens + 5},
            "modelVersion": "gemini-2.5-flash",
            "responseId": f"r{number}",
        }
        if streams:
            self._stream([("", answer)])
        else:
            self._send(answer)


_PROTOCOLS = {
    "/messages": _Handler.answer_anthropic,
    "/responses": _Handler.answer_responses,
    "/chat/completions": _Handler.answer_chat,
    "enerateContent": _Handler.answer_gemini,
}


# ---------------------------------------------------------------- bodies


def _walk(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _walk(one)
    elif isinstance(value, list):
        for one in value:
            yield from _walk(one)


def _tool_names(body: Body) -> list[str]:
    """Return the names of the offered tools; Codex groups those of a server in a namespace."""
    found: list[str] = []
    offered = list(body.get("tools") or [])
    for item in body.get("input") or [] if isinstance(body.get("input"), list) else []:
        if item.get("type") == "tool_search_output":
            offered += item.get("tools") or []
    for tool in offered:
        inner = tool.get("tools") or tool.get("functionDeclarations")
        if inner:
            found += [one.get("name", "") for one in inner]
        else:
            about = tool.get("function") or tool
            found.append(about.get("name") or about.get("type") or "")
    return found


def _namespace(body: Body, name: str) -> str:
    for tool in body.get("tools") or []:
        if any(one.get("name") == name for one in tool.get("tools") or []):
            return str(tool.get("name"))
    return ""
