"""Checks of a rule, by what is checked."""
