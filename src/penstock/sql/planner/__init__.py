"""From a query to a topology, in small passes.

``analysis``
    Names become sources; every column is qualified; every SELECT item has a name.
``joins``, ``partitioning``, ``table_functions``, ``grouping``, ``projection``, ``sink``
    One clause each: they check it and return the next ``Stage``. ``join_sides``,
    ``join_conditions`` and ``group_checks`` have the long checks; ``subqueries`` plans queries
    inside queries, ``upgrade`` compares a query with the one it replaces.
``query``
    The order of the passes, and the checks of clauses that exclude each other.
``steps``, ``plan``
    The physical plan: frozen dataclasses that contain columns and expressions, but no functions.
``lowering``
    The plan's steps as operators of ``StreamsBuilder``: a ``Topology`` like any other.
"""
