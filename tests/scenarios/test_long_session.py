"""A session that works for a long time through many overflows and never loses the thread."""

from __future__ import annotations

import json
import re
from typing import Any

import recollect

Mem = recollect.Recollect
CONTEXT = 8_000
STEPS = 60
POLICY = "Policy: never touch the billing tables, they belong to another team."


def request(step: int) -> str:
    if not step:
        return "Migrate the session store from Redis to PostgreSQL, module by module, with tests."
    return f"Step {step}: now migrate module_{step} as well, and keep its tests green, please."


class Provider:
    """A model with a hard limit of its own; it counts differently than we do."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.refusals = 0

    def answer(self, messages: list[dict[str, Any]]) -> dict[str, Any] | None:
        size = len(json.dumps(messages)) // 3
        if size > self.limit:
            self.refusals += 1
            return None
        usage = {"prompt_tokens": size, "completion_tokens": 20}
        return {"role": "assistant", "model": "m", "usage": usage}


def check(messages: list[dict[str, Any]], step: int) -> None:
    """What must hold for every prompt that is sent."""
    assert messages[0] == {"role": "system", "content": "You migrate code."}
    text = json.dumps(messages)
    assert request(step) in text, "the current request is in every prompt"
    made = [call["id"] for item in messages for call in item.get("tool_calls") or ()]
    answered = [item["tool_call_id"] for item in messages if item["role"] == "tool"]
    assert sorted(made) == sorted(answered), (
        "no call without its result, no result without its call"
    )


def send(mem: Mem, provider: Provider, step: int) -> dict[str, Any]:
    """Ten lines around a chat loop: prepare, send, shrink while the provider refuses."""
    prompt = mem.prepare("work", CONTEXT, max_output=500, system="You migrate code.", model="m")
    for attempt in (1, 2, 3, 4):
        messages = prompt.request("openai")["messages"]
        check(messages, step)
        reply = provider.answer(messages)
        if reply:
            return reply
        prompt = mem.sessions.overflow("work", attempt)
    raise AssertionError("unreachable")


def work(mem: Mem, provider: Provider, step: int) -> None:
    mem.record("work", request(step))
    if step == 3:
        mem.record("work", POLICY)
        mem.record("work", request(step))
    reply = send(mem, provider, step)
    function = {"name": "Write", "arguments": json.dumps({"file_path": f"src/module_{step}.py"})}
    calls = [{"id": f"call-{step}", "type": "function", "function": function}]
    mem.record("work", {**reply, "content": f"Writing module_{step}.", "tool_calls": calls})
    output = f"wrote module_{step}, checksum {step * 7919:08x} " + "diff line " * (
        40 + step * 7 % 200
    )
    mem.record("work", {"role": "tool", "tool_call_id": f"call-{step}", "content": output})
    mem.record("work", {**send(mem, provider, step), "content": f"Module {step} is migrated."})


def test_an_agent_works_through_many_overflows_and_never_loses_the_thread(mem: Mem) -> None:
    provider = Provider(CONTEXT)
    trims, last, count = 0, 1, 0
    for step in range(STEPS):
        # Halfway the provider grows stricter than it says.
        provider.limit = CONTEXT if step != STEPS // 2 else 1_500
        work(mem, provider, step)
        now = mem.sessions.show("work").session
        assert now is not None
        trims += now.window_from > last
        last, count = now.window_from, now.messages
    assert trims >= 5
    assert provider.refusals >= 1

    summary = mem.sessions.show("work").session.summary  # type: ignore[union-attr]
    assert f"[original] {request(0)}" in summary
    assert POLICY.removeprefix("Policy: ") in summary
    steps = [int(n) for n in re.findall(r"Step (\d+): now migrate", summary.split("requests:")[1])]
    assert steps == sorted(steps), "requests stand in the order in which they were made"
    assert "Write: " in summary
    assert "src/module_" in summary
    assert "memory://session/work/messages/1-" in summary

    # Everything that ever left the window is found again, by search and by its address.
    for step in (0, 5, 20, 40):
        checksum = f"{step * 7919:08x}"
        [found, *_] = mem.sessions.search(f"checksum {checksum}")
        assert checksum in found.preview
        assert mem.show(found.address).messages[0].message.role == "tool"
        assert mem.recall(f"checksum {checksum}")[0].address == found.address
    assert mem.sessions.search("zzyzx flurble") == ()
    assert "Current task: Step 5" in mem.scratch.retrieve("session_progress").text
    assert mem.verify(archive=True).messages == count
