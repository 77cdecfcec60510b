"""Who does the ingestion jobs of a service."""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from pydantic_settings import BaseSettings


class WorkerSettings(BaseSettings):
    """Part of the settings: whether jobs are shared out, and how."""

    workers: Literal["in-process", "queue"] = Field(
        default="in-process",
        validation_alias="BYTHEBOOK_WORKERS",
        description="Who runs the ingestion jobs of a service: in-process is the service itself, "
        "queue leaves them to `bythebook worker`, which needs PostgreSQL and a Qdrant server.",
    )
    worker_lease: float = Field(
        default=30.0,
        ge=1,
        validation_alias="BYTHEBOOK_WORKER_LEASE",
        description="Seconds without a sign of life after which another worker takes over what a "
        "worker had begun.",
    )
