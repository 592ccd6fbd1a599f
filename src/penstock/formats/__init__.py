"""How rows are written on topics: ksqlDB's formats. Their schemas: ``penstock.registry``.

``formats``
    ``format_named`` finds a ``Format``: what it can do, and ``validate`` for what it cannot.
``rows``
    ``serde_for`` gives the ``RowSerde`` of some columns: tuples of SQL values to bytes and back.
``language``, ``registered``
    What Avro, Protobuf and JSON Schema have in common: schemas that a registry keeps.
``inference``
    Schemas of the registry to columns, and columns to the schema to register.
"""
