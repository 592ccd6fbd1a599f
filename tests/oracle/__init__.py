"""Runs recorded Kafka Streams cases against the public API: ``python -m tests.oracle PATH...``.

``cases`` reads case files, ``build`` makes the topology, ``run`` feeds the driver, ``compare``
finds what differs from the golden, ``report`` prints it. FORMAT.md next to the shared cases
describes the case format; ``own/`` holds cases of our own in it.
"""
