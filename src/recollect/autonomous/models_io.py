"""Ask a model: an OpenAI-compatible server, Anthropic, or a command that reads a prompt on stdin.

There is no retry here: the job is retried later, with a delay. The size of an answer and the time
until its end are limited.
"""

from __future__ import annotations

import json
import os
import selectors
import shlex
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from http.client import HTTPException, HTTPResponse
from typing import IO, NamedTuple
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from ..errors import ConfigError
from ..text import tokens
from ..types.records import Json

LARGEST_ANSWER = 1_000_000
"""Bytes. An answer of a few thousand tokens has some ten thousand bytes."""

LONGEST_PAUSE = 3600.0
_OVERLOADED = (408, 425, 429, 500, 502, 503, 504, 529)
_LOCAL = ("localhost", "127.0.0.1", "::1")
_SERVERS = {"openai": "https://api.openai.com/v1", "anthropic": "https://api.anthropic.com"}


class ModelSpec(NamedTuple):
    """A model and how to reach it: `kind` is openai, compatible, anthropic or command."""

    kind: str
    name: str
    url: str = ""
    key: str = ""
    words: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Return the name of the model for a person, without a key."""
        return self.name if self.kind == "command" else f"{self.kind}:{self.name}"


class ModelAnswer(NamedTuple):
    """An answer, with the tokens of the call, reported by the server or estimated."""

    text: str
    input_tokens: int
    output_tokens: int


class ModelFailure(Exception):
    """A model gave no usable answer. `pause` are the seconds that its server asked to wait; after a
    `final` failure (a wrong key, an unknown model) there is no other try. It is handled inside this
    capability: the job is released with the error."""

    def __init__(self, message: str, *, where: str, pause: float = 0.0, final: bool = False):
        super().__init__(f"{message} ({where})")
        self.message = message
        self.where = where
        self.pause = pause
        self.final = final


def parse_model(setting: str, key: str, environment: Mapping[str, str]) -> ModelSpec | None:
    """Return the model that a setting names; None for an empty one."""
    given = setting.strip()
    if not given:
        return None
    kind, _, rest = given.partition(":")
    if kind == "command" and rest.strip():
        words = shlex.split(rest)
        return ModelSpec("command", os.path.basename(words[0]), words=tuple(words))
    if kind in _SERVERS and rest.strip():
        url = environment.get(f"{kind.upper()}_BASE_URL") or _SERVERS[kind]
        own = key or environment.get(f"{kind.upper()}_API_KEY", "")
        return _checked(ModelSpec(kind, rest.strip(), url, own))
    url, _, name = given.partition(" ")
    if url.startswith(("http://", "https://")) and name.strip():
        return _checked(ModelSpec("compatible", name.strip(), url, key))
    raise ConfigError(
        f"{setting!r} is not a model",
        where="models_default or models_smol",
        hint="one of: anthropic:MODEL, openai:MODEL, http://HOST:PORT/v1 MODEL, command:WORDS",
    )


def _checked(spec: ModelSpec) -> ModelSpec:
    parts = urlsplit(spec.url)
    if parts.scheme == "http" and spec.key and parts.hostname not in _LOCAL:
        raise ConfigError(
            "a key is not sent over http to another machine",
            where=spec.url,
            hint="use https, or a server on this machine",
        )
    return spec


def ask(spec: ModelSpec, system: str, prompt: str, most: int, wait: float) -> ModelAnswer:
    """Return a model's answer of at most `most` tokens; raise ModelFailure after `wait` seconds."""
    if spec.kind == "command":
        text = _run(spec, f"{system}\n\n{prompt}", wait)
        prompt_tokens = tokens.estimate_tokens(len(system) + len(prompt))
        return ModelAnswer(text, prompt_tokens, tokens.estimate_tokens(len(text)))
    reply = _post(spec, _request(spec, system, prompt, most), wait)
    text, spent_in, spent_out = _read(spec, reply)
    return ModelAnswer(
        text,
        spent_in or tokens.estimate_tokens(len(system) + len(prompt)),
        spent_out or tokens.estimate_tokens(len(text)),
    )


# ---------------------------------------------------------------- HTTP


def _request(spec: ModelSpec, system: str, prompt: str, most: int) -> dict[str, Json]:
    if spec.kind == "anthropic":
        messages = [{"role": "user", "content": prompt}]
        return {"model": spec.name, "max_tokens": most, "system": system, "messages": messages}
    messages = [{"role": "system", "content": system}, {"role": "user", "content": prompt}]
    # OpenAI's own server refuses `max_tokens` for newer models; others know no other name.
    limit = "max_completion_tokens" if spec.kind == "openai" else "max_tokens"
    return {"model": spec.name, "messages": messages, limit: most}


class _NoRedirects(HTTPRedirectHandler):
    """Refuses redirects: the key and the conversation go to the configured server only."""

    def redirect_request(self, *args: object) -> None:
        return None


def _post(spec: ModelSpec, body: Mapping[str, Json], wait: float) -> Json:
    base = spec.url.rstrip("/")
    headers = {"content-type": "application/json", "user-agent": "recollect"}
    if spec.kind == "anthropic":
        url = f"{base}/messages" if base.endswith("/v1") else f"{base}/v1/messages"
        headers |= {"x-api-key": spec.key, "anthropic-version": "2023-06-01"}
    else:
        url = f"{base}/chat/completions"
        headers |= {"authorization": f"Bearer {spec.key}"} if spec.key else {}
    deadline = time.monotonic() + wait
    request = Request(url, json.dumps(body).encode(), headers, method="POST")
    try:
        with build_opener(_NoRedirects()).open(request, timeout=wait) as reply:
            raw = _read_all(reply, spec, deadline)
        return json.loads(raw)
    except HTTPError as error:
        with error:
            raise _refused(spec, error) from error
    except (URLError, HTTPException, TimeoutError, OSError) as error:
        reason = getattr(error, "reason", "") or error
        raise ModelFailure(f"the model cannot be reached: {reason}", where=spec.title) from error
    except ValueError as error:
        raise ModelFailure("the model's server did not answer with JSON", where=spec.title) from (
            error
        )


def _read_all(reply: HTTPResponse, spec: ModelSpec, deadline: float) -> bytes:
    found = bytearray()
    while piece := reply.read1(65_536):
        found += piece
        if len(found) > LARGEST_ANSWER:
            raise _too_long(spec)
        if time.monotonic() > deadline:
            raise ModelFailure("the model took too long", where=spec.title)
    return bytes(found)


def _too_long(spec: ModelSpec) -> ModelFailure:
    return ModelFailure(
        f"the model's answer has more than {LARGEST_ANSWER:,} bytes", where=spec.title
    )


def _refused(spec: ModelSpec, error: HTTPError) -> ModelFailure:
    """Return the failure for an HTTP error status, without the server's text."""
    is_temporary = error.code in _OVERLOADED
    given = error.headers.get("retry-after", "")
    pause = min(float(given), LONGEST_PAUSE) if given.replace(".", "", 1).isdigit() else 0.0
    why = {401: ": the key is missing or wrong", 403: ": not allowed", 404: ": no such model"}
    why |= {429: ": too many requests", 529: ": overloaded", 503: ": overloaded"}
    return ModelFailure(
        f"the model's server answered {error.code}{why.get(error.code, '')}",
        where=spec.title,
        pause=pause,
        final=not is_temporary,
    )


def _read(spec: ModelSpec, reply: Json) -> tuple[str, int, int]:
    """Return the text and the tokens of a server's reply."""
    try:
        usage = reply.get("usage") or {}
        if spec.kind == "anthropic":
            parts = [one["text"] for one in reply["content"] if one.get("type") == "text"]
            text = "".join(parts)
            used = usage.get("input_tokens", 0), usage.get("output_tokens", 0)
        else:
            text = reply["choices"][0]["message"]["content"] or ""
            used = usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0)
        return str(text), int(used[0]), int(used[1])
    except (AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
        raise ModelFailure("the model's server gave no answer", where=spec.title) from error


# ---------------------------------------------------------------- a command


def _run(spec: ModelSpec, prompt: str, wait: float) -> str:
    """Run a command with a prompt on its standard input; return its output.

    It runs in an empty folder, so that an agent loads no settings of the project, and with
    Recollect switched off, so that its own session is not recorded.
    """
    variables = {**os.environ, "RECOLLECT_ENABLED": "false"}
    with tempfile.TemporaryDirectory(prefix="recollect-") as folder, _input(prompt) as given:
        try:
            process = subprocess.Popen(
                spec.words,
                stdin=given,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=folder,
                env=variables,
                start_new_session=True,
            )
        except OSError as error:
            raise ModelFailure(
                f"the command cannot be run: {error.strerror}", where=spec.title, final=True
            ) from error
        try:
            out = _drain(process, spec, wait)
        finally:
            _end(process)
    if process.returncode:
        raise ModelFailure(f"the command ended with status {process.returncode}", where=spec.title)
    return out.decode("utf-8", "replace")


def _input(prompt: str) -> IO[bytes]:
    """Return a private file to read the prompt from: a pipe could fill up."""
    file = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    file.write(prompt.encode("utf-8", "replace"))
    file.seek(0)
    return file


def _drain(process: subprocess.Popen[bytes], spec: ModelSpec, wait: float) -> bytes:
    assert process.stdout is not None
    found = bytearray()
    deadline = time.monotonic() + wait
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while True:
            left = deadline - time.monotonic()
            if left <= 0 or not selector.select(left):
                raise ModelFailure(f"the command took longer than {wait:.0f} s", where=spec.title)
            piece = os.read(process.stdout.fileno(), 65_536)
            if not piece:
                break
            found += piece
            if len(found) > LARGEST_ANSWER:
                raise _too_long(spec)
    try:
        process.wait(max(deadline - time.monotonic(), 0.1))
    except subprocess.TimeoutExpired as error:
        raise ModelFailure(f"the command did not end in {wait:.0f} s", where=spec.title) from error
    return bytes(found)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the command and all its child processes."""
    if process.stdout:
        process.stdout.close()
    if process.poll() is None:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
