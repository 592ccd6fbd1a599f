"""Schema registries: in memory, in a Kafka topic, over HTTP, and a server of our own."""
