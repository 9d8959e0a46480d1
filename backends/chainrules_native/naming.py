"""Names of saved programs: which of a user's names C and Python have another use for.

What is only ours has names that nobody else gives, with what is saved or ``given`` in front. The
function alone keeps the name that it has, as others call it; whether that is free is asked of a
compiler and of Python, which know more names than a list would.
"""

from __future__ import annotations

import contextlib
import functools
import subprocess
import sys
import tempfile
from pathlib import Path

from chainrules_compile.scope import identifier
from chainrules_native.cache import compiler
from chainrules_native.compilers import CompilerError
from chainrules_native.text import headed

OF_THE_MODULE = frozenset(
    {"_GIVEN", "_RESULTS", "_build", "_call", "_fit", "_run", "np", "numpy", "as_ctypes_type"}
    | {"OSError", "ValueError", "__file__", "isinstance", "str", "type", "zip"}
)
"""Names that a saved module gives, or reads."""

_KEYWORDS = """
alignas alignof and_eq asm auto bitand bitor bool case catch char char8_t char16_t char32_t
compl concept const consteval constexpr constinit const_cast co_await co_return co_yield
decltype default delete do double dynamic_cast enum explicit export extern false float friend
goto inline int long main mutable namespace new noexcept not_eq nullptr operator private
protected public register reinterpret_cast requires restrict short signed sizeof static
static_assert static_cast struct switch template this thread_local throw true try typedef typeid
typename typeof typeof_unqual union unsigned using virtual void volatile wchar_t xor xor_eq
"""
"""Of C and C++, whichever the compiler knows; callers may be in either, and in a later one."""

_HEADERS = """
assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign
stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string tgmath threads time uchar
wchar wctype
"""
"""Those of C, which a caller may include before the program's."""

_DECLARED = """{kernels}
{headers}
#ifdef {name}
#error a macro
#endif
extern struct what_no_header_has {name};
"""
_LINKED = """
extern char {name}[];
char* volatile what_no_library_has = {name};
int main(void) {{ return !what_no_library_has; }}
"""
_LONGEST = 60.0


def name_of_function(name: str) -> str:
    """Return a name that headers, the C library, Python and its modules have no other use for.

    It is that of the function in C and in Python, and of their files.
    """
    name = identifier(name)
    if not _is_of_python(name) and not _is_of_c(name):
        return name
    found = (x for x in (f"{name}_", f"{name}__") if not _is_of_c(x))
    return next(found, f"{name}_")


def names_of_parameters(names: list[str]) -> list[str]:
    """Return a name of Python's for each: its own, but what the function reads, or another has."""
    found: list[str] = []
    for name in map(identifier, names):
        while name in found or name == "_call":
            name = f"{name}_"
        found.append(name)
    return found


def _is_of_python(name: str) -> bool:
    """Tell whether a module of this name hides another, or the function what the module reads."""
    return name in OF_THE_MODULE or name in sys.stdlib_module_names


@functools.lru_cache(maxsize=256)
def _is_of_c(name: str) -> bool:
    """Tell whether C, a header of its, or a program declares a name, or its library has it.

    A function that no header here declares would still stand in for the library's of that name, in
    all of a program that is linked with it.
    """
    if name in _KEYWORDS.split():
        return True
    with contextlib.suppress(CompilerError, OSError, subprocess.TimeoutExpired):
        lines = [f"#if __has_include(<{x}.h>)\n#include <{x}.h>\n#endif" for x in _HEADERS.split()]
        text = _DECLARED.format(headers="\n".join(lines), kernels=headed("kernels.h"), name=name)
        return not _makes(text, "-fsyntax-only") or _makes(_LINKED.format(name=name), "-lm")
    return False


def _makes(text: str, flag: str) -> bool:
    """Tell whether the compiler takes a text."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "named.c")
        source.write_text(text, encoding="utf-8")
        made = str(source.with_suffix(".out"))
        command = [*compiler().command, "-w", "-fno-builtin", str(source), "-o", made, flag]
        asked = subprocess.run(command, capture_output=True, timeout=_LONGEST, check=False)
    return asked.returncode == 0
