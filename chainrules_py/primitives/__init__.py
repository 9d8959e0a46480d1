"""Functions that engines see being called: primitives, their aliases in libraries, their closures."""
