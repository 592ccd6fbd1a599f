"""The prompt of ``penstock sql``: statements typed, piped or read from files, run by a server.

``command``
    Options, and what to connect to.
``session``, ``statement_kind``, ``cli_commands``
    What happens to one statement, and the commands that are not SQL.
``screen``, ``entities``, ``row_table``, ``query_view``, ``error_text``
    How answers look: tables, live rows, carets, JSON.
``line_editor``, ``completion``, ``catalog_words``, ``highlighting``
    How a statement is typed.
"""
