"""Names of other libraries that are not public: a table of them, and one module for each package.

An import, an attribute or a path in a text counts if a part of it begins with one underscore, and
neither the package, the core nor the tape defines such a name.
"""

import ast
import functools
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
CORE = (ROOT / "chainrules_py", ROOT / "backends" / "chainrules_tape")
PACKAGES = (CORE[0], *sorted((ROOT / "backends").glob("chainrules_*")))

USED = {
    "chainrules_autograd.engine": {"_node", "_trace"},
    "chainrules_cupy": {"_where_ufunc", "cupy._manipulation.dims", "cupy._sorting.search"},
    "chainrules_jax": {
        "jax._src.interpreters.ad.primitive_linearizations",
        "jax._src.util.weakref_cache_key_types",
        "jax.jaxlib._jax.Array",
    },
    "chainrules_numpy": {
        "_extobj_contextvar",
        "_make_extobj",
        "numpy._core.umath",
        "numpy.linalg._umath_linalg",
    },
    "chainrules_scipy": {
        "scipy.integrate._quadpack_py",
        "scipy.integrate._quadrature",
        "scipy.interpolate._fitpack_repro",
        "scipy.interpolate._ndgriddata",
        "scipy.ndimage._filters",
        "scipy.signal._peak_finding_utils",
        "scipy.signal._signaltools",
        "scipy.spatial.transform._rotation_xp",
        "scipy.special._ufuncs",
        "scipy.stats._covariance",
        "scipy.stats._morestats",
        "scipy.stats._multivariate",
        "scipy.stats._quantile",
        "scipy.stats._stats_py",
    },
    "chainrules_py.testing.array_api_strict": {"array_api_strict._array_object.Array"},
    "chainrules_tape.tools": {"jax._src.core"},
    "chainrules_torch": {
        "_FrameAction",
        "_FrameExecStrategy",
        "_backward_cls",
        "_base",
        "_current_level",
        "_is_compiling_flag",
        "_is_view",
        "_version",
        "torch._functorch",
        "torch._guards:TracingContext",
        "torch._subclasses.fake_tensor:FakeTensor",
        "torch._subclasses.fake_tensor:UnsupportedFakeTensorException",
        "torch._subclasses.functional_tensor:FunctionalTensor",
        "torch.autograd.forward_ad:_set_fwd_grad_enabled",
        "torch.autograd:Function._backward_cls",
        "torch.utils._python_dispatch:_disable_current_modes",
        "torch:_C._ForceDispatchKeyGuard",
        "torch:_C._are_functorch_transforms_active",
        "torch:_C._autograd._pop_saved_tensors_default_hooks",
        "torch:_C._autograd._push_saved_tensors_default_hooks",
        "torch:_C._autograd._top_saved_tensors_default_hooks",
        "torch:_C._dispatch_tls_local_exclude_set",
        "torch:_C._dispatch_tls_local_include_set",
        "torch:_C._dynamo.eval_frame",
        "torch:_C._functorch",
        "torch:_C._is_any_autocast_enabled",
        "torch:_C._len_torch_dispatch_stack",
    },
}
"""What stands in the module ``_private.py`` of each package: to add a name is a decision.

There is no public one for it, the module says what stands for it in versions that lack it, and a
test takes it away.
"""

ELSEWHERE = {
    "chainrules_compile/constant_source.py": {"_implementation"},
    "chainrules_compile/writers/call_source.py": {"_implementation"},
    "chainrules_dask/array_types.py": {"_meta"},
    "chainrules_numpy/broadcast_sums.py": {"_implementation"},
    "chainrules_numpy/elementwise_overrides.py": {"_implementation"},
    "chainrules_tape/functions/grad_vjp_jvp.py": {"_implementation"},
    "chainrules_numpy/masked_array_advice.py": {
        "_DomainedBinaryOperation",
        "_MaskedBinaryOperation",
        "_MaskedUnaryOperation",
    },
    "chainrules_scipy/interpolate.py": {"_spline"},
    "chainrules_scipy/signal.py": {"_as_tf"},
    "chainrules_scipy/sparse/linalg.py": {"_matmat", "_matvec"},
    "chainrules_scipy/stats/__init__.py": {"_parse_args"},
    "chainrules_scipy/stats/distributions.py": {
        "_argcheck",
        "_cdf",
        "_entropy",
        "_get_support",
        "_logpdf",
        "_logpmf",
        "_munp",
        "_pdf",
        "_parse_args",
        "_pmf",
        "_ppf",
        "_stats",
    },
    "chainrules_scipy/stats/multivariate_and_sample_statistics.py": {
        "_logpdf",
        "_logpmf",
        "_process_parameters",
    },
    "chainrules_py/testing/array_api_strict/implementations.py": {"_np_dtype"},
}
"""Attributes of objects of other libraries, which are read where these objects are."""

# Documented, but for the underscore: of named tuples, typing, frames and locks.
OF_PYTHON = {"_asdict", "_field_defaults", "_fields", "_make", "_replace", "_is_protocol"}
OF_PYTHON |= {"_getframe", "_lru_cache_wrapper", "_at_fork_reinit", "_inst", "_attributes"}


def is_private(path):
    """Whether a part of a path, or of a name, begins with one underscore; none of Python's."""
    parts = re.split(r"[.:]", path)
    return parts[0] not in sys.stdlib_module_names and any(
        [re.match(r"_[a-zA-Z]", part) for part in parts]
    )


def defined(nodes):
    """The names that a module defines: of functions, classes, variables and attributes."""
    for node in nodes:
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name
            case ast.Assign(targets=[ast.Name(id="__slots__")], value=ast.Tuple(elts=elements)):
                yield from [x.value for x in elements]


def used(nodes):
    """The names, paths and texts like paths that a module uses."""
    for node in nodes:
        match node:
            case ast.Import(names=names):
                yield from [x.name for x in names]
            case ast.ImportFrom(module=str(module), names=names, level=0):
                yield from [f"{module}.{x.name}" for x in names]
            case ast.Attribute(attr=name, ctx=ast.Load()):
                yield name
            case ast.Call(func=ast.Name(id="getattr" | "hasattr"), args=[_, ast.Constant(x), *_]):
                yield str(x)
            case ast.Call(func=ast.Attribute(attr="attrgetter"), args=[ast.Constant(x), *_]):
                yield str(x)
            case ast.Constant(value=str(text)) if re.fullmatch(r"[a-z]\w*([.:]\w+)+", text):
                yield text


@functools.cache
def nodes_of(package):
    """The nodes of each file's tree."""
    return {path: [*ast.walk(ast.parse(path.read_text()))] for path in package.rglob("*.py")}


@functools.cache
def names_defined_in(package):
    return {name for nodes in nodes_of(package).values() for name in defined(nodes)}


def names_of(package):
    """The private names of other libraries that a package uses, and where."""
    known = OF_PYTHON.union(*map(names_defined_in, (package, *CORE)))
    for path, nodes in nodes_of(package).items():
        for name in filter(is_private, used(nodes)):
            if name not in known and not name.startswith("chainrules_"):
                yield path.relative_to(package).as_posix(), name


def test_private_names_of_other_libraries_are_those_of_the_tables():
    inside, outside = {}, {}
    for package in PACKAGES:
        for path, name in names_of(package):
            folder, _, file = path.rpartition("/")
            if file == "_private.py":
                home = f"{package.name}/{folder}".rstrip("/").replace("/", ".")
                inside.setdefault(home, set()).add(name)
            else:
                outside.setdefault(f"{package.name}/{path}", set()).add(name)
    assert outside == ELSEWHERE
    assert inside == USED
