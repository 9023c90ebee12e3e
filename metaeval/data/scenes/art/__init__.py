"""The drawings: one function per kind of thing, flat shapes in the thing's own box."""
