"""What travels between driver and workers: requests, plans, bundles of records, the batch log."""
