"""Fast paths for frequent calls; each can be removed."""
