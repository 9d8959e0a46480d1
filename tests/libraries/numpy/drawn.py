"""Calls of NumPy's functions, drawn from their rows: each with any of its options, of any operands.

What a row does not say is what an option may be: `CHOICES` has values for each name, some of which
NumPy refuses. A call is made plainly, and traced; `differs` says in what the two are not the same.
"""

from __future__ import annotations

import dataclasses
import functools
import warnings
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from chainrules_py import ChainRulesError
from chainrules_py.extend import joined, map_leaves, untraced
from chainrules_py.primitives.aliases.alias import aliases
from chainrules_py.primitives.plugins import see, see_all
from chainrules_py.primitives.signature import REQUIRED
from chainrules_tape import vjp

see(None, (np.ndarray,))
see_all()

FLOATS = ("f8", "f4", "f2", "g", "D", "F")
WHOLE = ("i8", "i4", "i1", "u1", "u8", "?")
SHAPES: tuple[tuple[int, ...], ...] = (
    (),
    (1,),
    (3,),
    (20,),
    (2, 3),
    (3, 3),
    (3, 1),
    (9, 11),
    (2, 3, 4),
    (0,),
    (0, 3),
)
DTYPES = (
    *("f2", "f4", "f8", "g", "F", "D", "i1", "i2", "i4", "i8", "u1", "u4", "u8", "?"),
    *(float, int, bool, complex, ">f8", "float32", None),
)
AXES = (None, 0, 1, -1, -2, 2, (0,), (1,), (0, 1), (-1, 0), (), [0], np.int64(0), True)
TEXTS: dict[str, tuple[Any, ...]] = {
    "norm": (None, "ortho", "forward", "backward", "other"),
    "method": (
        *("linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf", "hazen", "weibull"),
        *("averaged_inverted_cdf", "closest_observation", "median_unbiased", "other"),
    ),
    "mode": ("raise", "wrap", "clip", "full", "same", "valid", "constant", "edge", "reflect"),
    "order": ("C", "F", "A", "K", None),
    "kind": (None, "stable", "quicksort", "introselect"),
    "casting": ("same_kind", "unsafe", "no"),
    "side": ("left", "right"),
    "indexing": ("xy", "ij"),
    "UPLO": ("L", "U"),
    "trim": ("f", "b", "fb"),
    "reflect_type": ("even", "odd"),
}
TRUTHS = (
    *("keepdims", "include_initial", "endpoint", "retstep", "returned", "rowvar", "bias", "deg"),
    *("right", "increasing", "tensor", "equal_nan", "copy", "sparse", "hermitian", "full_matrices"),
    *("compute_uv", "upper", "assume_unique", "invert", "density", "stable", "full", "wrap"),
    *("return_index", "return_inverse", "return_counts", "return_indices", "sorted", "optimize"),
)
CHOICES: dict[str, tuple[Any, ...]] = {
    **TEXTS,
    **dict.fromkeys(TRUTHS, (True, False)),
    **dict.fromkeys(("axis1", "axis2", "source", "destination", "axisa", "axisb"), (0, 1, -1)),
    **dict.fromkeys(("k", "offset", "M", "n", "m", "shift", "start"), (0, 1, 2, -1, 3)),
    **dict.fromkeys(("N", "num", "deg", "minlength", "columns"), (0, 1, 2, 3, 5)),
    **dict.fromkeys(("ddof", "correction"), (0, 1, 2, 0.5, 30)),
    **dict.fromkeys(("shape", "new_shape", "newshape"), (-1, (-1,), (1, -1), 6, (3, 2), (3,), ())),
    **dict.fromkeys(("reps", "repeats"), (2, 0, (2, 1), [1, 2, 0])),
    **dict.fromkeys(("indices", "obj", "ind"), (0, [0, -1], np.array([1, 0, 2]), [[0, 1]], 7)),
    **dict.fromkeys(("atol", "rtol", "tol", "rcond"), (1e-8, 0.0, 1e-3)),
    "indices_or_sections": (1, 2, 3, [1], [1, 2]),
    "axis": AXES,
    "axes": (None, 0, 1, 2, (0, 1), (1, 0), [0], ([0], [0]), (-2, -1)),
    "dtype": DTYPES,
    "decimals": (0, 1, -1, 3),
    "kth": (0, 1, -1, (0, 1)),
    "q": (0.5, 0.0, 1, 0.25, [0.1, 0.7], [0.5], np.array(0.3), np.float32(0.7), [[0.2]], 1.5),
    "ord": (None, 1, 2, np.inf, -np.inf, -1, 0, 3, "fro", "nuc"),
    "p": (None, 1, 2, np.inf, "fro"),
    "s": (None, (2,), (4,), (2, 3)),
    "pad_width": (1, (1, 2), ((1, 0), (0, 2)), 0),
    "window_shape": (1, 2, (2,), (2, 2)),
    "window": (1, 2),
    "base": (10.0, 2, np.float32(3)),
    "dx": (1.0, 0.5, 2, np.float32(0.1)),
    "discont": (None, 1.0),
    "period": (6.28, 2, np.float32(3)),
    "edge_order": (1, 2, 3),
    "stat_length": (None, 1, 2),
    "bins": (3, 10, [0.0, 1.0, 2.0]),
    "range": (None, (0.0, 2.0), (1, 3)),
    "ndmin": (0, 1, 3),
    "to": ("f4", int),
    "sorter": (None,),
    "order_by": (None,),
    "requirements": (None, "C", ["O"]),
}
ONE_OF_MANY = {"arrays", "tup", "choices", "xi", "values", "args", "condlist", "choicelist"}
NUMBERS = {
    *("initial", "nan", "posinf", "neginf", "left", "right", "fill_value", "constant_values"),
    *("end_values", "a_min", "a_max", "min", "max", "lo", "hi", "prepend", "append", "default"),
    *("to_begin", "to_end", "period", "step", "start_or_stop", "stop", "start"),
}
UNTRIED = {"out", "like", "device", "subok", "overwrite_input", "max_work", "signature", "stream"}
OF_MEMORY = (
    "empty",
    "empty_like",
    "may_share_memory",
    "shares_memory",
    "as_strided",
    "einsum_path",
)
WITH_FUNCTIONS = ("apply_along_axis", "apply_over_axes", "piecewise")
WRITING = ("copyto", "putmask", "place", "put", "put_along_axis", "fill_diagonal", "at", "fill")


def _numbers(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Any:
    code = np.dtype(dtype)
    if code.kind == "b":
        return np.asarray(rng.integers(0, 2, shape) > 0)
    if code.kind in "iu":
        large = rng.random() < 0.3
        x: Any = rng.integers(0, 120, shape) if large else rng.integers(0, 7, shape)
        x = x if code.kind == "u" or rng.random() < 0.5 else -x
        return np.asarray(x).astype(code)
    x = rng.normal(size=shape) * (1.0 if rng.random() < 0.8 else 50.0)
    if rng.random() < 0.2:
        x = np.abs(np.round(x))
    x = np.asarray(x + 1j * rng.normal(size=shape) if code.kind == "c" else x).astype(code)
    if x.size > 1 and rng.random() < 0.1:
        x.reshape(-1)[rng.integers(x.size)] = rng.choice([np.nan, np.inf, -0.0])
    return x


def draw_operand(rng: np.random.Generator, near: Any = None) -> Any:
    """Draw an array, a scalar of NumPy's, a number of Python's or a list; maybe like another."""
    dtype = str(rng.choice(FLOATS if rng.random() < 0.7 else WHOLE))
    kind = rng.random()
    if kind < 0.1:
        return (float, int, complex)[rng.integers(3)](int(rng.integers(1, 5))) * 0.7
    shape = SHAPES[rng.integers(len(SHAPES))]
    if near is not None and rng.random() < 0.7:
        shape = np.shape(near)
        dtype = dtype if rng.random() < 0.3 or not hasattr(near, "dtype") else near.dtype.str
    if kind < 0.25:
        return _numbers(rng, (), dtype)[()]
    x = _numbers(rng, shape, dtype)
    if x.ndim > 1 and rng.random() < 0.15:
        return np.asfortranarray(x)
    return x


def _number(rng: np.random.Generator, near: Any) -> Any:
    return (
        *(0, 1, 2, -1, 0.5, 1.5, -np.inf, np.inf, 1j, True, 300),
        *(np.float32(1.5), np.float64(0.3), np.int8(2), np.array(0.7)),
    )[rng.integers(15)]


def _where(rng: np.random.Generator, near: Any) -> Any:
    kind, shape = rng.random(), np.shape(near)
    if kind < 0.1:
        return bool(rng.integers(2))
    if kind < 0.3 and shape:
        shape = (*(1,) * (len(shape) - 1), shape[-1])
    return rng.random(shape) < 0.7


@dataclasses.dataclass
class DrawnCall:
    """Call of a function: its operands by place, its keywords, and which of them is traced."""

    native: Callable[..., Any]
    operands: tuple[Any, ...]
    keywords: dict[str, Any]
    traced: Any
    at: int | None = None

    def given(self) -> Any:
        """Return what is traced: an argument, or one of the arrays in a list."""
        x = self.operands[self.traced] if type(self.traced) is int else self.keywords[self.traced]
        return x if self.at is None else x[self.at]

    def __call__(self, x: Any) -> Any:
        """Make the call with another value in the place of what is traced."""
        if self.at is not None:
            held: Any = (
                self.operands[self.traced]
                if type(self.traced) is int
                else self.keywords[self.traced]
            )
            x = [*held[: self.at], x, *held[self.at + 1 :]]
        operands, keywords = list(self.operands), dict(self.keywords)
        if type(self.traced) is int:
            operands[self.traced] = x
        else:
            keywords[self.traced] = x
        if type(self.native).__name__ == "getset_descriptor":
            return self.native.__get__(*operands)
        return self.native(*operands, **keywords)

    def __repr__(self) -> str:
        shown = [_shown(x) for x in self.operands]
        shown += [f"{name}={_shown(x)}" for name, x in self.keywords.items()]
        return f"{name_of(self.native)}({', '.join(shown)}) of argument {self.traced!r}"


def _shown(x: Any) -> str:
    if isinstance(x, np.ndarray) and x.size > 4:
        return f"<{x.dtype.str}{x.shape}>"
    return repr(x).replace("\n", "")


def name_of(native: Any) -> str:
    """Name a function as users write it."""
    owner = getattr(native, "__self__", None)
    name = getattr(native, "__qualname__", None) or native.__name__
    if isinstance(owner, np.ufunc):
        return f"{owner.__name__}.{native.__name__}"
    module = (getattr(native, "__module__", None) or "numpy").removeprefix("numpy")
    return f"{module.lstrip('.')}.{name}".lstrip(".")


def is_numpys(native: Any) -> bool:
    """Tell whether a function, or what it is a method of, is NumPy's."""
    ufunc = native if isinstance(native, np.ufunc) else getattr(native, "__self__", None)
    if isinstance(ufunc, np.ufunc):  # SciPy's write out of bounds at some of such numbers
        return getattr(np, ufunc.__name__, None) is ufunc
    owner = getattr(native, "__objclass__", None)
    module = getattr(native, "__module__", None) or getattr(owner, "__module__", "")
    return (module or "").partition(".")[0] == "numpy"


def _drawable(native: Any, row: Any) -> bool:
    name = name_of(native).rpartition(".")[2]
    return (
        bool(row.names)
        and name not in (*OF_MEMORY, *WITH_FUNCTIONS, *WRITING)
        and "ma." not in (name_of(native))
    )


@functools.cache
def drawable() -> dict[str, Any]:
    """Return the rows that calls can be drawn for, by the name of the function."""
    found: dict[str, Any] = {}
    for native, row in aliases.items():
        if is_numpys(native) and _drawable(native, row):
            found.setdefault(name_of(native), row)
    return found


def _value(rng: np.random.Generator, name: str, near: Any) -> Any:
    if name == "where":
        return _where(rng, near)
    if name in ONE_OF_MANY:
        return [draw_operand(rng, near) for _ in range(rng.integers(1, 4))]
    if name in NUMBERS and rng.random() < 0.7:
        return _number(rng, near)
    if name in ("mean", "weights") and rng.random() < 0.3:
        return np.abs(draw_operand(rng, near))
    choices = CHOICES.get(name)
    if choices is None:
        return draw_operand(rng, near)
    return choices[rng.integers(len(choices))]


def draw_call(row: Any, rng: np.random.Generator) -> DrawnCall | None:
    """Draw one call of a row's function."""
    near: Any = None
    operands: list[Any] = []
    keywords: dict[str, Any] = {}
    holes = False
    options = float(rng.choice([0.0, 0.2, 0.5]))
    for place, name in enumerate(row.names):
        if name in UNTRIED:
            holes = True
            continue
        first = place == 0 or (place == 1 and name in ("a", "arr") and near is None)
        required = first or (
            name in row.positional
            and row.defaults.get(name, REQUIRED) in (REQUIRED, None)
            and (isinstance(row.native, np.ufunc) or row.defaults.get(name, REQUIRED) is REQUIRED)
        )
        required |= name in ("b", "B", "pad_width", "v", "indices", "condition", "repeats") and (
            row.defaults.get(name) is None
        )
        if not required and rng.random() >= options:
            holes = True
            continue
        fresh = place == 0 and name not in ONE_OF_MANY and name not in ("shape", "N", "n", "deg")
        value = draw_operand(rng) if fresh else _value(rng, name, near)
        near = value if near is None and hasattr(value, "shape") else near
        if not holes and name in row.positional:
            operands.append(value)
        else:
            keywords[name] = value
    places: list[tuple[Any, int | None]] = []
    arguments: list[tuple[Any, Any]] = [*enumerate(operands), *keywords.items()]
    for where, x in arguments:
        if _moves(x) and where not in ("where", "dtype") and not _is_option(row, where):
            places.append((where, None))
        elif type(x) is list:
            places += [(where, i) for i, y in enumerate(x) if hasattr(y, "dtype")]
    if not places:
        return None
    return DrawnCall(row.native, tuple(operands), keywords, *places[rng.integers(len(places))])


def _is_option(row: Any, where: Any) -> bool:
    name = where if type(where) is str else list(row.names)[where]
    return name in CHOICES and where != 0


def _moves(x: Any) -> bool:
    return isinstance(x, (np.ndarray, np.inexact, float, complex)) and np.result_type(x).kind != "b"


# --------------------------------------------------------------------------------- what is compared


def _leaves(y: Any) -> Iterator[Any]:
    if isinstance(y, (tuple, list)):
        for part in y:
            yield from _leaves(part)
    else:
        yield y


QUESTIONS: dict[str, Callable[[Any], Any]] = {
    "a float": lambda y: isinstance(y, float),
    "an int": lambda y: isinstance(y, int),
    "a complex": lambda y: isinstance(y, complex),
    "an np.ndarray": lambda y: isinstance(y, np.ndarray),
    "an np.generic": lambda y: isinstance(y, np.generic),
    "a scalar": np.isscalar,
}


def _facts(y: Any) -> list[tuple[Any, list[Any]]]:
    return [(untraced(leaf), [ask(leaf) for ask in QUESTIONS.values()]) for leaf in _leaves(y)]


def _unlike(found: Any, wanted: Any) -> str | None:
    """Say in what a value is not another, or None: to the bit, but for the sign of NaN."""
    if not hasattr(wanted, "dtype"):
        same = found == wanted or found is wanted or (found != found and wanted != wanted)
        return None if same else f"value {found!r}, not {wanted!r}"
    if not hasattr(found, "dtype"):
        return f"class {type(found).__name__}, not {type(wanted).__name__}"
    if found.dtype != wanted.dtype:
        return f"dtype {found.dtype}, not {wanted.dtype}"
    if found.shape != wanted.shape:
        return f"shape {found.shape}, not {wanted.shape}"
    if wanted.dtype.kind not in "fc":
        return None if np.array_equal(found, wanted) else f"value {_shown(found)}, not {wanted}"
    if np.array_equal(found, wanted, equal_nan=True):
        return None
    near = np.finfo(wanted.dtype).eps * 256
    close = np.allclose(found, wanted, rtol=float(near), atol=float(near), equal_nan=True)
    return f"{'last bits' if close else 'value'} {_shown(found)}, not {_shown(wanted)}"


def differs(call: DrawnCall) -> str | None:
    """Say in what a traced call differs from the plain one, ``"refused"``, or None."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        wanted: Any = None
        raised: Any = None
        x = call.given()
        try:
            wanted = _facts(call(x))
        except Exception as error:  # whatever NumPy says
            raised = error
        found: list[Any] = []

        def program(x: Any) -> Any:
            found.extend(_facts(map_leaves(joined, call(x))))
            return x

        try:
            vjp(program, x)
        except ChainRulesError as error:
            return None if raised is not None else f"refused: {error}"
        except Exception as error:
            return None if raised is not None else f"raises {type(error).__name__}: {error}"
    if raised is not None:
        return f"gives a value where NumPy raises {type(raised).__name__}: {raised}"
    if len(found) != len(wanted):
        return f"{len(found)} results, not {len(wanted)}"
    for (y, answers), (truth, right) in zip(found, wanted, strict=True):
        unlike = _unlike(y, truth)
        if unlike is not None:
            return unlike
        for question, a, b in zip(QUESTIONS, answers, right, strict=True):
            if a != b:
                return f"is {'' if a else 'not '}{question}, a plain one is {'' if b else 'not'}"
    return None


def draws(name: str, count: int, seed: int = 0) -> Iterator[DrawnCall]:
    """Draw calls of a function, the same in every process."""
    rng = np.random.default_rng([zlib.crc32(name.encode()), seed])
    row = drawable()[name]
    for _ in range(count):
        call = draw_call(row, rng)
        if call is not None and (_is_finite(call) or not _decomposes(name)):
            yield call


def _decomposes(name: str) -> bool:
    """Tell whether LAPACK is called, which may run for ever on infinities."""
    return name.startswith("linalg.") or name in ("roots", "polyfit")


def _is_finite(call: DrawnCall) -> bool:
    given = [x for x in (*call.operands, *call.keywords.values()) if hasattr(x, "dtype")]
    return all(np.all(np.isfinite(x)) for x in given)
