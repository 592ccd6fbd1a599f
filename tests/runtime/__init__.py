"""The Spark runtime without Spark and without Kafka: the real slots over topics in memory."""
