"""Avro: schemas, bytes, and the serde of the DSL."""
