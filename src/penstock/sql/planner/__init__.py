"""From a query to a topology, in small passes.

``analysis``
    Names become sources; every column is qualified; every SELECT item has a name.
``joins``, ``partitioning``, ``table_functions``, ``grouping``, ``projection``, ``sink``
    One rule each: they check their clause and give the next ``Stage``. ``join_sides``,
    ``join_conditions`` and ``group_checks`` have the checks that are long; ``subqueries`` plans
    queries inside queries, ``upgrade`` compares a query with the one it replaces.
``query``
    The order of the passes, and what fits together in one query.
``steps``, ``plan``
    The physical plan: frozen dataclasses that know columns and expressions, no functions.
``lowering``
    The plan's steps as operators of ``StreamsBuilder``: a ``Topology`` like any other.
"""
