"""Run a topology in this process, without Kafka, Spark or Java. The test driver uses this."""
