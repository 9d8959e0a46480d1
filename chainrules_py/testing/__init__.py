"""The judge of rules."""
