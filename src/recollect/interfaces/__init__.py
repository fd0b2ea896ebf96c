"""SPEAKS. Parse, call Recollect, render."""
