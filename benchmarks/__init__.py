"""Benchmarks, run by asv in the existing environment: ``make bench``; one table: ``python -m benchmarks.report``."""
