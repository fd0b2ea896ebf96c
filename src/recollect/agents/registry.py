"""Agents, by name: which there are, and where to find what we know about each.

An agent's knowledge is in up to three places, loaded only when asked for: `hooks` (what it tells
us while it works and how it wants to be answered), `transcript` (what it wrote down) and `setup`
(its settings files). Agents that only have transcripts are one module.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import ModuleType

from ..errors import InvalidInput
from ..types.records import Json

AGENTS_WITH_HOOKS = ("claude-code", "codex", "gemini", "opencode", "cursor")
TRANSCRIPT_AGENTS = ("copilot", "specstory", "aider", "clio", "messages")
AGENT_NAMES = (*AGENTS_WITH_HOOKS, *TRANSCRIPT_AGENTS)


def load_hooks(host: str) -> ModuleType:
    """`parse(payload, env) -> Event` and `reply(event, context, notice) -> str` of an agent."""
    return _load(host, AGENTS_WITH_HOOKS, ".hooks")


def load_transcripts(host: str) -> ModuleType:
    """`read(path, cursor, session)` and, but for plain messages, `discover(home, roots, env)`."""
    if host in AGENTS_WITH_HOOKS:
        return _load(host, AGENT_NAMES, ".transcripts")
    return _load("transcripts", (*AGENT_NAMES, "transcripts"), f".{_FILES.get(host, host)}")


_FILES = {"messages": "message_lists"}


def load_settings(host: str) -> ModuleType:
    """`places(home, project, env) -> tuple[Place, …]` of an agent."""
    return _load(host, AGENTS_WITH_HOOKS, ".settings")


def detect_agent(payload: Mapping[str, Json], env: Mapping[str, str], hint: str = "") -> str:
    """Which agent sent a hook's payload: what it says itself comes before the environment.

    The environment of one agent reaches the agents that are started from it.
    """
    said = hint or payload.get("host")
    if said in AGENTS_WITH_HOOKS:
        return str(said)
    event = str(payload.get("hook_event_name") or payload.get("hookEventName") or "")
    path = str(payload.get("transcript_path") or "")
    if "conversation_id" in payload or "cursor_version" in payload or event[:1].islower():
        return "cursor"
    if event in _GEMINI_EVENTS or "/.gemini/" in path:
        return "gemini"
    if "turn_id" in payload or "/.codex/" in path or "/rollout-" in path:
        return "codex"
    if path or "hookEventName" in payload:
        return "claude-code"
    if event == "SessionStart" and {"model", "permission_mode"} <= payload.keys():
        return "codex"
    if "CURSOR_VERSION" in env:
        return "cursor"
    return "gemini" if "GEMINI_PROJECT_DIR" in env else "claude-code"


_GEMINI_EVENTS = (
    "BeforeAgent",
    "AfterAgent",
    "BeforeModel",
    "AfterModel",
    "BeforeToolSelection",
    "BeforeTool",
    "AfterTool",
    "PreCompress",
)


def detect_transcript(path: str) -> str:
    """Which agent wrote a transcript, by its name and its first records."""
    from .transcripts.find_io import detect_transcript as look

    return look(path)


def _load(host: str, known: tuple[str, ...], part: str) -> ModuleType:
    if host not in known:
        raise InvalidInput(f"{host!r} is not an agent we know", hint=f"One of: {', '.join(known)}.")
    name = f"{__package__}.{host.replace('-', '_')}{part}"
    __import__(name)  # `importlib` would cost a hook half a millisecond
    return sys.modules[name]
