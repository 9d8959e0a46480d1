"""Views into a tape: text, graphs, calls that were kept, NaNs."""
