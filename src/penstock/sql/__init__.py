"""The SQL language: ksqlDB's dialect on the same topologies as the DSL."""
