"""The kernel: one executor per node type and the task loop. Knows no Spark, clock or network."""
