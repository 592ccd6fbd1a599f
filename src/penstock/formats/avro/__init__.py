"""Avro: its schemas, its bytes, and both behind the protocol of schema languages."""
