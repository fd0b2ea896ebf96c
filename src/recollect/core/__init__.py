"""DECIDES. Pure: no I/O, no clock, no SQL, no randomness.

Modules are loaded when they are first used: a hook pays only for what it does.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import archive as archive
    from . import capture as capture
    from . import dates as dates
    from . import elide as elide
    from . import export_html as export_html
    from . import export_text as export_text
    from . import facts as facts
    from . import git_signs as git_signs
    from . import messages as messages
    from . import rank as rank
    from . import render as render
    from . import scopes as scopes
    from . import secret_rules as secret_rules
    from . import secrets as secrets
    from . import shell_signs as shell_signs
    from . import summary as summary
    from . import terms as terms
    from . import tokens as tokens
    from . import trim as trim
    from . import trust as trust
    from . import units as units
    from . import urls as urls
    from . import usage as usage
    from . import wire as wire
    from . import wire_anthropic as wire_anthropic
    from . import wire_chat as wire_chat
    from . import wire_responses as wire_responses
    from . import wire_shapes as wire_shapes
    from . import work_signs as work_signs


def __getattr__(name: str) -> Any:
    try:
        return import_module(f".{name}", __name__)
    except ModuleNotFoundError as error:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from error
