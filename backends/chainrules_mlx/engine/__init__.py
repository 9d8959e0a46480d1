"""Functions with rules as functions that MLX transforms."""
