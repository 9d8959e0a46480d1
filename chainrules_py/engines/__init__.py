"""Engines' use of rules: frule and rrule, guards, the default engine, and exports."""
