"""Data of the checks: libraries, operands, calls, coordinates, values and their differences."""
