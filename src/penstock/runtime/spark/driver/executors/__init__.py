"""What the driver knows about executors: where copies go, tags of hosts, and lost ones."""
