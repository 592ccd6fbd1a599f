"""What applications of one driver process share: slot servers, Spark jobs, questions to Kafka."""
