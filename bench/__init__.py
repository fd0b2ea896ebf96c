"""Measurements, as ratios to a yardstick in the same run. `python -m bench` prints the table."""
