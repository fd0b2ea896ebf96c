"""`recollect hook`: read an agent's event from standard input, write our answer to standard output.

One command serves all agents. It always ends in time with status 0, and prints one JSON object or
nothing: status 2 would erase the user's prompt, and stray text would be read as an answer. Errors
are logged without any text of the conversation, and `doctor` reports them. This is the only module
that catches every exception.
"""

from __future__ import annotations

import errno
import json
import os
import sys
import time
from _thread import start_new_thread
from collections.abc import Mapping, Sequence

LONGEST_PAYLOAD = 64 * 1024 * 1024
LOCK_WAIT = "0.5"
TIME_LIMIT = 3.0
"""Seconds until the hook gives up; agents wait 5 for a prompt and kill slower hooks."""

TIME_LIMIT_AT_END = 0.9
"""The same at the end of a session: agents wait for about a second."""

USAGE = """usage: recollect hook < PAYLOAD

Agents run this at their events; `recollect init` registers it. It reads one JSON object from
standard input, answers in the agent's format, and always ends with status 0.

recollect hook --status-line prints one line for Claude Code's status line."""


def main(words: Sequence[str] = ()) -> int:
    """Answer an event of an agent; `init` registers this command."""
    if words[:1] == ["--catch-up"]:
        parent = words[2] if len(words) > 2 else ""
        return _catch_up(words[1] if len(words) > 1 else ".", int(parent) if parent else 0)
    if words == ["--status-line"]:
        return _print_status_line()
    if words and words[0] not in ("-h", "--help"):
        # Not 2, the status of other wrong commands: agents take it as an order to stop.
        print(f"recollect: hook takes no arguments (hook {words[0]})", file=sys.stderr)
        print("see: recollect hook --help", file=sys.stderr)
        return 1
    if words or (sys.stdin and sys.stdin.isatty()):
        print(USAGE)
        return 0
    hook = _HookProcess(dict(os.environ))
    start_new_thread(hook.enforce_time_limit, ())
    try:
        reply = hook.answer(sys.stdin.buffer.read(LONGEST_PAYLOAD))
        if reply:
            # JSON is UTF-8, whatever the locale.
            sys.stdout.buffer.write(f"{reply}\n".encode("utf-8", "replace"))
            sys.stdout.flush()
    except BaseException as error:  # noqa: BLE001 - an agent must never see a failure
        hook.outcome = _error_name(error)
    hook.log_run()
    # Exit immediately: nothing that is still open may delay the exit or change its status.
    os._exit(0)


class _HookProcess:
    """The process of one hook: answers the event, enforces the time limit, and writes the log."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.environment = environment
        self.began = time.monotonic()
        self.host, self.event, self.cwd = "-", "-", "."
        self.outcome = "ok"
        self.deadline = self.began + TIME_LIMIT

    def answer(self, raw: bytes) -> str:
        """Return the reply to a payload, in the form of its agent."""
        payload = json.loads(raw.decode(json.detect_encoding(raw), "replace"))
        if not isinstance(payload, dict):
            raise ValueError("a payload is a JSON object")
        from ..agents import registry
        from ..agents.events import may_be_answered

        self.host = registry.detect_agent(payload, self.environment)
        about = registry.load_hooks(self.host)
        event = about.parse(payload, self.environment)
        self.event = event.name
        self.cwd = self.environment.get("RECOLLECT_PROJECT") or event.cwd or "."
        if event.name == "session_end":
            self.deadline = self.began + TIME_LIMIT_AT_END
        if not may_be_answered(event):
            return str(about.reply(event))
        if event.name == "command":
            return str(about.reply_command(_run_command(self.cwd, self.environment, event.prompt)))
        from ..agents.operations_events import answer_event
        from ..errors import ConfigError
        from ..opening import open_context

        variables = {**self.environment, "RECOLLECT_LOCK_WAIT": LOCK_WAIT}
        try:
            context = open_context(self.cwd, variables, incognito=False, origin="user")
        except ConfigError as error:
            self.outcome = _error_name(error)
            notice = f"Recollect is off: {error}" if event.name == "session_start" else ""
            return str(about.reply(event, "", notice))
        if context.settings.mode == "incognito":
            self.outcome = ""
        try:
            answer = answer_event(context, event)
        finally:
            context.project_space.close()
            context.user_space.close()
        if answer.trouble:
            self.outcome = _error_name(answer.trouble)
        if event.name == "before_tool" and not answer.context and self.outcome == "ok":
            self.outcome = ""  # runs before every command: log only answers and failures
        if answer.work:
            start_catching_up(self.cwd, self.environment)
        notice = answer.notice
        if self.outcome:
            notice = self._pass_notices(event.name, notice)
        return str(about.reply(event, answer.context, notice))

    def _pass_notices(self, event: str, notice: str) -> str:
        """Save the notice of a run that shows none to a person; add saved ones to the start of a
        session that does."""
        if event == "session_start":
            return self._add_saved_notices(notice)
        if notice and event == "user_prompt":
            from ..agents import steps_hooks
            from .origin import is_headless

            if is_headless(self.environment):
                steps_hooks.keep_notice(self.cwd, self.environment, notice)
        return notice

    def _add_saved_notices(self, notice: str) -> str:
        from ..agents import steps_hooks

        saved = steps_hooks.find_notices(self.cwd, self.environment)
        if not saved:
            return notice
        from .origin import is_headless

        if is_headless(self.environment):
            return notice
        return "\n".join(filter(None, (*steps_hooks.read_notices(saved, remove=True), notice)))

    def enforce_time_limit(self) -> None:
        """End the process at its deadline (in a thread): a lock or a slow disk may delay it."""
        while (left := self.deadline - time.monotonic()) > 0:
            time.sleep(min(left, 0.1))
        self.outcome = "too_late"
        self.log_run()
        os._exit(0)

    def log_run(self) -> None:
        """Log this run; write nothing for a project that is switched off."""
        if self.outcome in ("", "refused"):
            return
        try:
            from ..agents import events, steps_hooks
            from ..text import display

            spent = round((time.monotonic() - self.began) * 1000)
            now = display.format_time(time.time_ns() // 1_000_000 * 1000)
            run = events.HookRun(now, self.host, self.event, spent, self.outcome)
            steps_hooks.append_run(self.cwd, self.environment, run)
        except Exception:  # noqa: BLE001
            return  # there is no other log, and the agent must not see an error


def _run_command(cwd: str, environment: dict[str, str], words: str) -> str:
    """Run a slash command that was typed into an agent, with the rights of an agent."""
    from .. import open as open_memory
    from ..errors import RecollectError
    from .slash import run_slash

    try:
        with open_memory(cwd, environment=environment, origin="agent") as memory:
            return run_slash(memory, words)
    except RecollectError as error:
        return str(error)


def _error_name(error: BaseException) -> str:
    """Return the code or class of an error; its text could quote a conversation."""
    code: object = getattr(error, "code", "")
    if isinstance(error, OSError) and error.errno:
        code = errno.errorcode.get(error.errno, "")
    return code if isinstance(code, str) and code else type(error).__name__


def _print_status_line() -> int:
    """Print memories, the share of the start budget in use, and what waits for review."""
    try:
        payload = json.loads(sys.stdin.read() or "{}") if not sys.stdin.isatty() else {}
        place = payload.get("workspace", {}).get("project_dir") or payload.get("cwd") or "."
        from .. import open as open_memory
        from ..maintenance import operations_overview as maintenance_operations_overview

        with open_memory(place, environment=dict(os.environ), origin="agent") as memory:
            print(f"recollect: {maintenance_operations_overview.make_status_line(memory.context)}")
    except Exception as error:  # noqa: BLE001 - the status line shows the error
        place = os.path.basename(str(getattr(error, "where", "")))
        name = _error_name(error)
        print(f"recollect: off, {place}" if name == "config" and place else f"recollect: {name}")
    return 0


def start_catching_up(cwd: str, environment: Mapping[str, str]) -> None:
    """Start the catch-up process, which outlives the agent: in its own session, without our open
    files."""
    # -P: never import modules from the project's directory.
    # Its parent is the terminal's session, which outlives a shell around the hook.
    parent = os.getsid(0) if os.getsid(0) != os.getpid() else os.getppid()
    words = [sys.executable, "-P", "-m", "recollect", "hook", "--catch-up", cwd, str(parent)]
    quiet = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 1, 2)]
    os.posix_spawn(sys.executable, words, environment, file_actions=quiet, setsid=True)


def _catch_up(cwd: str, parent: int) -> int:
    """Read the requested transcripts, in the background process."""
    from .. import open as open_memory
    from ..agents.operations import catch_up

    environment = dict(os.environ)
    hook = _HookProcess(environment)
    hook.host, hook.event, hook.cwd = "-", "catch_up", cwd
    try:
        with open_memory(cwd, environment=environment, origin="agent") as memory:
            catch_up(memory.context, parent)
    except Exception as error:  # noqa: BLE001 - this process has no screen: the log has the error
        hook.outcome = _error_name(error)
    hook.log_run()
    return 0
