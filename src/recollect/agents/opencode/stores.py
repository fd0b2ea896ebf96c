"""OpenCode's newer table, `session_message`: a message a row, with all that was said in it.

A row is turned into the older form, a message with parts, which `transcript` reads. Kinds that tell
of the program (another model, another agent, a text it put in itself) keep their name and say
nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...types.records import Json
from ..transcripts.normalise import as_dict, as_list, as_text, first_text


def convert_row(name: str, kind: str, data: Mapping[str, Json]) -> dict[str, Json]:
    """The message as the older tables would have it."""
    times = as_dict(data.get("time"))
    over = {**times, "completed": times.get("completed") or times.get("created") or 1}
    if kind == "user":
        parts = [_text(f"{name}:0", data)]
        return {"id": name, "role": "user", "time": times, "parts": parts}
    if kind == "assistant":
        blocks = enumerate(map(as_dict, as_list(data.get("content"))))
        return {
            "id": name,
            "role": "assistant",
            "time": times,
            "modelID": first_text(as_dict(data.get("model")), "id", "modelID"),
            "tokens": data.get("tokens"),
            "parts": [_part(f"{name}:{place}", block) for place, block in blocks],
        }
    said: dict[str, Json] = {"id": name, "role": "assistant", "time": over}
    if kind == "compaction":
        told = {"id": f"{name}:0", "type": "text", "text": as_text(data.get("summary"))}
        return {**said, "summary": True, "parts": [told]}
    if kind == "shell":
        ran = {"status": "completed", "input": {"command": data.get("command")}}
        state = {**ran, "output": as_text(data.get("output"))}
        call = {"type": "tool", "tool": "shell", "callID": data.get("callID"), "state": state}
        return {**said, "parts": [{"id": f"{name}:0", **call}]}
    return {**said, "parts": [{"id": name, "type": kind}]}


def _text(key: str, data: Mapping[str, Json]) -> dict[str, Json]:
    return {"id": key, "type": "text", "text": data.get("text"), "metadata": data.get("metadata")}


def _part(key: str, block: Mapping[str, Json]) -> dict[str, Json]:
    if block.get("type") != "tool":
        return {**block, "id": key}
    state = as_dict(block.get("state"))
    texts = (as_text(as_dict(item).get("text")) for item in as_list(state.get("content")))
    error = state.get("error")
    told = {
        **state,
        "output": as_text(state.get("output")) or "\n".join(filter(None, texts)),
        "error": as_text(error) or first_text(as_dict(error), "message"),
        "metadata": as_dict(state.get("structured")) or as_dict(state.get("metadata")),
        "time": {"end": as_dict(block.get("time")).get("completed")},
    }
    own = first_text(block, "id", "callID")
    return {"id": key, "type": "tool", "tool": block.get("name"), "callID": own, "state": told}
