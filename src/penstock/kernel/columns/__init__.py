"""What column executors share: batches, folds, effects, and the planner that chooses them.

A column executor runs a node over a whole batch in one call. It lives beside the record executor of
its node, in ``kernel.operators``, which is the reference. ``planner`` decides for which tasks the
results are provably the same. A batch for which that cannot be proven runs record at a time.
"""
