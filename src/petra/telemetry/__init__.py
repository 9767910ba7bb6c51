"""Traces for OpenTelemetry: one per execution, with a span for every step run and every call of a tool.

Nothing here is imported unless ``PETRA_TRACES`` asks for it; what OpenTelemetry brings is the extra ``petra[otel]``.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from petra.errors import UsageError

if TYPE_CHECKING:
    from petra.telemetry.otel import Traces

TRACES: Final = "PETRA_TRACES"
"""The variable that asks for traces: ``otlp`` sends them where the standard ``OTEL_*`` variables say."""


def are_wanted() -> bool:
    """Tell whether the environment asks for traces.

    Raises:
        UsageError: it asks for something else.
    """
    asked = os.environ.get(TRACES, "").lower()
    if asked not in ("", "off", "otlp"):
        raise UsageError(f"{TRACES} is 'otlp' or 'off', not '{asked[:40]}'")
    return asked == "otlp"


def traces(service: str) -> Traces | None:
    """Return what sends traces, if the environment asks for them.

    Raises:
        UsageError: it does, and the extra is missing.
    """
    if not are_there():
        return None
    from petra.telemetry.otel import Traces, exporter  # noqa: PLC0415 - only where it is wanted

    return Traces(exporter(), service)


def are_there() -> bool:
    """Tell whether traces are sent.

    Raises:
        UsageError: the environment asks for them, and the extra is missing.
    """
    if not are_wanted():
        return False
    try:
        import petra.telemetry.otel  # noqa: F401, PLC0415 - only where it is wanted
    except ModuleNotFoundError as error:
        raise UsageError(
            f"{error.name} is missing; install petra[otel], or unset {TRACES}"
        ) from None
    return True
