"""Formulas that several rules share."""
