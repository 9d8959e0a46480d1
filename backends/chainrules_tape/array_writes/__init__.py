"""Memory of traced arrays: which arrays may be written to, and which arrays see the write.

A tracer that is written to takes the value and the record of a functional operation. The memory
that it shares with others is noted in its `View`, which is created at the first read or write::

    no view ──────── a part is read from it, or it is written to ───────▶ a view of its own
                                                                          (no parent)

    CURRENT ──── a write to what it was read from, or to ───▶ OUTDATED    (another class)
     │ ▲  ▲      another part of that                            │
     │ │  └─── any use: `read_again`, a record like others ──────┤
     │ │                                                         └── its layout is UNCLEAR:
     │ └── a write to it: `write_back` puts it into its              MutationError
     │     parent, that into its own, ...; other parts
     │     of each are OUTDATED
     └── a write to it that is UNCLEAR: MutationError

Writing, or reading, changes the class of a view between current and outdated, so that operations
need no check. The memory layout decides whether reshaping gives a view. What is known about it, the
*layout*, only decreases, unless the view is read again::

    LIKE ──── a copy of a small part, or a new value, laid out differently ───▶ UNLIKE
    (as NumPy's)  ◀── read again from a parent that is LIKE ──                    │
                                                                               reshape
                                                                                  ▼
                                                                               UNCLEAR
                                                          (a view in NumPy, or a copy)

Memory is written to only where nothing else refers to it (`writes_and_views.alone`); otherwise
the functional operation makes a copy. The tape's guard (`chainrules_py.engines.mutation_guard`)
watches arrays of the program that a record needs.

Read `write` first, then `accumulating_links`.
"""
