"""What a derivative costs: single operations and small functions, one by one."""

from __future__ import annotations

from benchmarks import costs


class Operations:
    """A hundred of an operation with their derivatives."""

    params = tuple(costs.OPERATIONS)
    param_names = ("operation",)

    def setup(self, name: str) -> None:
        self.call = costs.chained(name, 100)
        self.call()

    def time_chain_of_100(self, name: str) -> None:
        self.call()

    def track_calls(self, name: str) -> float:
        return (costs.calls(costs.chained(name, 11)) - costs.calls(costs.chained(name, 1))) / 10


class Functions:
    """Derivatives of small functions."""

    params = tuple(costs.FUNCTIONS)
    param_names = ("function",)

    def setup(self, name: str) -> None:
        self.call = costs.FUNCTIONS[name]()
        self.call()

    def time_derivative(self, name: str) -> None:
        self.call()

    def track_calls(self, name: str) -> int:
        return costs.calls(self.call)
