"""Rules of operations that are given functions."""
