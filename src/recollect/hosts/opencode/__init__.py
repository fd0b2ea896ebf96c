"""OpenCode: its plugin events, its session store, its settings files."""
