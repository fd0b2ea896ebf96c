"""REMEMBERS. All SQL; functions that take a transaction."""
