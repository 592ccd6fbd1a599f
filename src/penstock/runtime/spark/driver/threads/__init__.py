"""Stream threads as the driver sees them: their Spark jobs, their lines, and who has which slot."""
