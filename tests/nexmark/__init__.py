"""The queries of the Nexmark benchmark against DuckDB, and Flink's texts of them."""
