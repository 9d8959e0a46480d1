"""Benchmarks: ``make bench`` runs them, ``python -m benchmarks.report`` prints one table."""
