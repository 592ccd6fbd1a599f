"""Plain values that every layer shares: records, windows, changes, durations, partitioning."""
