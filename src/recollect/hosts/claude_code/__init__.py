"""Claude Code: its hooks (also read by VS Code), its transcripts, its settings files."""
