"""Binding: specialising a rule for operands of given types, once for all such calls."""
