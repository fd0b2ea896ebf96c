"""The agents by name, the modules for each of them, and the ids of their sessions.

Modules of an agent are loaded only when needed: `<agent>/hooks.py` (payloads, replies and settings
files) and `<agent>/transcripts.py`. Agents without hooks, and plain lists of messages, are read by
a module in `transcripts/`. Every hook imports this module, so it imports little.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from types import ModuleType

from ..errors import InvalidInput
from ..fast_typing import TYPE_CHECKING, NamedTuple
from ..types.records import Json

if TYPE_CHECKING:
    from .transcripts.reader_io import Transcript, TranscriptItem

AGENTS_WITH_HOOKS = ("claude-code", "codex", "gemini", "opencode", "copilot", "cursor")
TRANSCRIPT_AGENTS = ("specstory", "aider", "clio", "messages")
AGENT_NAMES = (*AGENTS_WITH_HOOKS, *TRANSCRIPT_AGENTS)
_READERS = {
    "cursor": ("message_lists", "read_cursor", "discover_cursor"),
    "specstory": ("markdown_logs", "read_specstory", "discover_specstory"),
    "aider": ("markdown_logs", "read_aider", "discover_aider"),
    "clio": ("message_lists", "read_clio", "discover_clio"),
    "messages": ("message_lists", "read", ""),
}
"""Module in `transcripts/` and names of its functions."""

_LONGEST_ID = 100
_SHORTEST_SECRET = 16
_HEX = frozenset("0123456789abcdef")
_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
_GEMINI_EVENTS = (
    *("BeforeAgent", "AfterAgent", "BeforeModel", "AfterModel", "BeforeToolSelection"),
    *("BeforeTool", "AfterTool", "PreCompress"),
)


class TranscriptFormat(NamedTuple):
    """`read(path, cursor, session)` and `discover(home, roots, env)` of an agent's transcripts;
    where it has hooks, `discover` takes `since` too."""

    read: Callable[..., Iterator[TranscriptItem]]
    discover: Callable[..., list[Transcript]]


def load_hooks(agent: str) -> ModuleType:
    """Return the module with an agent's `parse`, `reply` and `list_settings_files`."""
    return _load(agent, AGENTS_WITH_HOOKS, f"{agent.replace('-', '_')}.hooks")


def load_transcripts(agent: str) -> TranscriptFormat:
    """Return the functions that find and read an agent's transcripts."""
    folder = agent.replace("-", "_")
    module, read, discover = f"{folder}.transcripts", "read", "discover"
    if agent in _READERS:
        name, read, discover = _READERS[agent]
        module = f"transcripts.{name}"
    found = _load(agent, AGENT_NAMES, module)
    finder = getattr(found, discover) if discover else _discover_nothing
    return TranscriptFormat(getattr(found, read), finder)


def _discover_nothing(
    home: str, roots: tuple[str, ...], env: Mapping[str, str]
) -> list[Transcript]:
    """Return no transcripts: plain message lists have no fixed place."""
    return []


def _load(agent: str, known: tuple[str, ...], module: str) -> ModuleType:
    if agent not in known:
        raise InvalidInput(f"unknown agent {agent!r}", hint=f"One of: {', '.join(known)}.")
    name = f"{__package__}.{module}"
    __import__(name)  # `importlib` would cost a hook half a millisecond
    return sys.modules[name]


def detect_agent(payload: Mapping[str, Json], env: Mapping[str, str]) -> str:
    """Return the agent that sent a hook payload.

    The payload counts more than the environment: agents inherit the environment of the agent that
    started them.
    """
    named = payload.get("host")
    if named in AGENTS_WITH_HOOKS:
        return str(named)
    event = str(payload.get("hook_event_name") or payload.get("hookEventName") or "")
    path = str(payload.get("transcript_path") or "")
    if "conversation_id" in payload or "cursor_version" in payload or event[:1].islower():
        return "cursor"
    if event in _GEMINI_EVENTS or "/.gemini/" in path:
        return "gemini"
    if _is_from_copilot(payload, path):
        return "copilot"
    if "turn_id" in payload or "/.codex/" in path or "/rollout-" in path:
        return "codex"
    if path or "hookEventName" in payload:
        return "claude-code"
    if event == "SessionStart" and {"model", "permission_mode"} <= payload.keys():
        return "codex"
    if "CURSOR_VERSION" in env:
        return "cursor"
    return "gemini" if "GEMINI_PROJECT_DIR" in env else "claude-code"


def _is_from_copilot(payload: Mapping[str, Json], path: str) -> bool:
    """Check for Claude Code's field names together with a timestamp, which Claude Code does not
    send; only some events name the transcript."""
    if not {"hook_event_name", "timestamp"} <= payload.keys():
        return False
    return "transcript_path" not in payload or "/session-state/" in path


def detect_transcript(path: str) -> str:
    """Return the agent that wrote a transcript, by its name and first records."""
    from .transcripts import find_io

    return find_io.detect_transcript(path)


# ---------------------------------------------------------------- session ids


@lru_cache(maxsize=256)
def make_session_id(agent: str, *parts: str) -> str:
    """Return our id of an agent's session: the agent, then its own id.

    Hooks, transcripts and databases get the same id for the same session. An id is never a path and
    never contains a secret: an id that looks like one is replaced by a digest.
    """
    name = made = ".".join((agent, *parts))
    if len(name) > _LONGEST_ID or not _SAFE.issuperset(name):
        clean = "".join(c if c in _SAFE else "-" for c in name[:_LONGEST_ID])
        made = f"{clean}-{_digest(name)[:12]}"
    if all(map(_is_plain, parts)):
        return made
    from ..secrets.redaction import holds_secret

    secret = holds_secret(name[: 3 * _LONGEST_ID]) or holds_secret(made)
    return f"{agent}.{_digest(name)[:24]}" if secret else made


def _is_plain(part: str) -> bool:
    """Check cheaply that a part is no secret: it is a UUID or a short name."""
    if len(part) < _SHORTEST_SECRET:
        return _SAFE.issuperset(part)
    groups = part.split("-")
    return list(map(len, groups)) == [8, 4, 4, 4, 12] and _HEX.issuperset("".join(groups))


def _digest(name: str) -> str:
    from hashlib import sha256

    return sha256(name.encode("utf-8", "replace")).hexdigest()
