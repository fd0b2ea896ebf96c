"""Interfaces: parse the input, call an operation, render the result."""
