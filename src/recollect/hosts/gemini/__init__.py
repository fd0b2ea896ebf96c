"""Gemini CLI: its hooks, its chat files, its settings file."""
