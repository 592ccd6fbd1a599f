"""StreamsBuilder, KStream, KTable: what users call. Builds ``penstock.topology``; never runs it."""
