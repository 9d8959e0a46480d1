"""The tape: records of calls, variables, and the pass back over them."""
