"""Reports: findings, the names of mistakes in them, and their summaries."""
