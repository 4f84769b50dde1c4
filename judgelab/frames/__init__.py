"""Records as tables, one module a protocol: the only thing that metrics and reports ever see of a run.

Invariant: a frame is sorted by record id, so a figure does not depend on the order in which work was finished.
"""
