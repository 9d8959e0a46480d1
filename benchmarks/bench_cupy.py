"""On a GPU: a network's value and gradient, and a chain of twenty operations.

``python -m benchmarks.bench_cupy`` prints the table; without a GPU nothing is timed.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from benchmarks.timing import medians, ratio
from chainrules_py.ops import log_softmax
from chainrules_tape import value_and_grad

Program = Callable[[], Any]


class Size(NamedTuple):
    """Sizes of the two programs."""

    layers: tuple[int, ...] = (784, 512, 512, 10)
    batch: int = 1024
    elements: int = 10_000_000


def library() -> Any:
    """CuPy, where it has a GPU."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            cupy = importlib.import_module("cupy")
    except ImportError as error:
        raise NotImplementedError from error  # how asv is told to skip
    if not cupy.is_available():
        raise NotImplementedError("there is no GPU")
    return cupy


# ---------------------------------------------------------------------------------- a network


def network(cp: Any, size: Size) -> tuple[Any, Any, list[Any]]:
    """Make samples, their classes as rows of zeros with a one, and weights and biases by layer."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((size.batch, size.layers[0]))
    classes = np.eye(size.layers[-1])[rng.integers(0, size.layers[-1], size.batch)]
    parameters = []
    for n, m in zip(size.layers, size.layers[1:], strict=False):
        # At 0 engines differ in the derivative of max(x, 0): no unit is to be there.
        parameters += [rng.standard_normal((n, m)) / np.sqrt(n), np.full(m, 0.01)]
    x, classes, *parameters = [cp.asarray(a, dtype=np.float32) for a in (x, classes, *parameters)]
    return x, classes, parameters


def network_by_tape(cp: Any, size: Size) -> Program:
    """Build the network's loss and gradient by the tape."""
    x, classes, parameters = network(cp, size)

    def loss(parameters: list[Any]) -> Any:
        h = x
        for w, b in zip(parameters[:-2:2], parameters[1:-2:2], strict=True):
            h = np.maximum(h @ w + b, 0)
        z = h @ parameters[-2] + parameters[-1]
        return -np.sum(classes * log_softmax(z, axis=1)) / len(x)

    both = value_and_grad(loss)
    return lambda: both(parameters)


def network_by_hand(cp: Any, size: Size) -> Program:
    """Build the network's loss and gradient by CuPy alone."""
    x, classes, parameters = network(cp, size)
    weights, biases = parameters[::2], parameters[1::2]

    def both() -> Any:
        inputs = [x]
        for w, b in zip(weights[:-1], biases[:-1], strict=True):
            inputs.append(cp.maximum(inputs[-1] @ w + b, 0))
        z = inputs[-1] @ weights[-1] + biases[-1]
        z = z - z.max(axis=1, keepdims=True)
        exponentials = cp.exp(z)
        total = exponentials.sum(axis=1, keepdims=True)
        value = -(classes * (z - cp.log(total))).sum() / len(x)
        bar = (exponentials / total - classes) / len(x)
        found = []
        for h, w in zip(inputs[::-1], weights[::-1], strict=True):
            found += [bar.sum(axis=0), h.T @ bar]
            if h is not x:
                bar = (bar @ w.T) * (h > 0)
        return value, found[::-1]

    return both


def network_by_torch(cp: Any, size: Size) -> Program:
    """Build the network's loss and gradient by PyTorch, on the same device."""
    try:
        torch = importlib.import_module("torch")
    except ImportError as error:
        raise NotImplementedError from error
    if cp.is_available() and not torch.cuda.is_available():
        raise NotImplementedError("PyTorch has no GPU")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    x, classes, parameters = network(np, size)
    x, classes = [torch.tensor(a, device=device) for a in (x, classes)]
    parameters = [torch.tensor(p, device=device, requires_grad=True) for p in parameters]

    def both() -> Any:
        h = x
        for w, b in zip(parameters[:-2:2], parameters[1:-2:2], strict=True):
            h = torch.relu(torch.addmm(b, h, w))
        z = torch.addmm(parameters[-1], h, parameters[-2])
        loss = -(classes * torch.log_softmax(z, 1)).sum() / len(x)
        return loss, list(torch.autograd.grad(loss, parameters))

    return both


# ------------------------------------------------------------------------------------ a chain

_ROUNDS = 10


def chain(x: Any) -> Any:
    """Twenty operations."""
    for _ in range(_ROUNDS):
        x = np.sin(x) * 1.01
    return x


def chain_by_tape(cp: Any, size: Size) -> Program:
    """Build the chain by the tape."""
    x = cp.linspace(0.0, 1.0, size.elements, dtype=np.float32)
    both = value_and_grad(lambda x: np.sum(chain(x)))
    return lambda: both(x)


def chain_by_hand(cp: Any, size: Size) -> Program:
    """Build the chain and its gradient by CuPy alone, operation by operation."""
    x = cp.linspace(0.0, 1.0, size.elements, dtype=np.float32)

    def both() -> Any:
        inputs = [x]
        for _ in range(_ROUNDS):
            inputs.append(cp.sin(inputs[-1]) * 1.01)
        bar = cp.ones_like(x)
        for y in inputs[-2::-1]:
            bar = bar * 1.01 * cp.cos(y)
        return inputs[-1].sum(), bar

    return both


NETWORK: dict[str, Any] = {
    "CuPy by hand": network_by_hand,
    "chainrules_py": network_by_tape,
    "PyTorch": network_by_torch,
}
CHAIN: dict[str, Any] = {
    "CuPy by hand": chain_by_hand,
    "chainrules_py": chain_by_tape,
}


def finished(program: Program) -> Program:
    """Wrap a program so that it ends only when the device is done."""
    cp = library()

    def run() -> Any:
        y = program()
        cp.cuda.Device().synchronize()  # whoever's stream it was
        return y

    return run


class _Programs:
    programs: dict[str, Any]

    def setup(self, by: str) -> None:
        cp = library()
        self.run = finished(self.programs[by](cp, Size()))
        self.by_hand = finished(self.programs["CuPy by hand"](cp, Size()))
        self.run()

    def time_value_and_gradient(self, by: str) -> None:
        self.run()

    def track_ratio_to_cupy_by_hand(self, by: str) -> float:
        return ratio(self.run, self.by_hand, rounds=25)

    track_ratio_to_cupy_by_hand.unit = "times"  # type: ignore[attr-defined]


class Network(_Programs):
    """784-512-512-10, a batch of 1024, single precision."""

    programs = NETWORK
    params = (tuple(NETWORK),)
    param_names = ("engine",)


class Chain(_Programs):
    """Twenty operations on ten million elements."""

    programs = CHAIN
    params = (tuple(CHAIN),)
    param_names = ("engine",)


def main() -> None:
    """Print the times, in milliseconds, and how many times longer than by hand each takes."""
    try:
        cp = library()
    except NotImplementedError as error:
        raise SystemExit(str(error)) from None
    for title, programs in (("network", NETWORK), ("chain", CHAIN)):
        runs = {}
        for name, make in programs.items():
            try:
                runs[name] = finished(make(cp, Size()))
            except NotImplementedError as error:
                print(f"{title:8} {name:22} {error}")
        found = medians(runs, seconds=0.05)
        for name, seconds in found.items():
            times = seconds / found["CuPy by hand"]
            print(f"{title:8} {name:22} {1e3 * seconds:9.3f} ms {times:6.2f}x")


if __name__ == "__main__":
    main()
