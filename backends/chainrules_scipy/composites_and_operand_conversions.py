"""Statements of SciPy's functions as composites, refusals, and conversions of their operands."""

from __future__ import annotations

import ast
import copy
import functools
import inspect
import sys
import warnings
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import numpy as np

from chainrules_py import NotDifferentiableError, UnsupportedKeywordError
from chainrules_py import ops as v
from chainrules_py.extend import (
    Tracer,
    Tree,
    advise,
    alias,
    beside,
    closed,
    flatten,
    kind_of,
    moves,
    namespace_of,
    objects,
    type_info,
    unflatten,
    untraced,
    varies,
)
from chainrules_scipy.host_computation import values_of
from chainrules_scipy.installation import (
    DATA,
    F,
    as_recorded,
    is_asked_again,
    joined_call,
    original,
    place,
    place_constructor,
    public_module,
    taken_from,
)

_OTHERS = frozenset("efgFG")


def readable(x: Any) -> Any:
    """Return the values of an array, of any engine, for NumPy and SciPy to read."""
    x = untraced(x)
    return x if type_info(type(x)).host is None else values_of(x)


def asked(x: Any) -> Any:
    """Return the values of an array to test; the array itself if a program repeats the test.

    A program that is being recorded answers a test, and repeats it at each call.
    """
    x = untraced(x)
    return x if is_asked_again(x) else readable(x)


def truths(x: Any) -> Any:
    """Return the results of a test as booleans: some of SciPy's return 1, which is an index."""
    own = np.asarray(x, bool) if not is_asked_again(x) else x
    return own if kind_of(own) == "bool" else own != 0


def method_of(of: Any, name: str, *xs: Any) -> Any:
    """Call a method of a SciPy object on the values of arrays."""
    method, xs = getattr(of, name), tuple(map(asked, xs))
    return undifferentiated(method, *xs) if any(map(is_asked_again, xs)) else method(*xs)


def plainly(x: Any, read: Callable[[Any], Any] = readable) -> Any:
    """Return arguments with plain numbers for traced ones, also in lists, tuples and keywords."""
    if type(x) is dict:
        return {name: plainly(y, read) for name, y in x.items()}
    return type(x)([plainly(y, read) for y in x]) if type(x) in (list, tuple) else read(x)


def undifferentiated(native: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Call SciPy's function without a derivative, also in a program that is being recorded."""
    plain, named = plainly((args, options), asked)
    return (as_recorded(native, plain, named) or native)(*plain, **named)


def in_precision_of(native: Callable[..., Any]) -> Callable[[F], F]:
    """Make a function return its results in the precision of SciPy's (a decorator).

    Examples
    --------
    >>> half = in_precision_of(lambda x: x / 2)(lambda x: x.astype(float) / 2)
    >>> print(half(np.ones(2, np.float32)).dtype, half(np.ones(2)).dtype)
    float32 float64
    """

    def enter(function: Any) -> Any:
        @functools.wraps(function)
        def precise(*args: Any, **options: Any) -> Any:
            if objects:  # an array of objects may hold traced values
                args, options = joined_call(args, options)
            y = function(*args, **options)
            if not any(map(_is_other, (*args, *options.values()))):
                return y
            leaves, tree = flatten(y)
            dtypes = _dtypes_of(native, len(leaves), args, options)
            found = [*map(of_precision, leaves, dtypes)]
            raised = [
                x.dtype
                for x, own in zip(found, leaves, strict=True)
                if x is not own and x.dtype.itemsize > own.dtype.itemsize
            ]
            if raised:  # SciPy computes in this precision, so that its result has all digits of it
                args, options = plainly((args, options), lambda x: of_precision(x, raised[0]))
                found = [*map(of_precision, flatten(function(*args, **options))[0], dtypes)]
            return unflatten(tree, found)

        return precise

    return enter


def of_precision(x: Any, dtype: Any) -> Any:
    """Return an array in the precision of a dtype, real or complex as before."""
    own, plain = getattr(x, "dtype", None), untraced(x)
    is_array = isinstance(plain, (np.ndarray, np.generic)) or is_asked_again(plain)
    if dtype is None or not (isinstance(own, np.dtype) and is_array):
        return x
    dtype = as_precise(own, dtype)
    return x if own == dtype else v.astype(x, dtype=dtype)


def as_precise(own: Any, dtype: Any) -> Any:
    """Return a dtype in the precision of another one, real or complex as before."""
    if own.kind not in "fc" or dtype.kind not in "fc":
        return own
    dtype = np.finfo(dtype).dtype
    return np.result_type(dtype, np.complex64) if own.kind == "c" else dtype


def _is_other(x: Any) -> bool:
    """Return whether an array, or one in a list or tuple, has another precision than double."""
    if type(x) in (list, tuple):
        return any(map(_is_other, x))
    return getattr(getattr(x, "dtype", None), "char", "d") in _OTHERS


_known: dict[Any, Any] = {}
"""The dtypes of SciPy's results, by the function and the kinds of what it was called with."""


def _dtypes_of(native: Callable[..., Any], count: int, *given: Any) -> Any:
    """Return the dtypes of SciPy's results for plain numbers; None for each that has none.

    SciPy's function runs once for arguments of a kind, whose results have the same dtypes.
    """
    unknown = (None,) * count
    try:
        leaves, tree = flatten(plainly(given, asked))
        key = (native, count, tree, *map(_kind, leaves))
        # SciPy would call a function again.
        if key not in _known and all([x is None or isinstance(x, DATA) for x in leaves]):
            args, options = unflatten(tree, copy.deepcopy(leaves))  # SciPy may overwrite them
            with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
                found = [np.asarray(x).dtype for x in flatten(native(*args, **options))[0]]
            if len(_known) > 500:
                _known.clear()
            _known[key] = found if len(found) == count else unknown
        return _known.get(key, unknown)
    except Exception:  # there are no numbers, or SciPy rejects them, and ours has a result
        return unknown


def _kind(x: Any) -> Any:
    """Return what the dtypes of results may depend on: of values, whether a float is 0."""
    if isinstance(x, (np.ndarray, np.inexact)) or is_asked_again(x):
        return x.dtype, x.shape
    is_number = isinstance(x, (float, complex))
    return (type(x), is_number and x == 0) if is_number or not isinstance(x, DATA) else repr(x)


def stands_for(
    native: Callable[..., Any],
    *,
    says: str = "",
    arrays: str = "",
    finite: str = "",
    without: str = "",
    to: Callable[..., Any] | None = None,
    **row: Any,
) -> Callable[[F], F]:
    """Declare a function to be one of SciPy's, for traced values too (a decorator).

    The rule of SciPy's function is then that of this one, and the error of SciPy's function for a
    traced value names this one.

    Parameters
    ----------
    native : callable
        SciPy's function.
    says : str
        The first line of the docstring, if it is not that of the function.
    arrays : str
        Names of parameters that are converted to arrays of floats.
    finite : str
        Names of parameters that are converted to arrays for LAPACK, and checked if
        ``check_finite`` is set.
    without : str
        Names of parameters that must be left at their defaults.
    to : callable, optional
        The target of the alias, if it is not the function itself.
    **row
        Passed to `alias`.
    """
    native = original(native)  # which is replaced where our module is imported while installed

    def enter(function: Any) -> Any:
        if arrays or finite or without:
            function = _of_parameters(native, function, arrays, finite, without)
        function = described(in_precision_of(native)(function), native, says)
        for f in (native, function):
            alias(f, to=function if to is None else to, late=not row, **row)
        place(native, function)
        advise(native, functools.partial(_taken_where_called, native))
        return function

    return enter


def _taken_where_called(native: Any, line: Any) -> str | None:
    """Return the advice to take ours, for a line that calls SciPy's, and none for other functions.

    If the line calls ours, its argument has to be constant, or SciPy's functions that it calls are
    to be replaced too.
    """
    name, called = native.__name__, line.function
    # Others are such as those of `cupyx.scipy`; objects that hold a function have no name.
    home = str(getattr(called, "__module__", "")) if hasattr(called, "__name__") else ""
    if home.startswith("chainrules_tape"):  # as jvp(expm, (a,), (b,))
        return taken_from(native)
    if getattr(called, "__name__", name) != name:
        return None
    if called is native or not home.startswith(("scipy.", "chainrules_")):
        return taken_from(native)
    if "series" in [getattr(line.resolved(x), "engine", "") for x in ast.walk(line.node)]:
        return f"nest jvp, as no Taylor series goes through {name}"
    if getattr(sys.modules[public_module(native)], name, None) is native:
        return f"call chainrules_scipy.install() before: {name} calls other functions of SciPy"
    return (
        f"use ignore_derivatives({{x}}) if that is constant, as {name} with these options has no "
        "derivative in it"
    )


def _of_parameters(native: Any, compute: Any, arrays: str, finite: str, without: str) -> Any:
    """Return a function with SciPy's parameters, from one that takes some of these by name."""
    signature, wanted = inspect.signature(native), inspect.signature(compute).parameters
    arrayed, looked_at, refused = arrays.split(), finite.split(), without.split()
    names = list(signature.parameters)
    kinds = [p.kind for p in signature.parameters.values()]
    # Up to this many positional arguments are bound here, which takes a tenth of the time; none
    # are where a function takes any keyword.
    most = (
        -1 if inspect.Parameter.VAR_KEYWORD in kinds else sum(k < k.VAR_POSITIONAL for k in kinds)
    )
    defaults = {n: p.default for n, p in signature.parameters.items() if p.default is not p.empty}

    @functools.wraps(native)
    def function(*args: Any, **options: Any) -> Any:
        given: Any = defaults | dict(zip(names, args, strict=False)) | options
        if not (
            len(args) <= most
            and len(given) == len(names)
            and options.keys().isdisjoint(names[: len(args)])
        ):
            bound = signature.bind(*args, **options)  # raises, unless there are ``**options``
            bound.apply_defaults()
            given = bound.arguments
        for name in refused:
            if given[name] is not defaults[name] and given[name] is not None:
                reject(
                    f"{native.__name__}({name}=...) has no derivative here; leave it out",
                    UnsupportedKeywordError,
                )
        look = given.get("check_finite", True)
        given |= {n: array_of(given[n]) for n in arrayed if given.get(n) is not None}
        given |= {n: checked(look, given[n])[0] for n in looked_at if given.get(n) is not None}
        return compute(**{name: given.get(name) for name in wanted})

    function.__doc__ = compute.__doc__
    return function


def operations(
    module: Any, arrays: str = "", finite: str = "", without: str = "", **computes: Any
) -> dict[str, Any]:
    """Replace functions of a module by formulas, which take parameters by their names.

    Parameters
    ----------
    module : module
        The module of SciPy.
    arrays, finite, without : str
        As in `stands_for`.
    **computes : callable
        Formulas by the names of the functions, each of some of their parameters.

    Returns
    -------
    dict
        The functions, with all parameters of SciPy's.
    """
    return {
        name: stands_for(native, says=f"Compute SciPy's `{name}`, of traced values too.")(
            _of_parameters(native, compute, arrays, finite, without)
        )
        for name, compute in computes.items()
        for native in [getattr(module, name)]
    }


def reject(message: str, error: type[Exception] = NotDifferentiableError) -> NoReturn:
    """Raise an error with a message."""
    raise error(message)


def one_of(name: str, value: Any, allowed: Any) -> None:
    """Raise for a value of an option that SciPy does not have."""
    if value not in allowed:
        reject(f"{name}={value!r}: there are {', '.join(map(repr, allowed))}", ValueError)


def refused(module: Any, lines: Mapping[str, str]) -> None:
    """Make functions and classes of SciPy refuse traced values, with a line to write instead.

    Parameters
    ----------
    module : module
        The module that defines them; names that it lacks are skipped.
    lines : mapping
        The lines, by name.
    """
    for name, line in lines.items():
        native: Any = getattr(module, name, None)
        says = f"{module.__name__}.{name} has no derivative: {line}"
        if inspect.isclass(native):
            advise(native.__init__, says)
            place_constructor(native, functools.partial(_refuse, says))
        elif native is not None:
            advise(native, says)
            place(native, functools.wraps(native)(functools.partial(_refuse, says)))


def _refuse(says: str, *_: Any, **__: Any) -> NoReturn:
    reject(says)


def attribute(module: str, table: Mapping[str, Any], name: str) -> Any:
    """Return an entry of a module's table, as its ``__getattr__`` does."""
    if name not in table:
        reject(f"module {module!r} has no attribute {name!r}", AttributeError)
    return vars(sys.modules[module]).setdefault(name, table[name])  # where messages look for it


def described(function: F, native: Any, says: str = "") -> F:
    """Put a line, or a function's own docstring, before SciPy's, which describes parameters."""
    theirs = (native.__doc__ or "").strip("\n")
    own = says or (function.__doc__ or "").rstrip()
    function.__doc__ = f"{own}\n\nSciPy's text:\n\n{theirs}"
    return function


def array_of(x: Any, *, floating: bool = True) -> Any:
    """Convert to an array, by default of floats: SciPy also takes lists, integers and numbers."""
    if type(x) is np.ndarray and x.dtype == object:
        x = x.tolist()
    cls = type(x)
    if cls in (list, tuple) and varies(x):
        return v.stack(*[array_of(item, floating=floating) for item in x])
    is_seen = issubclass(cls, Tracer) or is_asked_again(x)
    if is_seen and type_info(cls).is_python_number:
        x = v.lift(x, to=np)
    elif not (is_seen or type_info(cls).is_array):
        x = np.asarray(x)
    home = beside()
    if home is not None and type(x) is np.ndarray:
        x = home.asarray(np.array(x, order="C"))  # tensors take no negative strides
    if not floating or kind_of(x) in ("real", "complex"):
        return x
    return v.astype(x, dtype=np.dtype(float))


def in_kind_of(y: Any, known: Any) -> Any:
    """Return a result without axes as an array or a number, whichever SciPy returns."""
    is_array = isinstance(untraced(y), np.ndarray)
    if np.ndim(y) or isinstance(known, np.ndarray) == is_array:
        return y
    return y[()] if is_array else v.reshape(array_of(y, floating=False)[None], shape=())


def of_values(f: Callable[..., Any], args: Any = ()) -> Callable[..., Any]:
    """Return a function with plain numbers for all that it, and its further arguments, hold.

    SciPy searches with it, and it may make plain arrays: nothing in it is differentiated.
    """
    tree = Tree((closed(f), args))

    def plain(x: Any) -> Any:
        if is_asked_again(untraced(x)):  # it raises here, before SciPy's C code reads a number
            return np.asarray(untraced(x), float)
        return readable(x) if isinstance(x, Tracer) else x

    function, rest = tree.build([plain(x) for x in tree.leaves])
    return lambda *xs: function(*xs, *rest)


def numbers_of(x: Any) -> Any:
    """Convert a function's result to an array of plain floats."""
    if type(x) in (list, tuple) and all([type(item) in (float, np.float64) for item in x]):
        return np.array(x)
    return x if type(x) is np.ndarray and x.dtype == float else readable(array_of(x))


def of_stacks(**cores: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a function of arrays with given numbers of axes take stacks of them (a decorator).

    The number 0 denotes a right-hand side, which is a vector or a matrix.
    """

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        parameters = inspect.signature(function)

        @functools.wraps(function)
        def each(*args: Any, **options: Any) -> Any:
            given = parameters.bind(*args, **options).arguments
            arrays = {n: array_of(given[n]) for n in cores if given.get(n) is not None}
            at = {n: max(x.ndim - (cores[n] or min(x.ndim, 2)), 0) for n, x in arrays.items()}
            if not any(at.values()):
                return function(*args, **options)
            stack = np.broadcast_shapes(*[x.shape[: at[n]] for n, x in arrays.items()])
            if 0 in stack:
                reject(f"{function.__name__} of a stack without matrices has no result", ValueError)
            arrays = {
                n: v.broadcast_to(x, shape=(*stack, *x.shape[at[n] :])) for n, x in arrays.items()
            }
            found = [
                function(**(given | {n: x[i] for n, x in arrays.items()}))
                for i in np.ndindex(*stack)
            ]
            return (
                tuple([_stacked(part, stack) for part in zip(*found, strict=True)])
                if isinstance(found[0], tuple)
                else _stacked(found, stack)
            )

        return each

    return enter


def _stacked(parts: Any, stack: tuple[int, ...]) -> Any:
    y = v.stack(*[array_of(part, floating=False) for part in parts])
    return v.reshape(y, shape=(*stack, *y.shape[1:]))


def constant(native: Callable[..., Any]) -> Callable[..., Any]:
    """Return a piecewise constant function of SciPy, for traced values too.

    It returns indices, ranks, counts or booleans, which have no derivative, as `numpy.argsort`.
    """
    return stands_for(
        native, says=f"Compute SciPy's `{native.__name__}`, which is constant but for jumps."
    )(functools.wraps(native)(functools.partial(undifferentiated, native)))


_OF_LAPACK = {"e": np.dtype("f"), "g": np.dtype("d"), "G": np.dtype("D")}


def of_lapack(x: Any) -> Any:
    """Convert to a dtype that LAPACK computes in: SciPy also takes half and long floats.

    Derivatives are also computed in that dtype, and returned in the precision of x.
    """
    x = array_of(x)
    dtype = _OF_LAPACK.get(getattr(x.dtype, "char", ""))
    return x if dtype is None else v.astype(x, dtype=dtype)


def checked(check_finite: bool, *arrays: Any) -> tuple[Any, ...]:
    """Return the arguments as arrays; raise for infinities and NaN if ``check_finite`` is set.

    Raises
    ------
    ValueError
        If an array is not finite, as SciPy does.
    """
    found = tuple(map(of_lapack, arrays))
    if check_finite:
        for x in map(untraced, found):
            if isinstance(x, np.ndarray):  # reading arrays of a device would wait for it
                np.asarray_chkfinite(x)
            elif is_asked_again(x):
                _ask_whether_finite(x)
    return found


def _ask_whether_finite(x: Any) -> None:
    """Raise for infinities and NaN at each call of a program that is being recorded."""
    library = type_info(type(x)).library
    if library.namespace is not np or library.finite is None or library.finite(x):
        return
    if not v.all(v.isfinite(x)):  # ``finite`` is also False for numbers too large to square
        reject("array must not contain infs or NaNs", ValueError)


def adjoint(x: Any) -> Any:
    """Return the adjoint of each matrix."""
    return v.conj(v.matrix_transpose(x))


def of_phase(V: Any, known: Any) -> Any:
    """Give vectors the phases of SciPy's, which are free, and constant here."""
    overlap = np.sum(np.conj(asked(V)) * known, axis=-2, keepdims=True)
    phase = np.sign(overlap + (overlap == 0))  # 0 where equal eigenvalues have other vectors
    return V * (phase if kind_of(known) == "complex" else phase.real)


def complex_of(x: Any) -> Any:
    """Convert eigenvalues to complex numbers, as SciPy's are even if all are real."""
    xp = namespace_of(type(x))
    return v.astype(x, dtype=xp.result_type(x.dtype, xp.complex64))


def static(axis: Any) -> Any:
    """Return an axis, or several, as a static argument of an operation."""
    if axis is None:
        return None
    return int(axis) if np.ndim(axis) == 0 else tuple(map(int, axis))


def part(x: Any, axis: int, start: int | None, stop: int | None, step: int = 1) -> Any:
    """Take a slice along one axis."""
    return x[(slice(None),) * (axis % x.ndim) + (slice(start, stop, step),)]


def nested(*xs: Any) -> int:
    """Count the levels of differentiation around values; a series carries several.

    Each value may belong to a level of its own: the mixed derivative of `f(x, y)` by two nested
    differentiations has the order 2, though each of x and y has one level. Other engines do not
    tell how often they differentiate.
    """
    orders = {}
    for x in xs:
        while isinstance(x, Tracer):
            orders[x.level], x = getattr(x, "orders", 1), x.__payload__
        if moves(x):
            reject(
                "a number that SciPy finds by a search is differentiated by chainrules_tape alone, "
                "which counts the orders of derivatives: use its grad or jvp, or write "
                "chainrules_py.ops.root(equation, start, *operands)"
            )
    return sum(orders.values())


def anchored(value: Any, moving: Any) -> Any:
    """Return another value with the derivatives of a traced one."""
    return (moving - untraced(moving)) + value  # the value may be a NumPy array on the right


def along(matrix: Any, x: Any, axis: int) -> Any:
    """Multiply an array by a matrix along one axis, which is not counted from the end."""
    y = v.tensordot(matrix, x, axes=((1,), (axis,)))
    return v.permute_dims(y, axes=(*range(1, axis + 1), 0, *range(axis + 1, y.ndim)))


def added_up(data: Any, places: Any, shape: tuple[int, ...]) -> Any:
    """Return an array of zeros with numbers added to it, each at its index."""
    index, at = v.Index.split(places)
    return v.scatter_add(v.full_like(data, shape=shape, fill=0), data, *at, index=index)


def permutation_of(pivots: Any) -> Any:
    """Return the order of rows after exchanging row i with row pivots[i], one by one."""
    rows = np.broadcast_to(np.arange(pivots.shape[-1]), pivots.shape).copy()
    for here in np.ndindex(pivots.shape):
        there = (*here[:-1], pivots[here])
        rows[here], rows[there] = rows[there], rows[here]
    return rows
