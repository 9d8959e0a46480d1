"""Programs of other frameworks that use exported rules."""
