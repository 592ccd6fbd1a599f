"""What is put on top of a store's bytes: the record cache, the changelog, the metrics."""
