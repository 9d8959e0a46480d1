"""NumPy's functions beyond the operations, written in operations, for all libraries like NumPy."""

__all__: list[str] = []
