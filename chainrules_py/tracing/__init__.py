"""Tracers: arrays that record operations on them, in any mode of differentiation."""
