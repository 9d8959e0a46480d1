"""Public functions: gradients, pullbacks, Jacobians and hooks."""
