"""JAX as an engine: rules in its functions, and its functions in rules."""
