"""Kafka's own system-test verifiers, against the same programs written with Penstock."""
