"""MLX as an engine: functions with rules as functions that MLX transforms."""
