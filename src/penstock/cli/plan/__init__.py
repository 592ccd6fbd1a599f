"""``penstock plan``: what a start of a program or script would do to the state in Kafka."""
