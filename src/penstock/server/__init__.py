"""The SQL server: ksqlDB's REST interface over a catalog that all its nodes share."""
