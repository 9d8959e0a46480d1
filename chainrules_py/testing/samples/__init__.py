"""The samples, one module per family, under the same names as the rules."""
