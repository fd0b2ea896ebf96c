"""Trust: what a record may become, decided by where it came from and by nothing it says.

An origin is set by the path a record came in on; a label is the least trusted origin among
all inputs, and only a person's confirmation makes a more trusted revision.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..errors import Refused
from .records import ORIGINS

TOOL_NOTE_DAYS = 30
"""How long a note lasts that a tool, a file or a web page gave: see `memory.lifecycle.is_over`."""

_BINDING = frozenset({"policy", "preference", "decision", "architecture", "workflow"})


def check_layer(layer: str, origin: str) -> None:
    """Raise Refused unless this origin may write into the layer.

    The user layer is read in every project, so that only the person writes into it."""
    if layer == "user" and origin != "user":
        raise Refused(
            "only a person writes into the user layer, which every project reads",
            where="layer",
            hint="the user can run this command at a terminal; the project layer is open to you",
        )


def check_priority(priority: str, origin: str) -> None:
    """Raise Refused where anybody but a person calls a statement of theirs critical."""
    if priority == "critical" and origin not in ("user", "system"):
        raise Refused(
            "only a person makes a memory critical",
            where="priority",
            hint="use high, or leave the priority to the kind; the user can raise it at a terminal",
        )


def least_trusted(labels: Iterable[str]) -> str:
    """The label of something made from others: the least trusted of them."""
    return max(labels, key=ORIGINS.index, default="system")


def admit_memory(kind: str, label: str) -> str:
    """The status in which a memory of this kind and label is kept; Refused when it may not be."""
    if label == "tool" and kind in _BINDING:
        raise Refused(
            f"text from a tool, file or web page cannot become a {kind}",
            hint="learn it as a fact, or let the user state it",
        )
    return default_status(kind, label)


def default_status(kind: str, label: str) -> str:
    """Return the status in which a memory of this kind and label is used.

    What a tool gave is active as a note only: it is never shown unasked, and ends by itself. A rule
    in pasted text is proposed (`capture.steps`).
    """
    if label in ("system", "user"):
        return "active"
    if label == "import":
        return "quarantined"
    return "proposed" if kind in _BINDING else "active"
