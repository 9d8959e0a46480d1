"""Random programs with many names for the same memory: they do what NumPy does, or say why not."""

from tests.fuzz.generators import judge
from tests.fuzz.views import check, program


def test_many_names_for_one_memory():
    judge("views", range(100))


def test_most_of_them_are_not_refused():
    assert sum([check(program(seed)) for seed in range(20)]) > 10
