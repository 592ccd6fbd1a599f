"""Pull queries that are answered row by row: their plans, and what they read."""
