"""Module aliases: ``import autograd`` finds this package inside `as_autograd`."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

from chainrules_py.extend import ContractError

HERE = "chainrules_autograd"
ENGINE = f"{HERE}.engine"
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


class as_autograd:  # noqa: N801
    """Make ``import autograd`` find this package inside a ``with`` block.

    Modules that are first imported inside the block keep what they found. This is meant for tests
    of packages that should not be edited. ``as_autograd().__enter__()`` lasts until the end of the
    program.

    Examples
    --------
    >>> from chainrules_autograd import as_autograd
    >>> with as_autograd():
    ...     import autograd.numpy
    ...     from autograd import grad
    >>> grad(lambda x: x**2)(3.0)
    6.0
    """

    # A class, not a generator: one that is entered and then dropped would exit at once.

    _nothing: ModuleType | None = None

    def __enter__(self) -> None:
        # The engine is loaded where an error is explained, and would find these names in place of
        # autograd's: it is loaded now, or, without autograd, not at all.
        try:
            importlib.import_module(ENGINE)
        except (ContractError, ImportError):
            self._nothing = sys.modules[ENGINE] = ModuleType(ENGINE)
        self._before = {name: module for name, module in sys.modules.items() if _is_theirs(name)}
        for name in self._before:
            del sys.modules[name]
        for name in MODULES:
            sys.modules[f"autograd{name}"] = importlib.import_module(HERE + name)
        stats = f"{HERE}.scipy.stats."
        for name in [name for name in sys.modules if name.startswith(stats)]:
            sys.modules[f"autograd{name.removeprefix(HERE)}"] = sys.modules[name]

    def __exit__(self, *_: object) -> None:
        for name in [name for name in sys.modules if _is_theirs(name)]:
            del sys.modules[name]
        sys.modules.update(self._before)
        if self._nothing is not None:
            del sys.modules[ENGINE]


def _is_theirs(name: str) -> bool:
    return name == "autograd" or name.startswith("autograd.")
