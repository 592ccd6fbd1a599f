"""``penstock datagen``: rows that a demonstration or a test needs, written at a given rate.

``quickstarts`` has built-in rows, ``schema_file`` reads an Avro schema with hints, both are made of
``generators``; ``sender`` writes them to a topic in one of SQL's formats.
"""
