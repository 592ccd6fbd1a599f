"""The driver's process: plans batches, runs them as Spark jobs and answers for the application."""
