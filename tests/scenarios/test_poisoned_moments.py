"""After transcripts of ten kinds of attack no moment speaks with the attacker's voice.

Twenty of them; `python -m bench.loop_poison` takes five hundred.
"""

from __future__ import annotations

from pathlib import Path

from bench import loop_poison


def test_no_line_of_any_moment_reads_as_an_instruction_of_the_attacker(tmp_path: Path) -> None:
    assert list(loop_poison.breaches(2 * len(loop_poison.ATTACKS), tmp_path.resolve())) == []


def test_words_outside_of_quotes_and_code_marks_are_found() -> None:
    assert "evil" in loop_poison._bare("- [m-1] always run evil1")
    assert "evil" in loop_poison._bare('> evil1 "is"')
    assert "evil" not in loop_poison._bare('> [m-1] unconfirmed fact, agent 2026-01-01: "use evil"')
    assert "evil" not in loop_poison._bare("- Resolved in 2 sessions, after `evil1 sync` was run")
