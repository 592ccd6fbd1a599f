"""Clauses that ksqlDB does not have, one module each; ``planner.query`` has their order."""
