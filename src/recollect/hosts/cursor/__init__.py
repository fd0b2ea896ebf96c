"""Cursor: its hooks, its agent transcripts, its settings files."""
