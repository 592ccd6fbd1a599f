"""One record's way through the topology, run again beside the application."""
