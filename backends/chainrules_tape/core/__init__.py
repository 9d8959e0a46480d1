"""Core of the tape: records of calls, variables, and the backward pass."""
