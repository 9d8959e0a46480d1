"""Functions whose calls engines see: primitives, aliases of library functions, closures."""
