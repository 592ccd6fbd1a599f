"""The driver's process: plans batches, asks for them and answers for the application."""
