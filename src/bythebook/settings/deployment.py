"""How a service is run: connections, fetching, platforms, the sandbox, traces, workers."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, SecretStr

from bythebook.settings.agent import FromEnvironment

# `book`, or `CHANNEL=book` for certain channels, with commas between.
_BOOKS = r"^(\s*([A-Za-z0-9]+\s*=\s*)?[^\s,=]+\s*(,|$))*$"


class DeploymentSettings(FromEnvironment):
    """What an operator may choose beside the agent and the index."""

    # Limits of connections and of requests that are not whole yet.
    max_header_kb: int = Field(
        default=32,
        ge=4,
        le=1024,
        description="Largest headers of a request, in kilobytes; at most 100 headers.",
    )
    header_seconds: float = Field(
        default=10.0,
        gt=0,
        description="Seconds in which the headers of a request must arrive, and up to a tenth "
        "more.",
    )
    body_seconds: float = Field(
        default=30.0,
        gt=0,
        description="Seconds in which the body of a request must arrive, and up to a tenth more.",
    )
    unread_seconds: float = Field(
        default=60.0,
        gt=0,
        description="Seconds that an answer waits for a client that does not read it.",
    )
    max_connections: int = Field(
        default=1000,
        ge=10,
        description="Open connections; for a further one, the one that has waited longest is "
        "closed. Less if the system allows fewer open files (`ulimit -n`).",
    )

    # What one file of a book may cost.
    sandbox: bool = Field(
        default=True,
        description="Whether a book's files are read in a separate process with limits; false "
        "reads them without limits.",
    )
    sandbox_mb: int = Field(
        default=1024,
        ge=256,
        description="Megabytes of memory for reading a file (Linux only); a file that needs more "
        "is reported and skipped.",
    )
    sandbox_seconds: int = Field(
        default=60,
        ge=1,
        description="Seconds of processor time for reading a file, and as many again for each "
        "megabyte of it; ten times that by the clock.",
    )

    # Bounds for what comes from elsewhere.
    fetch_pages: int = Field(
        default=2000,
        ge=1,
        le=100_000,
        description="Most pages that are fetched of a web site.",
    )
    fetch_depth: int = Field(
        default=20,
        ge=0,
        description="How many links away from the start page a page may be.",
    )
    fetch_delay: float = Field(
        default=0.2,
        ge=0,
        description="Seconds between two requests to a web site; a longer Crawl-delay of its "
        "robots.txt is kept.",
    )
    fetch_page_seconds: float = Field(
        default=20.0,
        gt=0,
        description="Seconds that one page of a web site may take.",
    )
    fetch_minutes: float = Field(
        default=60.0,
        gt=0,
        description="Minutes that fetching a web site or a git repository may take in all.",
    )
    fetch_private: str = Field(
        default="",
        description="Private addresses that may be fetched from, with commas between: "
        "10.1.0.0/16, 127.0.0.1:8080, [::1]:80. None by default.",
    )
    reread_hours: float = Field(
        default=0.0,
        ge=0,
        description="Hours after which a running service or worker reads web sites and git "
        "repositories again; 0 never does.",
    )
    fetch_over_http: bool = Field(
        default=True,
        description="Whether an admin may add a web or git address as a new book over HTTP and on "
        "the page /admin. Private addresses are refused all the same.",
    )

    # Whether jobs are shared out, and how.
    workers: Literal["in-process", "queue"] = Field(
        default="in-process",
        description="Who reads books for the service: in-process is the service itself; queue "
        "leaves it to `bythebook worker`, which needs PostgreSQL and a Qdrant server.",
    )
    worker_lease: float = Field(
        default=30.0,
        ge=1,
        description="Seconds without a sign of life after which another worker takes over.",
    )

    # Nothing of these is needed, and a platform needs all of its own.
    slack_signing_secret: SecretStr | None = Field(
        default=None,
        description="Signing secret of the Slack app.",
    )
    slack_bot_token: SecretStr | None = Field(
        default=None,
        description="Bot token of the Slack app (xoxb-…).",
    )
    slack_book: str = Field(
        default="",
        pattern=_BOOKS,
        description="Book for Slack, or CHANNEL=BOOK for single channels, separated by commas; "
        "without it, the only book or BYTHEBOOK_BOOK.",
    )
    discord_public_key: str | None = Field(
        default=None,
        pattern=r"^[0-9a-fA-F]{64}$",
        description="Public key of the Discord application.",
    )
    discord_application_id: str | None = Field(
        default=None,
        pattern=r"^[0-9]{1,20}$",
        description="Id of the Discord application.",
    )
    discord_book: str = Field(
        default="",
        pattern=_BOOKS,
        description="Book for Discord, written like BYTHEBOOK_SLACK_BOOK.",
    )

    # The variables of OpenTelemetry may be set for other programs: they alone switch nothing on.
    tracing: Literal["off", "otlp"] = Field(
        default="off",
        description="Whether the service and `bythebook ingest` send traces to an OpenTelemetry "
        "collector: off, or otlp.",
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
