"""Plain values that every layer shares: records, windows, changes, SQL types, partitioning."""
