"""Avro, Protobuf, JSON Schema and the other formats of topics. Registries: ``penstock.registry``.

``formats``
    ``format_named`` finds a ``Format`` of ksqlDB, which says what columns it can hold.
``rows``
    ``serde_for`` returns the ``RowSerde`` of some columns: from tuples of SQL values to bytes.
``schema_serde``
    What ``AvroSerde``, ``ProtobufSerde`` and ``JsonSchemaSerde`` of the DSL share.
``language``, ``registered``
    What rows in Avro, Protobuf and JSON Schema share: schemas that a registry keeps.
``inference``
    From schemas of the registry to columns, and from columns to the schema to register.
"""
