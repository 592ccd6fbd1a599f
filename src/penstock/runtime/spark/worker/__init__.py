"""The worker's process: slots with their tasks, stores, readers and writers."""
