"""Rules of words that are given functions."""
