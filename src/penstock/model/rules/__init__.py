"""What decides the meaning of a record, as small objects without side effects.

Record executors and column executors call the same rules, so that both have the same results.
"""
