"""DOES. One use case a module: load, decide, save."""
