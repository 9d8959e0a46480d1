"""autograd's own module names, for as long as somebody asks for it."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Iterator

HERE = "chainrules_like_autograd"
MODULES = (
    "",
    ".builtins",
    ".core",
    ".differential_operators",
    ".extend",
    ".misc",
    ".misc.fixed_points",
    ".misc.flatten",
    ".misc.optimizers",
    ".numpy",
    ".numpy.fft",
    ".numpy.linalg",
    ".numpy.numpy_boxes",
    ".numpy.numpy_vjps",
    ".numpy.random",
    ".scipy",
    ".scipy.integrate",
    ".scipy.linalg",
    ".scipy.signal",
    ".scipy.special",
    ".scipy.stats",
    ".test_util",
    ".tracer",
    ".wrap_util",
)


@contextlib.contextmanager
def as_autograd() -> Iterator[None]:
    """Let ``import autograd`` find this package, as long as the block lasts.

    Modules that are imported in it for the first time keep what they found. It is meant for tests
    of packages that one does not want to edit.

    Examples
    --------
    >>> from chainrules_like_autograd import as_autograd
    >>> with as_autograd():
    ...     import autograd.numpy
    ...     from autograd import grad
    >>> grad(lambda x: x**2)(3.0)
    6.0
    """

    def is_theirs(name: str) -> bool:
        return name == "autograd" or name.startswith("autograd.")

    before = {name: module for name, module in sys.modules.items() if is_theirs(name)}
    for name in before:
        del sys.modules[name]
    for name in MODULES:
        sys.modules[f"autograd{name}"] = importlib.import_module(HERE + name)
    stats = f"{HERE}.scipy.stats."
    for name in [name for name in sys.modules if name.startswith(stats)]:
        sys.modules[f"autograd{name.removeprefix(HERE)}"] = sys.modules[name]
    try:
        yield
    finally:
        for name in [name for name in sys.modules if is_theirs(name)]:
            del sys.modules[name]
        sys.modules.update(before)
