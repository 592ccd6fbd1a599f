"""How rows are written on topics: ksqlDB's formats, and the schema registry some of them need.

``formats``
    ``format_named`` finds a ``Format``: what it can do, and ``validate`` for what it cannot.
``rows``
    ``serde_for`` gives the ``RowSerde`` of some columns: tuples of SQL values to bytes and back.
``registry``
    ``SchemaRegistry`` and the one in memory; ``http_registry`` talks to a server,
    ``registry_server`` is one.
``inference``
    Schemas of the registry to columns, and columns to the schema to register.
"""
