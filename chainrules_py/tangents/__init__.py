"""Tangents and cotangents: zeros, thunks, tangents of structures, and tangent spaces.

The tangent of an array is an array, that of a number a number. Five classes represent all others:

===================================  ==========================================================
``ZeroTangent()``                    zero
``NoTangent()``                      of values that cannot be perturbed: indices, strings, flags
``Tangent[P](w=..., b=...)``         tangent of an instance of a structure ``P``, field by field
``Thunk(compute)``                   computed once, when it is needed
``NotImplementedTangent(reason)``    not implemented by a rule; raises when a user would get it
===================================  ==========================================================
"""
