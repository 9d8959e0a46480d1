"""The registry of rules: stating, finding and binding them."""
