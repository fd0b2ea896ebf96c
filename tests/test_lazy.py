"""Modules that run at their first use."""

from __future__ import annotations

import subprocess
import sys


def test_a_value_that_is_set_before_the_first_use_of_a_module_stays() -> None:
    code = (
        "from recollect.agents import steps_reading as module\n"
        "kind = type(module).__name__\n"
        "module.WORTH_PROCESSES = 1\n"
        "print(kind, module.WORTH_PROCESSES, module.READ_AHEAD > 1)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["_PendingModule", "1", "True"]
