"""The version, in a module of its own: reading it imports nothing."""

from __future__ import annotations

__version__ = "0.1.0"
