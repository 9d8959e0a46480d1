"""What several files of tests of the tape need."""

import gc

import pytest

from chainrules_tape.memory import guard


def _locked():
    """What is locked, and how often: other tests of this process may hold tapes of their own."""
    parts = guard._open, guard._shared, guard._waiting
    return [set(part) for part in parts], len(guard._dropped)


@pytest.fixture(scope="module")
def without_garbage():
    """Collected once for each file: in a process that has run many tests it takes a second."""
    gc.collect()


@pytest.fixture
def all_flags_come_back(without_garbage):
    before = _locked()
    yield
    if _locked() != before:
        gc.collect()
    assert _locked() == before
