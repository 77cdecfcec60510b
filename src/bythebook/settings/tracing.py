"""Where traces go; nowhere unless asked."""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from pydantic_settings import BaseSettings


class TracingSettings(BaseSettings):
    """Part of the settings. The variables of OpenTelemetry may be set for other programs: they
    alone switch nothing on."""

    tracing: Literal["off", "otlp"] = Field(
        default="off",
        validation_alias="BYTHEBOOK_TRACING",
        description="Whether the service and `bythebook ingest` send traces to an OpenTelemetry "
        "collector: off, or otlp, which needs the extra otel.",
    )
    otlp_endpoint: str = Field(
        default="http://localhost:4318",
        pattern=r"^https?://",
        validation_alias="OTEL_EXPORTER_OTLP_ENDPOINT",
        description="Address of the collector, which takes OTLP over HTTP.",
    )
    service_name: str = Field(
        default="bythebook",
        min_length=1,
        validation_alias="OTEL_SERVICE_NAME",
        description="What the service is called in traces.",
    )
