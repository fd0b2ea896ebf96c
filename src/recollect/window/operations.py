"""Operations on windows: prepare a prompt, recover from overflow, trim."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from .. import context as context_module
from ..archive import attachments
from ..archive import steps_sessions as archive_steps_sessions
from ..context import Context
from ..errors import InvalidInput
from ..fast_typing import TYPE_CHECKING, TypedDict, Unpack
from ..freshness import git_io
from ..types.records import Json, Stored
from . import steps

if TYPE_CHECKING:
    from .trim import TrimPlan


class RequestAbout(TypedDict, total=False):
    """The parts of a request beside the conversation.

    max_output: tokens reserved for the answer
    max_prompt: the largest prompt in tokens, if the model accepts less than its context window
    tools: the tools as sent to the model, or their cost in tokens
    system: a system prompt that is not in the archive; it is sent first
    model: the model's name; characters per token are learned for each model
    """

    max_output: int
    max_prompt: int
    tools: int | str | Sequence[Mapping[str, Json]]
    system: str
    model: str


def prepare(
    context: Context, session: str, context_window: int, **about: Unpack[RequestAbout]
) -> steps.Prompt:
    """Return the messages to send next, trimmed before they get too long.

    session: the session's id
    context_window: the model's context window in tokens

    Example: recollect session prepare s-1 200000 --max-output 8000 --json
    """
    request = _build_request(context, context_window, about)
    loaded, plan = compact(context, session, request, steps.plan_before_sending)
    prompt = _build_prompt(context, loaded, plan)
    context.sent[prompt.session] = steps.describe_sent(loaded, request, prompt)
    return prompt


def handle_overflow(
    context: Context,
    session: str,
    attempt: int = 1,
    context_window: int = 0,
    **about: Unpack[RequestAbout],
) -> steps.Prompt:
    """Return a shorter prompt after the provider refused one as too long.

    session: the session's id
    attempt: 1 for the first refusal, then 2 and 3; each keeps less than the one before
    context_window: the model's context window in tokens; by default that of the last prepare

    Example: recollect session overflow s-1 --attempt 1 --context-window 200000 --json
    """
    name = context.project_space.read(lambda tx: archive_steps_sessions.get_session(tx, session)).id
    last = context.sent.get(name)
    if context_window:
        request = _build_request(context, context_window, about)
    elif last:
        request = last.request
    else:
        raise InvalidInput(
            "context_window is missing: no prompt was prepared here before",
            where="context_window",
            hint="Pass the model's context window in tokens.",
        )
    refused = last.refused if last and attempt > 1 else 0
    trees = read_git_state(context)
    loaded, plan = compact(
        context, name, request, lambda now: steps.plan_after_refusal(now, attempt, refused, trees)
    )
    prompt = _build_prompt(context, loaded, plan)
    context.sent[name] = steps.describe_sent(loaded, request, prompt, refused or plan.before)
    return prompt


def _build_prompt(context: Context, loaded: steps.LoadedWindow, plan: TrimPlan) -> steps.Prompt:
    """Build the prompt of a window, with the attachments of its messages."""
    prompt = steps.build_prompt(loaded, plan.changed)
    if not any(map(attachments.references, prompt.messages)):
        return prompt
    whole = context.project_space.read(
        lambda tx: archive_steps_sessions.with_attachments(tx, prompt.messages)
    )
    return prompt._replace(messages=whole)


def trim_window(context: Context, session: str = "current", to: int = 0) -> steps.Trimmed:
    """Trim a window now; dropped messages stay in the archive and are summarised.

    session: its id, or a prefix of it; the current one by default
    to: the target in tokens; by default half of the current prompt

    Example: recollect session trim s-1 --to 20000
    """
    if to < 0:
        raise InvalidInput(f"to must not be negative: {to}", where="to")
    request = context_module.PromptRequest(max(to, 1), counter=context.counter)
    loaded, plan = compact(context, session, request, lambda now: steps.plan_by_hand(now, to))
    return steps.describe_trim(loaded.session.id, plan)


def recent_messages(context: Context, session: str = "current", n: int = 20) -> tuple[Stored, ...]:
    """Show the newest messages of a session, oldest first.

    session: its id, or a prefix of it; the current one by default
    n: maximum number of messages

    Example: recollect session recent s-1 --n 5
    """
    if n < 1:
        raise InvalidInput(f"n must be at least 1, not {n}", where="n")
    return tuple(context.project_space.read(lambda tx: steps.load_recent(tx, session, n)))


def _build_request(
    context: Context, context_window: int, about: RequestAbout
) -> context_module.PromptRequest:
    return steps.build_request(
        context_window,
        about.get("tools", 0),
        context.counter,
        output=about.get("max_output", 0),
        largest=about.get("max_prompt", 0),
        system=about.get("system", ""),
        model=about.get("model", ""),
    )


def compact(
    context: Context,
    session: str,
    request: context_module.PromptRequest,
    decide: Callable[[steps.LoadedWindow], TrimPlan],
) -> tuple[steps.LoadedWindow, TrimPlan]:
    """Load a window, plan a trim and save it; repeat if another process moved the window."""
    while True:
        loaded = context.project_space.read(lambda tx: steps.load_window(tx, session, request))
        plan = decide(loaded)
        if not plan.changed:
            return loaded, plan
        kept = _save(context, loaded, plan)
        if kept is not None:
            return kept, plan


def _save(
    context: Context, loaded: steps.LoadedWindow, plan: TrimPlan
) -> steps.LoadedWindow | None:
    trees, now = read_git_state(context), context.clock()
    return context.project_space.write(lambda tx: steps.save_plan(tx, loaded, plan, trees, now))


def read_git_state(context: Context) -> git_io.GitState:
    """Read commits and status of the working tree from git."""
    is_git = context.project.how == "git"
    return git_io.read_git_state(context.project.start) if is_git else git_io.GitState()
