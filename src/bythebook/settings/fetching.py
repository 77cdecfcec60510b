"""How web sites and git repositories are fetched."""

from __future__ import annotations

from pydantic import Field
from pydantic_settings import BaseSettings


class FetchSettings(BaseSettings):
    """Part of the settings: bounds for what comes from elsewhere."""

    fetch_pages: int = Field(
        default=2000,
        ge=1,
        le=100_000,
        validation_alias="BYTHEBOOK_FETCH_PAGES",
        description="Most pages that are fetched of a web site.",
    )
    fetch_depth: int = Field(
        default=20,
        ge=0,
        validation_alias="BYTHEBOOK_FETCH_DEPTH",
        description="How many links away from the start page a page may be.",
    )
    fetch_delay: float = Field(
        default=0.2,
        ge=0,
        validation_alias="BYTHEBOOK_FETCH_DELAY",
        description="Seconds between two requests to a web site; a longer Crawl-delay of its "
        "robots.txt is kept.",
    )
    fetch_page_seconds: float = Field(
        default=20.0,
        gt=0,
        validation_alias="BYTHEBOOK_FETCH_PAGE_SECONDS",
        description="Seconds that one page of a web site may take.",
    )
    fetch_minutes: float = Field(
        default=60.0,
        gt=0,
        validation_alias="BYTHEBOOK_FETCH_MINUTES",
        description="Minutes that fetching a web site or a git repository may take in all.",
    )
    fetch_private: str = Field(
        default="",
        validation_alias="BYTHEBOOK_FETCH_PRIVATE",
        description="Private addresses that may be fetched from, with commas between: "
        "10.1.0.0/16, 127.0.0.1:8080, [::1]:80. None by default.",
    )
    fetch_over_http: bool = Field(
        default=False,
        validation_alias="BYTHEBOOK_FETCH_OVER_HTTP",
        description="Whether a request to the service may name a web or git address as a new book.",
    )
