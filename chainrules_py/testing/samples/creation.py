"""Samples of what makes arrays like another."""

from chainrules_py import vocabulary as v
from chainrules_py.testing.sample import Draw, Sample, enter_samples

__all__: list[str] = []

enter_samples(
    v.full_like,
    Sample(Draw((2,)), shape=(2, 3), fill=1.5, complex=True),
    Sample(Draw(()), shape=(), fill=0),
    Sample(Draw((2,)), shape=(0,), fill=1, dtype="float32"),
)
for _word in (v.zeros_like, v.ones_like):
    enter_samples(
        _word,
        Sample(Draw((2, 3)), complex=True),
        Sample(Draw(())),
        Sample(Draw((2,)), dtype="int64"),
    )
enter_samples(
    v.arange_like,
    Sample(Draw((2,)), stop=4),
    Sample(Draw(()), stop=4, start=1, step=2),
)
enter_samples(
    v.eye_like,
    Sample(Draw((2,)), rows=3, complex=True),
    Sample(Draw((2,)), rows=2, columns=3, diagonal=1),
)
