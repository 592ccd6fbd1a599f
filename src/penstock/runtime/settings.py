"""Turn a configuration into the settings of tasks: serdes, handlers and extractors by name."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from penstock import config as settings
from penstock.config import StreamsConfig
from penstock.errors import ConfigError, InvalidArgumentError
from penstock.kernel.settings import FEW_RECORDS, TaskSettings
from penstock.model.site import caller_site
from penstock.processor.functions import (
    FailOnInvalidTimestamp,
    LogAndSkipOnInvalidTimestamp,
    TimestampExtractor,
    UsePartitionTimeOnInvalidTimestamp,
    WallclockTimestampExtractor,
)
from penstock.processor.handlers import (
    DefaultProductionExceptionHandler,
    ExceptionHandler,
    LogAndContinueExceptionHandler,
    LogAndContinueProcessingExceptionHandler,
    LogAndFailExceptionHandler,
    LogAndFailProcessingExceptionHandler,
)
from penstock.processor.metrics import MetricsReporter
from penstock.processor.wrapper import ProcessorWrapper
from penstock.serde.base import Serde, SerdeDefaults
from penstock.serde.serdes import resolve_serde
from penstock.setting import Setting
from penstock.topology.graph import Graph
from penstock.topology.upgrades.fingerprint import PlanFingerprint
from penstock.topology.upgrades.stores import fingerprint_of

_EXTRACTORS: dict[str, Callable[[], TimestampExtractor]] = {
    "FailOnInvalidTimestamp": FailOnInvalidTimestamp,
    "LogAndSkipOnInvalidTimestamp": LogAndSkipOnInvalidTimestamp,
    "UsePartitionTimeOnInvalidTimestamp": UsePartitionTimeOnInvalidTimestamp,
    "WallclockTimestampExtractor": WallclockTimestampExtractor,
}
_HANDLERS: dict[Setting[Any], dict[str, Callable[[], ExceptionHandler]]] = {
    settings.DESERIALIZATION_HANDLER: {
        "fail": LogAndFailExceptionHandler,
        "continue": LogAndContinueExceptionHandler,
    },
    settings.PROCESSING_HANDLER: {
        "fail": LogAndFailProcessingExceptionHandler,
        "continue": LogAndContinueProcessingExceptionHandler,
    },
    settings.PRODUCTION_HANDLER: {
        "fail": DefaultProductionExceptionHandler,
        "continue": LogAndContinueProcessingExceptionHandler,
    },
}


log = logging.getLogger(__name__)

#: By value of the setting: the smallest batch that runs over columns; None for no batch.
_VECTORIZE_FROM: dict[str, int | None] = {
    "auto": FEW_RECORDS, "on": 1, "strict": 1, "off": None,
}  # fmt: skip


def task_settings(
    config: StreamsConfig, *, emit_interval_ms: int | None = None, state_dir: Path | None = None
) -> TaskSettings:
    """Return the settings of a task, with every name in the configuration resolved."""
    interval = config[settings.EMIT_INTERVAL_MS] if emit_interval_ms is None else emit_interval_ms
    wrapper, configs = _wrapper(config), dict(config)
    level = config[settings.METRICS_RECORDING_LEVEL]
    samples = config[settings.METRICS_SAMPLE_WINDOW_MS] / 1000, config[settings.METRICS_NUM_SAMPLES]
    # A processor wrapper takes one record at a time, so columns cannot be used with it.
    vectorize = "off" if wrapper is not None else config[settings.VECTORIZE]
    return TaskSettings(
        application_id=config[settings.APPLICATION_ID],
        defaults=_defaults(config, configs),
        timestamp_extractor=_extractor(config),
        on_deserialization=_handler(config, settings.DESERIALIZATION_HANDLER),
        on_processing=_handler(config, settings.PROCESSING_HANDLER),
        on_processing_global=config[settings.PROCESSING_HANDLER_GLOBAL],
        on_production=_handler(config, settings.PRODUCTION_HANDLER),
        dead_letter_topic=config[settings.DEAD_LETTER_TOPIC],
        processing_log=config[settings.PROCESSING_LOG],
        cache_max_bytes=config.cache_max_bytes,
        emit_interval_ms=interval,
        state_dir=state_dir,
        vectorize_from=_VECTORIZE_FROM[vectorize],
        form_clock=time.thread_time if vectorize == "auto" else None,
        processor_wrapper=wrapper,
        raises_column_errors=config[settings.VECTORIZE] == "strict",
        store_samples=None if level == "INFO" else samples,
        samples=samples,
        recording_level=level,
        configs=configs,
    )


def warn_of_unasked_handler(graph: Graph, config: StreamsConfig) -> None:
    """Warn if the user has set a processing handler that global stores will not ask.

    The driver calls this once per application. Every slot has a copy of the global stores, and
    each of them would write the same line.
    """
    given = _given_handler(config, settings.PROCESSING_HANDLER)
    kind = given if isinstance(given, type) else type(given)
    fails = issubclass(kind, LogAndFailProcessingExceptionHandler)
    if graph.global_stores and not fails and not config[settings.PROCESSING_HANDLER_GLOBAL]:
        log.warning(
            "%s is not asked for global stores and tables; %s=true changes that",
            settings.PROCESSING_HANDLER.name,
            settings.PROCESSING_HANDLER_GLOBAL.name,
        )


def plan_fingerprint(graph: Graph, config: StreamsConfig) -> PlanFingerprint:
    """Return what the state of a topology means under a configuration, with its default serdes."""
    return fingerprint_of(graph, _defaults(config, {}))


def _defaults(config: StreamsConfig, configs: Mapping[str, Any]) -> SerdeDefaults:
    return SerdeDefaults(
        _serde(config, settings.DEFAULT_KEY_SERDE),
        _serde(config, settings.DEFAULT_VALUE_SERDE),
        configs,
        is_key_set=config.has(settings.DEFAULT_KEY_SERDE),
        is_value_set=config.has(settings.DEFAULT_VALUE_SERDE),
    )


def _serde(config: StreamsConfig, setting: Setting[Any]) -> Serde[Any] | None:
    try:
        return resolve_serde(config[setting])
    except InvalidArgumentError as error:
        raise ConfigError(
            "bad-setting", f"setting {setting.name!r}: {error.message}", error.fix, error.at
        ) from error


def _extractor(config: StreamsConfig) -> TimestampExtractor:
    setting = settings.DEFAULT_TIMESTAMP_EXTRACTOR
    given = config[setting]
    if given is None:
        return FailOnInvalidTimestamp()
    if isinstance(given, str):
        # Java's class names are fully qualified. The last part is the class.
        return _named(given.rsplit(".", 1)[-1], _EXTRACTORS, setting)()  # type: ignore[no-any-return]
    extractor: TimestampExtractor = _made(given, setting)
    return extractor


def _handler(config: StreamsConfig, setting: Setting[Any]) -> ExceptionHandler:
    handler: ExceptionHandler = _made(_given_handler(config, setting), setting)
    return handler


def _given_handler(config: StreamsConfig, setting: Setting[Any]) -> Any:
    """Return the handler that the setting names, as a class or a callable, not yet created."""
    given = config[setting]
    if not isinstance(given, str):
        return given
    name = given.rsplit(".", 1)[-1]
    short = "continue" if "Continue" in name else "fail" if "Fail" in name else name
    return _named(short, _HANDLERS[setting], setting)


def _wrapper(config: StreamsConfig) -> ProcessorWrapper | None:
    setting = settings.PROCESSOR_WRAPPER
    given = config[setting]
    if given is None:
        return None
    wrapper = given() if isinstance(given, type) else given
    if not isinstance(wrapper, ProcessorWrapper):
        raise ConfigError(
            "bad-setting",
            f"setting {setting.name!r} cannot be {given!r}",
            fix="give a subclass of penstock.ProcessorWrapper, or an instance of one",
            at=caller_site(),
        )
    wrapper.configure(dict(config))
    return wrapper


def _named(name: str, known: dict[str, Any], setting: Setting[Any]) -> Any:
    if name not in known:
        raise ConfigError(
            "bad-setting",
            f"setting {setting.name!r} cannot be {name!r}",
            fix=f"use one of {', '.join(map(repr, known))}, a class or a function",
            at=caller_site(),
        )
    return known[name]


def _made(given: Any, setting: Setting[Any]) -> Any:
    made = given() if isinstance(given, type) else given
    if not callable(made):
        raise ConfigError(
            "bad-setting",
            f"setting {setting.name!r} cannot be {given!r}",
            fix="give a function, or a class whose instances can be called",
            at=caller_site(),
        )
    return made


def metrics_reporters(config: StreamsConfig) -> list[MetricsReporter]:
    """Return the reporters of ``metric.reporters``, each with the configuration."""
    setting = settings.METRIC_REPORTERS
    given: Any = config[setting] or ()
    found: list[MetricsReporter] = []
    for each in given if isinstance(given, list | tuple) else [given]:
        reporter = each() if isinstance(each, type) else each
        if not isinstance(reporter, MetricsReporter):
            raise ConfigError(
                "bad-setting",
                f"setting {setting.name!r} cannot be {each!r}",
                fix="give a subclass of penstock.MetricsReporter, an instance of one, or a list",
                at=caller_site(),
            )
        reporter.configure(dict(config))
        found.append(reporter)
    return found


def for_workers(config: StreamsConfig) -> dict[str, Any]:
    """Return the configuration without what only the driver needs: secrets and reporters."""
    left_out = {name for name, setting in settings.SETTINGS.items() if setting.is_secret}
    left_out.add(settings.METRIC_REPORTERS.name)
    return {name: value for name, value in config.items() if name not in left_out}
