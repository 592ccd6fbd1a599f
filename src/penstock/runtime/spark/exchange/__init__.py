"""What travels between driver and workers: requests, layouts, rows and the batch log."""
