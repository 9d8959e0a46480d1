"""Functions that engines see being called: primitives, aliases in libraries, closures."""
