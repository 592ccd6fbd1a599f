"""``StreamsBuilder``, ``KStream`` and ``KTable``. They build a topology and never run it."""
