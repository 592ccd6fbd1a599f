"""Live traces: what the tasks of a slot do with records that somebody watches."""
