"""What the driver knows about executors: their tags, their copies of stores, and losses."""
