"""Checkpoints: records that are dropped, and made again when the gradient needs them."""
