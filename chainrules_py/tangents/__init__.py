"""Tangents and cotangents: zeros, thunks, structures of them, and the spaces they lie in."""
