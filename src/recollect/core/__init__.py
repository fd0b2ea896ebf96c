"""DECIDES. Pure: no I/O, no clock, no SQL, no randomness.

Modules are loaded when they are first used: a hook pays only for what it does.
"""

from __future__ import annotations

from ..nouns import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import activate as activate
    from . import archive as archive
    from . import audit as audit
    from . import brief_text as brief_text
    from . import capture as capture
    from . import claims as claims
    from . import clusters as clusters
    from . import cut as cut
    from . import dates as dates
    from . import definitions as definitions
    from . import distill as distill
    from . import distill_checks as distill_checks
    from . import distill_steps as distill_steps
    from . import echo as echo
    from . import elide as elide
    from . import episodes as episodes
    from . import errors_seen as errors_seen
    from . import export_html as export_html
    from . import export_text as export_text
    from . import facts as facts
    from . import fit as fit
    from . import fixes as fixes
    from . import frontmatter as frontmatter
    from . import fuse as fuse
    from . import git_signs as git_signs
    from . import glance as glance
    from . import graph as graph
    from . import host_notices as host_notices
    from . import hygiene as hygiene
    from . import ignore as ignore
    from . import inflection as inflection
    from . import ledgers as ledgers
    from . import lessons as lessons
    from . import lifecycle as lifecycle
    from . import limits as limits
    from . import lossless as lossless
    from . import messages as messages
    from . import nearest as nearest
    from . import outcomes as outcomes
    from . import patterns as patterns
    from . import phases as phases
    from . import questions as questions
    from . import rank as rank
    from . import reconcile as reconcile
    from . import render as render
    from . import replaced as replaced
    from . import scopes as scopes
    from . import secret_commands as secret_commands
    from . import secret_escapes as secret_escapes
    from . import secret_formats as secret_formats
    from . import secret_names as secret_names
    from . import secret_rules as secret_rules
    from . import secret_search as secret_search
    from . import secret_values as secret_values
    from . import secrets as secrets
    from . import session_recall as session_recall
    from . import shell_signs as shell_signs
    from . import similar as similar
    from . import skills as skills
    from . import summary as summary
    from . import task_spans as task_spans
    from . import tasks as tasks
    from . import terms as terms
    from . import tokens as tokens
    from . import trim as trim
    from . import troubles as troubles
    from . import trust as trust
    from . import units as units
    from . import upkeep as upkeep
    from . import urls as urls
    from . import usage as usage
    from . import wire as wire
    from . import wire_anthropic as wire_anthropic
    from . import wire_chat as wire_chat
    from . import wire_responses as wire_responses
    from . import wire_shapes as wire_shapes
    from . import work_signs as work_signs
    from . import worknotes as worknotes


def __getattr__(name: str) -> Any:
    try:
        __import__(f"{__name__}.{name}")  # `importlib` would cost a command half a millisecond
    except ModuleNotFoundError as error:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from error
    return globals()[name]
