"""Engines of stores: ordered maps in memory and in RocksDB."""
