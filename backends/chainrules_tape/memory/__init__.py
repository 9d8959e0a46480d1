"""Memory of traced arrays: who may write to it, and who sees that."""
