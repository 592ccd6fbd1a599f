"""Protobuf: the text of its schemas, its messages, with and without a registry."""
