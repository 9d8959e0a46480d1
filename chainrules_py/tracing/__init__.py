"""Tracers: arrays that record what is done with them, in any mode of differentiation."""
