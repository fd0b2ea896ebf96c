"""From nothing: what the first session on an empty machine found out, the second one sees."""

from __future__ import annotations

from pathlib import Path

from recollect.interfaces.demo import Sandbox


def test_the_second_session_starts_with_what_the_first_one_found_out(tmp_path: Path) -> None:
    """The hooks are those that `init` installs; the second session is another agent's."""
    sandbox = Sandbox(str(tmp_path))
    first = [heard for heard in sandbox.replay("claude-code") if heard.event == "SessionStart"]
    assert [heard.context for heard in first] == [""], "nothing is known at first"
    second = list(sandbox.replay("codex"))
    (start,) = (heard for heard in second if heard.event == "SessionStart")
    rules, _, work = start.context.partition("How work is done here:")
    assert "always run make redis-test before the integration tests" in rules
    scoped = "Never edit files under src/generated"
    assert any(scoped in heard.context for heard in second), "a rule for files comes with them"
    assert "`make redis-test`" in work, "a command that worked"
    assert "worked once" in work
