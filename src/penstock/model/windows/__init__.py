"""Windows: their definitions, the rule that places a record, and windowed keys."""
