"""Protobuf: schemas, messages, and the serde of the DSL."""
