"""What a hook needs: to hear an event and to brief. Half of the imports of the whole."""

from __future__ import annotations

from .agents import Agents
from .briefings import Briefings


class Listening(Agents, Briefings):
    """Hear."""
