"""CONNECTS. What differs between SQLite and PostgreSQL, and nothing else."""
