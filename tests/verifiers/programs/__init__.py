"""The programs behind Kafka's system tests: one file each, by the name of the verifier."""
