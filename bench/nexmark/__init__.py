"""The Nexmark benchmark: auctions, what is bid for them, and 23 queries about both.

``events`` makes the input. ``queries`` reads the texts in ``ours``, ``flink`` and ``expected``.
"""
