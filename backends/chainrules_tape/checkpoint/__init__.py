"""Checkpoints: records that are dropped and recomputed when the gradient needs them."""
