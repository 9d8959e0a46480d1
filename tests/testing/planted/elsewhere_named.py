"""A number and a helper for rules of another file."""

from __future__ import annotations

PLACE = 37.0


def is_special(x):
    return x == PLACE
