"""Benchmarks, run by asv in the existing environment: ``make bench``."""
