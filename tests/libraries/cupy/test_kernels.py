"""Kernels that are written by hand compile; the benchmarks compute what CuPy by hand does."""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from chainrules_py.testing import to_numpy

# ----------------------------------------------------------------------------------- benchmarks


@pytest.fixture
def bench():
    sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
    try:
        return importlib.import_module("benchmarks.bench_cupy")
    finally:
        sys.path.pop(0)


@pytest.mark.parametrize("name", ["NETWORK", "CHAIN"])
def test_benchmarks_compute_the_same(name, bench, cp):
    pytest.importorskip("torch")
    programs, size = getattr(bench, name), bench.Size((7, 5, 6, 4), 8, 100)
    for make in programs.values():
        expected, wanted = programs["CuPy by hand"](cp, size)()
        value, found = make(cp, size)()
        if name == "CHAIN":
            found, wanted = [found], [wanted]
        for a, b in zip((value, *found), (expected, *wanted), strict=True):
            np.testing.assert_allclose(to_numpy(a), to_numpy(b), rtol=1e-5, atol=1e-5)


def test_benchmarks_are_skipped_without_a_gpu(bench, host, on):
    for suite in (bench.Network, bench.Chain):
        for name in suite.programs:
            with pytest.raises(NotImplementedError, match="GPU"):
                suite().setup(name)


@pytest.mark.gpu
@pytest.mark.parametrize(
    "programs, ours, theirs, most",
    [
        ("NETWORK", "chainrules_py", "CuPy by hand", 1.15),
        ("NETWORK", "chainrules_py", "PyTorch", 1.0),
        ("CHAIN", "chainrules_py", "CuPy by hand", 1.15),
    ],
)
def test_speed(programs, ours, theirs, most, bench):
    cp, size = bench.library(), bench.Size()
    try:
        runs = [bench.finished(getattr(bench, programs)[name](cp, size)) for name in (ours, theirs)]
    except NotImplementedError as error:
        pytest.skip(str(error))
    assert bench.ratio(*runs, rounds=25, seconds=0.02) <= most


# ---------------------------------------------------------------------------- that they compile


def text_of(kernel, operands, results, types, cp):
    """What CuPy makes of a kernel for arrays of these dtypes, in a namespace of its own."""
    from cupy._core import _carray, _kernel, _reduction, _scalar

    def info(kind, cls, dtype):
        made = _kernel._ArgInfo.__new__(_kernel._ArgInfo)
        made.__setstate__((kind, True, dtype and dtype.type, True, 2, cls))
        return made

    arguments = [info(1, cp.ndarray, dtype) for dtype in (*operands, *results)]
    indexer, pairs = info(2, _carray.Indexer, None), [(k, t.type) for k, t in types.items()]
    if hasattr(kernel, "operation"):
        code = _kernel._get_elementwise_kernel_code(
            (*arguments, indexer),
            _kernel._TypeMap(tuple(pairs)),
            kernel.params,
            kernel.operation,
            kernel.name,
            kernel.preamble,
        )
    else:
        stride = info(3, _scalar.CScalar, np.dtype(np.int32))
        code = _reduction._ReductionKernel_get_cached_function_code(
            kernel.nin,
            kernel.nout,
            kernel._params,
            (*arguments, indexer, indexer, stride),
            _kernel._TypeMap((*pairs, ("IndexT", np.int32))),
            kernel.name,
            512,
            kernel.reduce_type,
            kernel.identity,
            kernel.map_expr,
            kernel.reduce_expr,
            kernel.post_map_expr,
            kernel.preamble,
            kernel.options,
        )
    name = "_".join([kernel.name, *(t.name for t in operands)])
    code = code.replace(f"void {kernel.name}(", f"void {name}(")
    return f"namespace in_{name} {{\n{code}\n}}\n"


def written_kernels(cp):
    """The kernels that are written by hand, as texts."""
    from chainrules_cupy import indexing, matrices

    integers, long = np.dtype(np.int32), np.dtype(np.int64)
    yield text_of(matrices._exchanged, [integers, long], [long], {"I": integers}, cp)
    for dtype in map(np.dtype, "fdFDl"):
        yield text_of(indexing.sums(), [dtype, long, long], [dtype], {"T": dtype}, cp)


HEADERS = ("complex.cuh", "carray.cuh", "atomics.cuh", "math_constants.h")


def compile_all(sources, cp):
    from cupy_backends.cuda.libs import nvrtc

    include = Path(cp.__file__).parent / "_core" / "include"
    text = "".join(f"#include <cupy/{name}>\n" for name in HEADERS) + "\n".join(sources)
    program = nvrtc.createProgram(text, "kernels.cu", (), ())
    libraries = [include / "cupy" / "_cccl" / part for part in ("libcudacxx", "thrust", "cub")]
    options = [f"-I{path}" for path in (include, *libraries)]
    try:
        nvrtc.compileProgram(program, (*options, "--std=c++17", "-arch=compute_80", "-w"))
    except Exception:
        log = nvrtc.getProgramLog(program)
        errors = "\n".join(re.findall(r"[^\n]*error:[^\n]*\n[^\n]*", log)[:20])
        pytest.fail(errors or log[:3000], pytrace=False)
    return nvrtc.getPTX(program)


def needs_compiler():
    if importlib.util.find_spec("nvidia") is None:
        return True
    return not list(
        Path(next(iter(importlib.import_module("nvidia").__path__))).rglob("libnvrtc.so*")
    )


@pytest.mark.skipif(needs_compiler(), reason="nvidia-cuda-nvrtc is not installed")
def test_kernels_compile(cp):
    texts = list(written_kernels(cp))
    ptx = compile_all(texts, cp)
    text = ptx.decode() if isinstance(ptx, bytes) else ptx
    assert text.count(".entry") == len(texts)
