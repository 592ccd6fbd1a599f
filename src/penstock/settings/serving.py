"""Settings of the server that answers questions about the application."""

from __future__ import annotations

from penstock.setting import Setting, at_least, boolean, host_and_port, optional_text, pairs, texts

APPLICATION_SERVER = Setting(
    "application.server",
    host_and_port,
    "",
    "host:port under which this instance answers queries over HTTP; if empty, no server starts.",
)
SERVER_LISTEN = Setting(
    "penstock.server.listen",
    host_and_port,
    "",
    "host:port that the server binds, if it is not application.server.",
)
SERVER_ALLOW_ANONYMOUS = Setting(
    "penstock.server.allow.anonymous",
    boolean,
    False,
    "Whether an address other than loopback may be bound without tokens and users.",
)
SERVER_TOKENS: Setting[tuple[str, ...]] = Setting(
    "penstock.server.tokens",
    texts,
    (),
    "Bearer tokens that may do everything: a list, or text with commas.",
    is_secret=True,
)
SERVER_WRITE_TOKENS: Setting[tuple[str, ...]] = Setting(
    "penstock.server.write.tokens",
    texts,
    (),
    "Bearer tokens that may read, send failed records again and, in an SQL server, write rows"
    " and statements.",
    is_secret=True,
)
SERVER_READ_TOKENS: Setting[tuple[str, ...]] = Setting(
    "penstock.server.read.tokens",
    texts,
    (),
    "Bearer tokens that may only read: a list, or text with commas.",
    is_secret=True,
)
SERVER_USERS: Setting[tuple[tuple[str, str], ...]] = Setting(
    "penstock.server.users",
    pairs,
    (),
    "Users of basic authentication: a dictionary from name to password, or name:password,...",
    is_secret=True,
)
SERVER_WRITE_USERS: Setting[tuple[tuple[str, str], ...]] = Setting(
    "penstock.server.write.users",
    pairs,
    (),
    "Users of basic authentication with the rights of penstock.server.write.tokens.",
    is_secret=True,
)
SERVER_READ_USERS: Setting[tuple[tuple[str, str], ...]] = Setting(
    "penstock.server.read.users",
    pairs,
    (),
    "Users of basic authentication that may only read, as in penstock.server.users.",
    is_secret=True,
)
SERVER_TLS_CERTIFICATE = Setting(
    "penstock.server.tls.certificate",
    optional_text,
    None,
    "File with the server's certificate chain (PEM); with it the server speaks only TLS.",
)
SERVER_TLS_KEY = Setting(
    "penstock.server.tls.key",
    optional_text,
    None,
    "File with the private key of the certificate (PEM), without a password.",
)
SERVER_TLS_CA = Setting(
    "penstock.server.tls.ca",
    optional_text,
    None,
    "File with the certificates (PEM) that other instances are checked against.",
)
SERVER_REQUEST_TIMEOUT_MS = Setting(
    "penstock.server.request.timeout.ms",
    at_least(1),
    10_000,
    "How long one request may take, forwarding included.",
)
SERVER_MAX_REQUEST_BYTES = Setting(
    "penstock.server.max.request.bytes",
    at_least(1_024),
    16_384,
    "Most bytes of a request: its URL, its headers, its body.",
)
SERVER_DEFAULT_ROWS = Setting(
    "penstock.server.default.rows",
    at_least(1),
    1_000,
    "Rows of a page where the caller names no limit; the answer says whether there are more.",
)
SERVER_MAX_ROWS = Setting(
    "penstock.server.max.rows",
    at_least(1),
    10_000,
    "Most rows of a page that a caller may ask for.",
)
SERVER_MAX_FEEDS = Setting(
    "penstock.server.max.feeds", at_least(0), 100, "Most change feeds that are open at one time."
)
SERVER_COMMAND_TOPIC = Setting(
    "penstock.server.command.topic",
    optional_text,
    None,
    "SQL server: the topic with its commands; ${ksql.service.id} in the name is the service id.",
)
READ_CUT = Setting(
    "penstock.read.cut",
    optional_text,
    None,
    "SQL server: which cut of all queries a SELECT without EMIT reads: latest, a number, or none.",
)
SERVER_THREADS = Setting(
    "penstock.server.threads",
    at_least(1),
    8,
    "Threads for questions that wait for other processes, and for scans.",
)
