"""The cache on disk, and what can go wrong with it: right results, a warning at most."""

import os
import subprocess
import sys
import time

import numpy as np
import pytest

from chainrules_compile import RecordingWarning, compile
from chainrules_compile.c import cache, cache_folder, cache_info, compilers, native_programs

pytestmark = pytest.mark.usefixtures("native")
X = np.linspace(0.0, 1.0, 7)


def f(x):
    return np.sin(x) * x + 1.5


def once():
    """Compile anew."""
    g = compile(f, target="c")
    np.testing.assert_allclose(g(X), f(X), rtol=1e-15)
    return g


@pytest.fixture
def empty(tmp_path, monkeypatch):
    native_programs.driver()
    once()
    where = tmp_path / "cache"
    where.mkdir(mode=0o700)
    monkeypatch.setattr(cache.FOLDER, "path", where)
    return where


def anew():
    """Return where a process finds the folder, or makes one."""
    folder = cache_folder.Folder(
        *[getattr(cache.FOLDER, x) for x in ("name", "variable", "suffix")]
    )
    return KEPT.append(folder) or folder.path


KEPT = []  # a temporary folder is there as long as its object


def test_an_entry_is_found_again(empty):
    before = cache_info()
    once()
    once()
    after = cache_info()
    assert (after.misses, after.hits) == (before.misses + 1, before.hits + 1)
    assert after.entries == 1
    assert [p.suffix for p in empty.iterdir()] == [".so"]


@pytest.mark.parametrize("damage", ["cut", "changed", "link", "empty"])
def test_a_damaged_entry_is_made_again(empty, damage, tmp_path):
    once()
    (entry,) = empty.glob("*.so")
    data = bytearray(entry.read_bytes())
    os.unlink(entry)  # what is loaded keeps its memory
    if damage == "link":
        (tmp_path / "other.so").write_bytes(data)
        entry.symlink_to(tmp_path / "other.so")
    else:
        data[200] ^= 1
        entry.write_bytes({"cut": data[:500], "changed": data, "empty": b""}[damage])
    misses = cache_info().misses
    once()
    assert cache_info().misses == misses + 1


@pytest.mark.parametrize("way", ["killed", "missing", "full", "nonsense"])
def test_without_what_the_compiler_makes_there_is_a_warning(empty, monkeypatch, way, tmp_path):
    script = {
        "killed": "kill -9 $$",
        "full": "echo no space left >&2; exit 1",
        "nonsense": "exit 0",
    }
    path = tmp_path / "cc"
    if way != "missing":
        path.write_text(f"#!/bin/sh\n{script[way]}\n")
        path.chmod(0o700)
    monkeypatch.setattr(cache, "_tested", [])
    monkeypatch.setattr(cache, "compilers", lambda: [compilers.Compiler((str(path),), way)])
    with pytest.warns(RecordingWarning, match="written for NumPy instead of C"):
        g = once()
    assert "native" not in g.source
    assert not list(empty.iterdir())


def test_a_full_disk_is_a_warning(empty, monkeypatch):
    def full(*args, **keywords):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache_folder.os, "replace", full)
    with pytest.warns(RecordingWarning, match="No space left"):
        once()


def test_a_folder_that_others_can_write_to_is_not_used(tmp_path, monkeypatch):
    where = tmp_path / "shared"
    where.mkdir()
    where.chmod(0o777)
    monkeypatch.setenv("CHAINRULES_C_CACHE", str(where))
    assert not cache_folder.is_ours(where)
    found = anew()
    assert found != where
    assert cache_folder.is_ours(found)
    where.chmod(0o700)
    assert cache_folder.is_ours(where)
    assert anew() == where


@pytest.mark.parametrize("way", ["nothing may be written", "a file is in its place"])
def test_a_folder_that_cannot_be_used_is_not(tmp_path, monkeypatch, way):
    where = tmp_path / "cache"
    if way == "a file is in its place":
        where.write_text("")
    else:
        where.mkdir(mode=0o500)
        monkeypatch.setattr(
            cache_folder.os, "access", lambda path, mode: False
        )  # root may write anywhere
    monkeypatch.setenv("CHAINRULES_C_CACHE", str(where))
    found = anew()
    assert found != where
    monkeypatch.setattr(cache.FOLDER, "path", found)
    assert "native" in once().source


def test_no_folder_at_all_is_a_warning(monkeypatch):
    def full(self, *given):
        raise OSError(28, "No space left on device")

    native_programs.driver()
    monkeypatch.setattr(cache_folder.Folder, "found", full)
    monkeypatch.setattr(cache_folder.Folder, "private", full)
    with pytest.warns(RecordingWarning, match="No space left"):
        once()


def test_what_was_not_used_for_longest_goes(empty, monkeypatch):
    monkeypatch.setattr(cache_folder, "MOST_ENTRIES", 2)
    for i in range(4):
        path = cache.library(f"int program_{i}(void) {{ return {i}; }}")
        os.utime(path, (i, i))
    cache.library("int program_4(void) { return 4; }")
    assert cache_info().entries == 2


def test_what_killed_processes_left_goes(empty):
    for name, age in (("making_old", 7200), ("making_new", 60)):
        (empty / name).mkdir()
        (empty / name / "program.c").write_text("int f(void) { return 1; }")
        begun = time.time() - age
        os.utime(empty / name, (begun, begun))
    once()
    assert [p.name for p in empty.iterdir() if p.is_dir()] == ["making_new"]


@pytest.mark.slow
def test_three_processes_make_the_same_entry(empty):
    text = (
        "import numpy as np; from tests.engines.compile.c.test_cache import once; once();"
        "from chainrules_compile.c import cache_info; print(cache_info().folder)"
    )
    env = {**os.environ, "CHAINRULES_C_CACHE": str(empty)}
    runs = [
        subprocess.Popen([sys.executable, "-c", text], env=env, stdout=subprocess.PIPE)
        for _ in range(3)
    ]
    for run in runs:
        assert run.communicate(timeout=120)[0].decode().strip() == str(empty)
        assert run.returncode == 0
    assert {path.suffix for path in empty.iterdir()} == {".so"}
    assert 2 <= cache_info().entries <= 6  # what calls programs, and the program
