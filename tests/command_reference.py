"""Writes docs/reference/commands.md from the commands themselves: `python -m tests.command_reference`."""

from __future__ import annotations

from pathlib import Path

from recollect.interfaces import commands
from recollect.operation_table import OPERATIONS, SHORT_COMMANDS


def page() -> str:
    lines = [
        "# Commands",
        "",
        "Every command takes `--json`, `--project PATH`, `--incognito` and `--no-ltm`; `recollect help COMMAND` tells of one.",
        "`recollect demo` replays two sessions on a throw-away store, `recollect hook` is what agents run, and",
        "`recollect mcp` [serves the memory](../how-to/mcp.md). "
        + ", ".join(f"`{short}`" for short in SHORT_COMMANDS)
        + " may be said",
        "without `scratch`. `recollect memory …` takes what chats say: `memory search WORDS` is `recall`,",
        "`memory view` is `briefing`, `memory enqueue` and `memory rebuild` are `consolidate`, `memory reset` is",
        "`clear`; any other command means itself.",
    ]
    for command in OPERATIONS:
        operation = commands.load_command(command)
        places = [
            (item.name.upper(), item.required) for item in commands.positional_parameters(operation)
        ]
        said = "".join(f" {name}" if required else f" [{name}]" for name, required in places)
        lines += [
            "",
            f"## `recollect {command}{said}`",
            "",
            operation.summary,
        ]
        if operation.parameters:
            lines += ["", "| parameter | type | meaning |", "|---|---|---|"]
        for item in operation.parameters:
            name = item.name.upper() if item.required else commands.option_flags(item)[-1]
            lines.append(f"| `{name}` | {item.type} | {item.help.replace('|', chr(92) + '|')} |")
        lines += ["", "```sh", *operation.examples, "```"]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    target = Path(__file__).parent.parent / "docs" / "reference" / "commands.md"
    target.write_text(page(), encoding="utf-8")
