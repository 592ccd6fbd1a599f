"""Records and stores as tables with real columns: Arrow, pandas and Polars. No Spark is needed."""
