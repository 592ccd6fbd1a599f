"""Settings of metrics and logs."""

from __future__ import annotations

from penstock.setting import Setting, anything, at_least, boolean, integer, one_of

_OWN_NAMES = "There is one version: docs/reference/metrics.md has its names."

METRICS_RECORDING_LEVEL = Setting(
    "metrics.recording.level",
    one_of("INFO", "DEBUG", "TRACE"),
    "INFO",
    "Which metrics are recorded: DEBUG adds what each task processed, the hit ratios of its caches"
    " and the latencies of its stores.",
)
METRICS_SAMPLE_WINDOW_MS = Setting(
    "metrics.sample.window.ms",
    at_least(0),
    30_000,
    "Span of one metrics sample.",
)
METRICS_NUM_SAMPLES = Setting(
    "metrics.num.samples", at_least(1), 2, "Samples kept per metric: rates are over all of them."
)
METRIC_REPORTERS = Setting(
    "metric.reporters",
    anything,
    "",
    "What receives the metrics while the application runs: a subclass of MetricsReporter, an"
    " instance of one, or a list of them.",
)
METRIC_REPORT_INTERVAL_MS = Setting(
    "penstock.metric.report.interval.ms",
    at_least(10),
    10_000,
    "How often the metrics are given to metric.reporters.",
)
ENABLE_METRICS_PUSH = Setting(
    "enable.metrics.push", boolean, True, "Whether client metrics may be pushed to the broker."
)
LOG_SUMMARY_INTERVAL_MS = Setting(
    "log.summary.interval.ms", integer, 120_000, "How often a summary is logged."
)
LOG_FORMAT = Setting(
    "penstock.log.format",
    one_of("text", "json"),
    "text",
    "json: Penstock's logs are JSON lines on standard error, with application, batch and task.",
)
TRACING = Setting(
    "penstock.tracing",
    one_of("off", "opentelemetry"),
    "off",
    "opentelemetry: each batch is a span, for the tracer provider that the program has set.",
)
BUILT_IN_METRICS_VERSION = Setting(
    "built.in.metrics.version",
    one_of("latest"),
    "latest",
    "Version of the built-in metrics.",
    unused=_OWN_NAMES,
)
