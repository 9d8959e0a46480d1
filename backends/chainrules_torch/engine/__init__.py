"""PyTorch as an engine: rules in its functions, its functions in rules."""
