"""State stores: specs, engines (memory, RocksDB), and the layers in between."""
