"""Closure conversion: values that a function captured become operands."""
