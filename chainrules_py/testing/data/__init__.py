"""Data of the judge: libraries, operands, calls, coordinates, values and their differences."""
