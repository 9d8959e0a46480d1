"""Without a C compiler there is nothing to test here but that programs run all the same."""

import pytest

from chainrules_compile.c import native_programs
from chainrules_compile.c.compilers import CompilerError
from tests.libraries.conftest import cp, host, on  # noqa: F401 (fixtures)


@pytest.fixture(scope="session")
def native():
    try:
        return native_programs.driver()
    except CompilerError as error:
        pytest.skip(str(error))
