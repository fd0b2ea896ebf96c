"""The version, alone, so that reading it imports nothing."""

from __future__ import annotations

__version__ = "0.1.0"
