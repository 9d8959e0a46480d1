"""Dask, as chainrules_py sees it: tables, and the exceptions to them.

Importing this registers them. A program over Dask's arrays is recorded without computing anything;
its gradients are Dask's arrays as well, of one graph with the value.
"""

from chainrules_dask import aliases, arrays, indexing, mapreduce, namespace, operations
from chainrules_dask.mapreduce import map_reduce_grad, row_blocks

__all__ = [
    "arrays",
    "indexing",
    "map_reduce_grad",
    "mapreduce",
    "namespace",
    "row_blocks",
    "aliases",
    "operations",
]

chainrules_contract = 1
