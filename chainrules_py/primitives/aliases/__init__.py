"""Aliases: which operation each library function is, and where its arguments go."""
