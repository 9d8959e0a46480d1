"""Reports: findings, the patterns that they are told by, and sums of them."""
