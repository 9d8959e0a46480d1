"""Memory of traced arrays: who may write to it, and who sees that.

A tracer that is written to takes over the value, and the record, of a functional operation. What it
shares with others is noted in its `View`, once there is something to note::

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

A current view and one that is outdated are the same object in two classes, so no operation asks
which it is. How its memory lies decides whether reshaping gives a view; that is its *layout*, and
gets less known, never more, unless it is read again::

    LIKE ──── a copy of a small part, or a new value, that lies otherwise ────▶ UNLIKE
    (as NumPy's)  ◀── read again from a parent that is LIKE ──                    │
                                                                               reshape
                                                                                  ▼
                                                                               UNCLEAR
                                                          (a view in NumPy, or a copy)

Memory itself is written to only where nobody else has it (`write.alone`); else the functional
operation makes a copy. An array of the program's that a record needs is watched by the tape's guard
(`chainrules_py.engines.guard`).

Read `write`, then `links`.
"""
