"""Kafka Connect: a client of its REST interface, and a worker that Penstock starts itself."""
