"""Derivatives of functions, as people ask for them."""
