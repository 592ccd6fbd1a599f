"""Key-value stores, plain and timestamped."""
