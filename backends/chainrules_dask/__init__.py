"""Dask, as chainrules_py sees it: tables, and the exceptions to them.

Importing this registers them. A program over Dask's arrays is recorded without computing anything;
its gradients are Dask's arrays as well, of one graph with the value.
"""

from chainrules_dask import arrays, indexing, mapreduce, namespace, rows, words
from chainrules_dask.mapreduce import map_reduce_grad, row_blocks

__all__ = [
    "arrays",
    "indexing",
    "map_reduce_grad",
    "mapreduce",
    "namespace",
    "row_blocks",
    "rows",
    "words",
]

chainrules_contract = 1
