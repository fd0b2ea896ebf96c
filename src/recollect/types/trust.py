"""Trust rules: the origin of a record decides its status, not its content.

The path by which a record came in sets its origin. Its label is the least trusted origin of all
inputs; only a person's confirmation makes a more trusted revision.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..errors import Refused
from .records import ORIGINS, TRUSTED_ORIGINS

TOOL_NOTE_DAYS = 30
"""Days until a note from a tool, file or web page ends: see `memory.lifecycle.is_over`."""

BINDING_KINDS = frozenset({"policy", "preference", "decision", "architecture", "workflow"})
"""Kinds that tell an agent what to do: text from a tool never becomes one."""


def require_person(origin: str, action: str, where: str = "", hint: str = "") -> None:
    """Raise Refused unless the caller is a person: an agent may be manipulated into the action."""
    if origin != "user":
        raise Refused(f"only a person can {action}", where=where, hint=hint)


def require_rank(origin: str, label: str, verb: str, done: str, where: str, hint: str) -> None:
    """Raise Refused if an origin is trusted less than the author of the record that it changes.

    verb: the action of the origin, such as change
    done: the action of the author, such as stated
    """
    if ORIGINS.index(origin) > ORIGINS.index(label):
        message = f"what comes from the {origin} cannot {verb} what the {label} {done}"
        raise Refused(message, where=where, hint=hint)


def check_layer(layer: str, origin: str) -> None:
    """Raise Refused unless this origin may write into the layer.

    Every project reads the user layer, so only the person writes into it.
    """
    if layer == "user":
        require_person(
            origin,
            "write to the user layer, which every project reads",
            where="layer",
            hint="the user can run this command at a terminal; the project layer is open to you",
        )


def check_priority(priority: str, origin: str) -> None:
    """Raise Refused when an origin other than a person or the system sets priority critical."""
    if priority == "critical" and origin not in TRUSTED_ORIGINS:
        raise Refused(
            "only a person can make a memory critical",
            where="priority",
            hint="use high, or leave the priority to the kind; the user can raise it at a terminal",
        )


def least_trusted(labels: Iterable[str]) -> str:
    """Return the least trusted of these labels."""
    return max(labels, key=ORIGINS.index, default="system")


def admit_memory(kind: str, label: str) -> str:
    """Return the status for a new memory; raise Refused if this label may not state this kind."""
    if label == "tool" and kind in BINDING_KINDS:
        raise Refused(
            f"text from a tool, file or web page cannot become a {kind}",
            hint="learn it as a fact, or let the user state it",
        )
    return default_status(kind, label)


def default_status(kind: str, label: str) -> str:
    """Return the status for a memory of this kind and label.

    Text of a tool becomes an active note, which is never shown unasked and expires. A rule in
    pasted text is proposed (`capture.steps`).
    """
    if label in TRUSTED_ORIGINS:
        return "active"
    if label == "import":
        return "quarantined"
    return "proposed" if kind in BINDING_KINDS else "active"
