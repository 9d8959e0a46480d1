"""Inspection of a tape: text, graphs, kept calls, NaNs."""
