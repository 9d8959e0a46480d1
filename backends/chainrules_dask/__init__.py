"""Dask support: aliases, and implementations where Dask differs.

Importing this package registers them. A program over Dask arrays is recorded without computing
anything; its gradients are Dask arrays as well, in one graph with the value.
"""

from chainrules_dask import aliases, array_types, indexing, mapreduce, namespace, operations
from chainrules_dask.mapreduce import map_reduce_grad, row_blocks

__all__ = [
    "array_types",
    "indexing",
    "map_reduce_grad",
    "mapreduce",
    "namespace",
    "row_blocks",
    "aliases",
    "operations",
]

chainrules_contract = 1
