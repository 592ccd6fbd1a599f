"""The stores of records that wait: for their time to come, or for a partner to join."""
