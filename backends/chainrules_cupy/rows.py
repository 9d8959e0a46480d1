"""The rows of CuPy's functions."""

__all__: list[str] = []
