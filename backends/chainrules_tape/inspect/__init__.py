"""Inspection of a tape: text, kept calls, NaNs."""
