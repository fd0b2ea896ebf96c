"""What a hook needs: to hear an event and to brief, with a third of the imports of the whole."""

from __future__ import annotations

from .agents import Agents
from .briefing import Briefing


class Listening(Agents, Briefing):
    """Hear."""
