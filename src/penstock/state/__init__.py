"""State stores: what they are (specs), where bytes live (memory, RocksDB), and the layers."""
