"""Binding: a rule made ready for operands of given types, once for all calls like it."""
