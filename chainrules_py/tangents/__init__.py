"""Tangents and cotangents: zeros, thunks, structures of them, and the spaces they lie in.

The tangent of an array is an array, the tangent of a number a number. Five classes stand for the
rest:

===================================  ==========================================================
``ZeroTangent()``                    changes nothing
``NoTangent()``                      belongs to what cannot be perturbed: indices, strings, flags
``Tangent[P](w=..., b=...)``         tangent of an instance of a structure ``P``, field by field
``Thunk(compute)``                   computed when it is asked for, once
``NotImplementedTangent(reason)``    nobody has stated it; raises when it reaches a person
===================================  ==========================================================
"""
