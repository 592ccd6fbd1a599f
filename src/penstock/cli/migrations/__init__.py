"""``penstock sql migrations``: numbered files of SQL, each applied to a server once.

``project`` has the files, ``metadata`` what the server remembers of them, ``apply`` and ``check``
what is done with both. Files, settings and metadata are those of ksqlDB's tool.
"""
