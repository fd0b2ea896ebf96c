"""Codex CLI: its hooks, its rollout files, its settings files."""
