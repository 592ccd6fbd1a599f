"""The executors of ``penstock.kernel`` again, over columns: a whole batch in one call per node.

Record at a time is the reference. ``planner`` decides for which nodes columns give the same, and
a batch for which that turns out not to be provable runs record at a time after all.
"""
