"""Where bytes live: ordered maps in memory and in RocksDB, and what they are built from."""
