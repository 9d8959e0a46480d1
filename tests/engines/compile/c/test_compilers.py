"""Compilers are tried once, in turn: the first that makes what runs is taken."""

import importlib.util
import types

import pytest

from chainrules_compile.c import cache, compilers

pytestmark = pytest.mark.usefixtures("native")


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """A folder of programs that stands before all others, and a cache of its own."""
    where, kept = tmp_path / "programs", tmp_path / "cache"
    where.mkdir()
    kept.mkdir(mode=0o700)
    monkeypatch.setenv("PATH", f"{where}:/usr/bin:/bin")
    monkeypatch.delenv("CHAINRULES_NATIVE_CC", raising=False)
    monkeypatch.setattr(cache.FOLDER, "path", kept)
    monkeypatch.setattr(cache, "_tested", [])
    return where


def used():
    """Compile by the first compiler that is there, and return its command."""
    cache._tested.clear()
    cache.library(f"int program_{len(list(cache.FOLDER.path.iterdir()))}(void) {{ return 1; }}")
    return cache._tested[0].command


def write(where, name, text):
    path = where / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o700)
    return str(path)


WRONG = "int f(void) { return 0; } double probe(double* x, long n) { return f(); }"


def test_one_that_fails_and_one_that_computes_otherwise_are_passed_by(programs):
    real = used()[0]
    write(programs, "cc", "echo error: it is broken >&2; exit 1")
    source = programs / "wrong.c"
    source.write_text(WRONG)
    # What it is given is compiled, but for the text, of which it takes another.
    write(
        programs,
        "gcc",
        f'{real} -shared -fPIC {source} -o "$(echo "$@" | sed "s/.* -o //; s/ -lm//")"',
    )
    clang = write(programs, "clang", f'exec {real} "$@"')
    assert used() == (clang,)


def test_it_says_what_each_of_them_said(programs, monkeypatch):
    monkeypatch.setattr(compilers, "NAMES", ("cc", "none"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    write(programs, "cc", "echo fatal: no licence >&2; exit 3")
    with pytest.raises(compilers.CompilerError, match="gave 3: fatal: no licence"):
        used()


def test_a_name_in_the_environment_stands_for_them_all(programs, monkeypatch):
    real = used()[0]
    own = write(programs, "own", f'shift; exec {real} "$@"')
    monkeypatch.setenv("CHAINRULES_NATIVE_CC", "own -first")
    assert used() == (own, "-first")
    monkeypatch.setenv("CHAINRULES_NATIVE_CC", "nowhere")
    with pytest.raises(compilers.CompilerError, match="no C compiler is found: nowhere"):
        used()


def test_that_of_zigs_wheel_is_the_last(programs, monkeypatch):
    real = used()[0]
    zig = write(programs, "zig", f'shift; exec {real} "$@"')
    wheel = types.SimpleNamespace(origin=str(programs / "__init__.py"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: wheel)
    *others, last = compilers.compilers()
    assert last.command == (zig, "cc")
    assert zig not in [operation for each in others for operation in each.command]
    monkeypatch.setattr(compilers, "NAMES", ())
    assert used() == (zig, "cc")
