"""Apache Kafka as Penstock sees it: client settings, administration, and a private broker."""
