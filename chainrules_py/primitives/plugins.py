"""Loading of packages that support a library, when something of the library is first seen.

A package announces itself by an entry point named after the root module that it supports. It is
imported outside the registry's lock: otherwise two threads, of which one imports and one looks up,
would wait for each other.
"""

from __future__ import annotations

import contextlib
import contextvars
import enum
import functools
import importlib
import os
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from chainrules_py.errors import ContractError, PackageWarning
from chainrules_py.values.caller_frames import warn_program
from chainrules_py.values.structure import _when_seen
from chainrules_py.values.type_info import libraries

CONTRACT = 1
"""The contract of this core; packages state theirs as ``chainrules_contract``."""

BACKENDS = "chainrules_py.backends"
COMPILERS = "chainrules_py.compilers"
ENGINES = "chainrules_py.engines"
RULES = "chainrules_py.rules"
OPERATIONS = "chainrules_py.operations"
OPERATORS = "chainrules_py.operators"


class Layer(enum.IntEnum):
    """Precedence of statements if neither of two rules is more specific: the higher wins."""

    CORE = 0
    ENGINE = 1
    BACKEND = 2
    THIRD_PARTY = 3
    USER = 4


_seen: set[str] = set()
failures: dict[str, str] = {}
"""Announced packages that could not be loaded, with the reason."""


@functools.cache
def announced(group: str) -> tuple[tuple[str, str], ...]:
    """Return name and module of each entry point of a group, sorted."""
    groups = _in_folders()
    if ENGINES in groups:
        return tuple(sorted(set(groups.get(group, ()))))
    import importlib.metadata  # takes 22 ms, mostly for the e-mail parser

    return tuple(
        sorted(
            (entry.name, entry.value.partition(":")[0])
            for entry in importlib.metadata.entry_points(group=group)
        )
    )


@functools.cache
def _in_folders() -> dict[str, list[tuple[str, str]]]:
    """Read the entry points of packages that are installed in folders, by group.

    Return nothing if packages may be found in another way: by another finder, or in a zip file.
    """
    groups: dict[str, list[tuple[str, str]]] = {}
    finders = [f for f in sys.meta_path if hasattr(f, "find_distributions")]
    if [getattr(f, "__name__", "") for f in finders] != ["PathFinder"]:
        return {}
    seen: set[str] = set()
    for folder in sys.path:
        try:
            names = os.listdir(folder or ".")
        except NotADirectoryError:  # a zip file
            return {}
        except OSError:
            continue
        for name in names:
            project = name.partition("-")[0].lower()
            if not name.endswith((".dist-info", ".egg-info")) or project in seen:
                continue
            seen.add(project)  # the first in the path counts
            with (
                contextlib.suppress(OSError),
                open(f"{folder or '.'}/{name}/entry_points.txt", encoding="utf-8") as file,
            ):
                _read_entry_points(file.read(), groups)
    return groups


def _read_entry_points(text: str, groups: dict[str, list[tuple[str, str]]]) -> None:
    group = ""
    for line in map(str.strip, text.splitlines() if "chainrules_py." in text else ()):
        name, equals, value = line.partition("=")
        if line.startswith("["):
            group = line[1:-1].strip()
        elif equals and not line.startswith(("#", ";")):
            module = value.partition(":")[0].strip()
            groups.setdefault(group, []).append((name.strip(), module))


@functools.cache
def _layers() -> dict[str, Layer]:
    layers: dict[str, Layer] = dict.fromkeys(("chainrules_py", "chainrules_kit"), Layer.CORE)
    for group, layer in (
        (OPERATIONS, Layer.BACKEND),
        (ENGINES, Layer.ENGINE),
        (BACKENDS, Layer.BACKEND),
        (RULES, Layer.THIRD_PARTY),
    ):
        layers |= dict.fromkeys([module for _, module in announced(group)], layer)
    return layers


def layer_of(module: str | None) -> Layer:
    """Return the layer of a module: that of its entry point, or else the user's.

    Examples
    --------
    >>> (
    ...     layer_of("chainrules_py.rules.linalg.diagonals_and_triangles").name,
    ...     layer_of("__main__").name,
    ... )
    ('CORE', 'USER')
    """
    root = (module or "").partition(".")[0]
    # The core computes Python's numbers by functions of the standard library. Neither case reads
    # the disk while the core is imported.
    if root == "chainrules_py" or root in sys.stdlib_module_names:
        return Layer.CORE
    return _layers().get(package_of(module), Layer.USER)


def package_of(module: str | None) -> str:
    """Return the announced module that a module is, or is in, or an empty string."""
    name = module or ""
    while name and name not in _layers():
        name = name.rpartition(".")[0]
    return name


def owner_of(module: str | None) -> Layer | str:
    """Return the owner of a module's statements: its layer, or its package for third parties.

    A statement replaces one of the same owner, or is refused. Those of two packages of rules are
    both kept, and their order does not decide between them.
    """
    layer = layer_of(module)
    return package_of(module) if layer is Layer.THIRD_PARTY else layer


def check_contract(module: str | None) -> None:
    """Check the contract of a module's package before the module states anything.

    Raises
    ------
    ContractError
        If it differs from this core's, or is not stated before the rules are.
    """
    if not (module or "").startswith("chainrules_"):
        package = package_of(module)
        if package in sys.modules:
            _check_package(package, sys.modules[package])


def _check_package(package: str, found: Any) -> None:
    stated = getattr(found, "chainrules_contract", None)
    if stated == CONTRACT or (stated is None and package.startswith("chainrules_")):
        return
    write = (
        f"write chainrules_contract = {CONTRACT} in {package}, above what imports its rules"
        if stated is None
        else f"install a version of {package} made for contract {CONTRACT}"
    )
    raise ContractError(
        f"{package} states chainrules_contract = {stated!r}, and this core keeps {CONTRACT}; "
        f"{write}"
    )


def not_loaded(roots: Iterable[str] | None = None) -> list[str]:
    """Return a line with the reason for each package that could not be loaded.

    With ``roots``, only for packages with support for these root modules, or rules.
    """
    pairs = [pair for group in (BACKENDS, RULES) for pair in announced(group)]
    wanted = failures if roots is None else {package for root, package in pairs if root in roots}
    return [f"{package} {reason}" for package, reason in failures.items() if package in wanted]


def see(f: Any, classes: Iterable[type]) -> bool:
    """Load the packages that support the libraries of a function and of its operands' classes.

    Modules that wait for the function's module are imported, too.

    Returns
    -------
    bool
        Whether anything was imported for the first time.
    """
    return see_libraries(f, classes) | see_about(module_of(f))


def see_libraries(f: Any, classes: Iterable[type]) -> bool:
    """Load what `see` loads, except modules that wait for the function's module."""
    roots = {root_of(f), root_of(type(f))}
    for cls in classes:
        roots.update(root_of(base) for base in getattr(cls, "__dispatch_type__", cls).__mro__)
    return see_roots(roots)


def see_roots(roots: set[str]) -> bool:
    """Load the packages that support root modules; return whether there were any.

    A package that cannot be loaded causes one warning.
    """
    loaded = False
    for root in sorted(roots - _seen):
        for group in (BACKENDS, RULES):
            loaded |= _load_announced(group, root)
        _seen.add(root)  # only now: another thread waits at the import until then
    return loaded


_waiting: dict[str, list[str]] = {}
"""The modules to import when something of a module is first seen, by that module."""


def later(module: str, *about: str) -> None:
    """Import a module only when something of certain other modules is first looked up.

    It holds rules, rows or implementations of functions in these modules. They are all entered
    before the look-up continues. A user's rule for one of the functions that was entered earlier
    keeps its precedence, which comes from its layer.

    Parameters
    ----------
    module : str
        The module to import.
    *about : str
        The modules of the functions, as in their ``__module__``, or packages of these.

    Examples
    --------
    >>> later("chainrules_py.rules.special.gamma_and_erf", "chainrules_py.ops.gamma_and_erf")
    """
    for name in about:
        _waiting.setdefault(name, []).append(module)


def see_about(about: str) -> bool:
    """Import the modules that wait for a module, and those that compute its operations.

    Returns
    -------
    bool
        Whether there were any.
    """
    loaded = False
    if "." in about and about not in _seen:  # without a dot it is a root: see `see_helpers`
        loaded = _load_announced(OPERATIONS, about)
        _seen.add(about)
    while about:
        modules = _waiting.get(about, [])
        loaded |= bool(modules)
        for module in tuple(modules):
            importlib.import_module(module)
            with contextlib.suppress(ValueError):  # another thread removed it first
                modules.remove(module)  # only now: another thread waits at the import until then
        about = about.rpartition(".")[0]
    return loaded


def _see_class(cls: type) -> None:
    """Load the packages and modules that may register a class, as an array or a structure."""
    root = root_of(cls)
    for name, module in announced(BACKENDS):
        if name == root and module not in sys.modules:  # else its import may be under way
            see_roots({root})
    # A library's own arrays and scalars are none: what waits for its functions goes on waiting.
    module = str(cls.__module__)  # Cython classes may have another object there
    if not any([base in libraries and base.__module__ == module for base in cls.__mro__]):
        see_about(module)


_when_seen.append(_see_class)


def see_all(root: str | None = None) -> None:
    """Import everything that waits, for one library or for all, as listings require."""
    for about in tuple(_waiting):
        if root in (None, about.partition(".")[0]):
            see_about(about)


def see_helpers(classes: Iterable[type]) -> bool:
    """Load the packages that compute operations that the library of these classes lacks.

    Their entry points are in the group ``chainrules_py.operations``, named after the root module of
    the classes: SciPy has the special functions for NumPy's arrays.

    Returns
    -------
    bool
        Whether there are any.
    """
    roots = {root_of(base) for cls in classes for base in cls.__mro__}
    return any([_load_announced(OPERATIONS, root) for root in sorted(roots)])


met = [0]
"""How many modules were imported when `see_operators` was last called."""


def see_operators() -> None:
    """Import what lets the operators of imported modules answer for traced values.

    A sparse array of SciPy on the left of an operator makes a plain array of what is on its right,
    so that no function here is called before it fails. Entry points are in the group
    ``chainrules_py.operators``, named after the module that defines the operators. Engines call it
    before a function runs, if the number of imported modules is no longer that of `met`.
    """
    met[0] = len(sys.modules)
    for name, _ in announced(OPERATORS):
        if name in sys.modules:
            _load_announced(OPERATORS, name)


def _load_announced(group: str, root: str) -> bool:
    modules = [module for name, module in announced(group) if name == root]
    for module in modules:
        if module not in failures and load(module) is None:
            warn_program(
                f"{module} brings derivatives for {root}, and {failures[module]}; what it states "
                f"after that is missing: import {module} to see where"
                f"{', or uninstall it' if layer_of(module) is Layer.THIRD_PARTY else ''}",
                PackageWarning,
            )
    return bool(modules)


def module_of(thing: Any) -> str:
    """Return the module of a function or class; for a ufunc, which has none, where it is found.

    A ufunc that is not found by its name, such as CuPy's, gives the module of its class. A method
    of a class in C gives the module and the name of that class, and a bound one the module of its
    object.

    Examples
    --------
    >>> import numpy as np, scipy.special
    >>> module_of(np.sin), module_of(scipy.special.erf), module_of(np.add.reduce)
    ('numpy', 'scipy.special', 'numpy')
    """
    if isinstance(owner := getattr(thing, "__objclass__", None), type):
        return f"{owner.__module__}.{owner.__qualname__}"
    module = getattr(thing, "__module__", None)
    name = getattr(thing, "__name__", None)
    if module or not (name and callable(thing)):
        return str(module or "")
    if (owner := getattr(thing, "__self__", None)) is not None:  # as np.add.reduce
        return module_of(owner) or str(type(owner).__module__)
    roots = {root for group in (BACKENDS, RULES) for root, _ in announced(group)}
    homes = [
        where
        for where, module in sorted(sys.modules.items())
        if where.partition(".")[0] in roots and getattr(module, "__dict__", {}).get(name) is thing
    ]
    return min(homes, key=len, default=type(thing).__module__)


def root_of(thing: Any) -> str:
    """Return the root module of a function or class."""
    return module_of(thing).partition(".")[0]


def load(module: str) -> Any:
    """Import an announced module and check its contract; return None if either fails.

    A failure is listed in `failures`, and other look-ups continue.
    """
    if module in failures:
        return None
    try:
        found = importlib.import_module(module)
        _check_package(module, found)
    except (MemoryError, RecursionError, TimeoutError):  # which say nothing about the package
        raise
    except Exception as error:
        failures[module] = f"could not be imported: {type(error).__name__}: {error}"
        return None
    return found


_hosting: contextvars.ContextVar[Any] = contextvars.ContextVar("hosting", default=None)


@contextlib.contextmanager
def hosted(engine: Any) -> Iterator[None]:
    """Make an engine the default one in this context.

    An engine does so where it calls a user's function, which may be written in its own operations,
    which no other engine sees. It has ``vjp`` and ``jvp``.
    """
    before = _hosting.get()
    try:
        _hosting.set(engine)
        yield
    finally:
        _hosting.set(before)


def default_engine() -> Any:
    """Return the default engine, or None if none is installed."""
    # One is loaded only where those before it cannot be.
    return _hosting.get() or next(filter(None, map(load, dict(announced(ENGINES)).values())), None)


def default_compiler() -> Any:
    """Return the package that compiles functions for NumPy, or None if none is installed."""
    return next((load(module) for _, module in announced(COMPILERS)), None)
