"""Read the effects of a tool call of any agent: files, git, todos, questions to the user.

Agents name their tools and arguments differently (`Write` with `file_path`, `write_file`,
`file_operations` with an operation, `apply_patch` with a patch, a shell with a script), but all
contain a verb and a path. This module reads the verb and the path, without a list of agents. Aider
edits files and commits without tool calls: its notices ("Applied edit to …") are messages of the
host.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from ..fast_typing import NamedTuple
from ..text.messages import PlacedMessage, parse_arguments, plain_text
from ..types.records import Json, Message, ToolCall
from .command_words import word_set
from .shell import ActionEffects, is_path, parse_script

_WRITES = (
    "write edit create replace insert append patch delete remove rename move save modify multiedit"
    " strreplace notebookedit overwrite"
)
_READS = "read view open cat"
_NO_FILES = "dir directory folder todo todos todowrite todolist"
_NO_READS = "list search grep glob find exists info errors"
_PATH_KEYS = (
    "path paths file files filepath filename targetfile absolutepath notebookpath newpath oldpath"
    " source destination include edits replacements"
)
_EDITOR_COMMANDS = "view create str_replace insert write delete rename undo_edit"
_PATCH_KEYS = ("input", "patch", "patchText", "patch_text", "diff")
_BEFORE_AFTER = (
    ("old_string", "new_string"), ("old_str", "new_str"), ("oldString", "newString"), ("old", "new")
)  # fmt: skip
_OUTPUT_KEYS = ("output", "stdout", "content", "result", "text", "llmContent")

_TODO_LISTS = ("todos", "todoList", "todo_list", "plan", "tasks", "items")
_TODO_CHANGES = ("todoUpdates", "newTodos", "updates")
_TODO_TEXTS = ("content", "title", "step", "subject", "text", "task", "description")
_STATUS = {
    **dict.fromkeys(("in_progress", "in-progress", "active", "doing"), "in progress"),
    **dict.fromkeys(("completed", "complete", "done"), "done"),
    **dict.fromkeys(("cancelled", "canceled", "deleted"), "dropped"),
    "blocked": "blocked",
}


class TodoEntry(NamedTuple):
    """One entry of a todo list; text or status is empty if not given."""

    key: str
    text: str
    status: str


class TodoCall(NamedTuple):
    """A call's change to the todo list: replaced, or some entries changed."""

    anew: bool
    entries: tuple[TodoEntry, ...]


@lru_cache(maxsize=2)
def read_arguments(arguments: str) -> Mapping[str, Json] | None:
    """Parse the arguments of a call, cached: several functions read them in turn."""
    return parse_arguments(arguments)


def read_effects(call: ToolCall) -> ActionEffects:
    """Return the files and git commands of a call."""
    arguments = read_arguments(call.arguments)
    if arguments is None:
        arguments = {"input": call.arguments}
    words = _verb_words(call.name, arguments)
    if words[0] in ("git", "version"):
        return ActionEffects(git=((words[-1], "--oneline"),) if len(words) > 1 else ())
    script = find_script(arguments)
    if script and "*** Begin Patch" in script:
        return ActionEffects(writes=_patched(script))
    if script:
        return parse_script(script)
    for key in _PATCH_KEYS:
        if isinstance(patch := arguments.get(key), str) and (files := _patched(patch)):
            return ActionEffects(writes=files)
    if word_set(_NO_FILES).intersection(words):
        return ActionEffects()
    if word_set(_WRITES).intersection(words):
        return ActionEffects(writes=tuple(dict.fromkeys(_paths(arguments))))
    if word_set(_READS).intersection(words) and not word_set(_NO_READS).intersection(words):
        return ActionEffects(reads=tuple(dict.fromkeys(_paths(arguments))))
    return ActionEffects()


def describe_target(call: ToolCall) -> str:
    """Describe the target of a call: a file, the start of a command, or nothing."""
    arguments = read_arguments(call.arguments) or {}
    if script := find_script(arguments):
        return " ".join(script.split()[:2])
    return next(_paths(arguments), "")


def unwrap_output(result: Message) -> str:
    """Return the output of a result, without the JSON that some agents wrap around it."""
    text = plain_text(result)
    if not text.startswith("{"):
        return text
    wrapped = parse_arguments(text) or {}
    for key in _OUTPUT_KEYS:
        if isinstance(wrapped.get(key), str):
            return str(wrapped[key])
    return text


_EXIT_CODE = r'(?:^|\n)Process exited with code [1-9]|"exit_code": ?[1-9]'


def is_failed(result: Message) -> bool:
    """Check whether a result reports that its call failed."""
    if result.is_error:
        return True
    text = plain_text(result)
    status = read_exit_status(text)
    if status is not None:
        return status != 0
    start = text[:2_000]
    return ("exited with" in start or "exit_code" in start) and bool(re.search(_EXIT_CODE, start))


def read_exit_status(text: str) -> int | None:
    """Return the exit status that an agent's tool wrote around a command's output."""
    for part in (text[:400], text[-200:]):
        if "xit" in part and (found := re.search(_STATUS_LINE, part)):
            return int(next(filter(None, found.groups())))
    return None


_STATUS_LINE = (
    r"(?m)^(?:Exit code|Process exited with code) (\d+)"
    r"|\bexit_code\"?[:=] ?(\d+)|^Exit Code: (\d+)"
    r"|<(?:shellId: \w+ completed|exited) with exit code (\d+)>"
    r"|\[Command finished with exit code (\d+)\]"
)


# ---------------------------------------------------------------- files


@lru_cache(512)
def split_tool_name(name: str) -> tuple[str, ...]:
    """Split a tool's name into words: `mcp__files__writeFile` gives write and file."""
    own = name.replace(".", "__").rsplit("__", 1)[-1]
    return tuple(re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", own).lower().replace("-", "_").split("_"))


def _verb_words(name: str, arguments: Mapping[str, Json]) -> tuple[str, ...]:
    """Return the words of the action: those of the operation, if a tool has several."""
    words = split_tool_name(name)
    operation = arguments.get("operation")
    if isinstance(operation, str) and words[0] == "version":
        return ("version", *split_tool_name(operation))
    if isinstance(operation, str) and operation:
        return split_tool_name(operation)
    command = arguments.get("command")
    if isinstance(command, str) and command in word_set(_EDITOR_COMMANDS) and "path" in arguments:
        return split_tool_name(command)
    return words


def find_script(arguments: Mapping[str, Json]) -> str:
    """Return the shell script of a call, if it has one."""
    action = arguments.get("action")
    if isinstance(action, Mapping):
        arguments = action
    command = arguments.get("command", arguments.get("cmd"))
    if isinstance(command, str):
        return "" if command in word_set(_EDITOR_COMMANDS) else command
    if not isinstance(command, list):
        return ""
    words = [str(word) for word in command]
    if len(words) == 3 and words[1].startswith("-") and words[1].endswith("c"):
        return words[2]
    return " ".join(json.dumps(word) if "'" in word else f"'{word}'" for word in words)


def _paths(value: Json, key: str = "") -> Iterator[str]:
    """Return the paths among the arguments, by the names that agents use."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if name.replace("_", "").lower() in word_set(_PATH_KEYS):
                yield from _paths(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from _paths(inner, key)
    elif isinstance(value, str) and key:
        path = value.strip().removeprefix("file://").removeprefix("./")
        if is_path(path):
            yield path


_PATCH_HEADERS = (
    r"(?m)^(?:\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+?)|\+\+\+ (?:b/)?([^\t\n]+).*)$"
)


def _patched(patch: str) -> tuple[str, ...]:
    """Return the files in the headers of a patch."""
    found = (match[1] or match[2] for match in re.finditer(_PATCH_HEADERS, patch))
    return tuple(dict.fromkeys(path.strip() for path in found if is_path(path.strip())))


def read_edit(call: ToolCall) -> tuple[str, str]:
    """Return the text that an edit removed, and the text that it added."""
    arguments: Mapping[str, Json] | None = parse_arguments(call.arguments)
    if arguments is None:
        arguments = {"input": call.arguments}
    for before, after in _BEFORE_AFTER:
        if isinstance(arguments.get(before), str) and isinstance(arguments.get(after), str):
            return str(arguments[before]), str(arguments[after])
    edits = arguments.get("edits")
    if isinstance(edits, list) and edits and isinstance(edits[0], Mapping):
        return read_edit(call._replace(arguments=json.dumps(edits[0])))
    patch = next((arguments[key] for key in _PATCH_KEYS if key in arguments), "")
    lines = str(patch).splitlines()
    removed = [line[1:] for line in lines if line.startswith("-") and line[:3] != "---"]
    put = [line[1:] for line in lines if line.startswith("+") and line[:3] != "+++"]
    return "\n".join(removed), "\n".join(put) or str(arguments.get("content", ""))


# ---------------------------------------------------------------- todos and questions


def read_todos(call: ToolCall, output: str = "") -> TodoCall | None:
    """Return a call's change to the todo list; None without one."""
    words = split_tool_name(call.name)
    arguments = parse_arguments(call.arguments) or {}
    if words in (("task", "create"), ("task", "update")):
        number = re.search(r"#(\d+)", output)
        key = str(arguments.get("taskId") or (number[1] if number else ""))
        return TodoCall(False, tuple(_todos([{**arguments, "id": key}]))) if key else None
    if not ({"todo", "todos", "todowrite", "todolist"} & set(words) or words[-1:] == ("plan",)):
        return None
    for name in _TODO_CHANGES:
        if isinstance(arguments.get(name), list):
            return TodoCall(False, tuple(_todos(arguments[name])))
    for name in _TODO_LISTS:
        if isinstance(arguments.get(name), list):
            return TodoCall(arguments.get("merge") is not True, tuple(_todos(arguments[name])))
    return None


def _todos(entries: list[Json]) -> Iterator[TodoEntry]:
    for entry in entries:
        if not isinstance(entry, Mapping):
            continue
        text = next((str(entry[k]) for k in _TODO_TEXTS if entry.get(k)), "")
        status = str(entry.get("status") or entry.get("state") or "")
        reason = entry.get("blockedReason") or entry.get("blocked_reason")
        key = str(entry.get("id") or " ".join(text.casefold().split()))
        if key:
            known = _STATUS.get(status.lower(), "pending" if status else "")
            yield TodoEntry(
                key, text, f"{known}: {reason}" if reason and known == "blocked" else known
            )


def read_question(call: ToolCall) -> str:
    """Return a call's question to the user; empty without one."""
    words = set(split_tool_name(call.name))
    asks = words & {"collaboration", "interact", "ask", "question", "questions"}
    if not asks and not words >= {"request", "input"}:
        return ""
    arguments = parse_arguments(call.arguments) or {}
    asked = arguments.get("questions")
    if isinstance(asked, list):
        return " / ".join(
            str(one.get("question", "")) if isinstance(one, Mapping) else str(one) for one in asked
        )
    return next(
        (str(arguments[k]) for k in ("message", "question", "prompt", "text") if arguments.get(k)),
        "",
    )


def read_approved_plan(call: ToolCall) -> str:
    """Return the first line of a plan presented to the user; empty without one."""
    if split_tool_name(call.name) not in (("exit", "plan", "mode"), ("submit", "plan")):
        return ""
    plan = (parse_arguments(call.arguments) or {}).get("plan", "")
    lines = (line.strip("# \t") for line in str(plan).splitlines())
    return next((line for line in lines if line), "the plan")


# ---------------------------------------------------------------- without tool calls

_NOTICES = (
    r"(?m)^Applied edit to (?P<edit>.+)$|^Commit (?P<commit>[0-9a-f]{7,40}) "
    r"|^(?P<failed>The LLM did not conform to the edit format\..*"
    r"|\d+ SEARCH/REPLACE blocks? failed to match.*)$"
    r"|^Tokens: (?P<sent>[\d.]+k?) sent.* (?P<received>[\d.]+k?) received"
)
"""Match Aider's messages about its edits and commits, which are no tool calls."""


class AgentNotice(NamedTuple):
    """An edit (of `text`), a failed edit, a commit (its hash), or spent tokens."""

    seq: int
    kind: str
    text: str
    tokens: int = 0


def find_notices(placed: PlacedMessage) -> list[AgentNotice]:
    """Return the notices in a message of the host."""
    if placed.message.role != "system" or placed.message.name != "host":
        return []
    found = []
    for match in re.finditer(_NOTICES, plain_text(placed.message)):
        if match["sent"]:
            spent = _count(match["sent"]) + _count(match["received"])
            found.append(AgentNotice(placed.seq, "tokens", "", spent))
        else:
            kind = match.lastgroup or ""
            text = match[kind].strip()
            found.append(AgentNotice(placed.seq, kind, text.replace("\\", "/")))
    return found


def _count(written: str) -> int:
    return round(float(written.rstrip("k")) * (1_000 if written.endswith("k") else 1))
