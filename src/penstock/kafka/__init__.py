"""Apache Kafka: client settings, administration, and a private broker."""
