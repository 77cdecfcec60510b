"""DATABASE_URL, as people and hosting services write it."""

from __future__ import annotations

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import SQLAlchemyError

from bythebook.errors import ConfigurationError

DRIVERS = {
    "sqlite": "sqlite+aiosqlite",
    "postgresql": "postgresql+asyncpg",
    "postgres": "postgresql+asyncpg",
}
EXAMPLES = "Give one such as postgresql://user:password@host/name or sqlite:///path."
# Parameters of a PostgreSQL address that have another name in our driver.
RENAMED = {"sslmode": "ssl"}
PARAMETERS = {"host", "port", "ssl", "target_session_attrs", "passfile"}


def database_address(url: str) -> URL:
    """An address with the driver we use."""
    try:
        address = make_url(url)
    except (SQLAlchemyError, ValueError) as problem:
        raise ConfigurationError(
            "DATABASE_URL is not a database address.", action=EXAMPLES
        ) from problem
    backend = address.drivername.partition("+")[0]
    if backend not in DRIVERS:
        raise ConfigurationError(
            f"DATABASE_URL names {backend!r}, which can't be used here.", action=EXAMPLES
        )
    address = address.set(drivername=DRIVERS[backend])
    return _for_asyncpg(address) if address.get_backend_name() == "postgresql" else address


def _for_asyncpg(address: URL) -> URL:
    query = {RENAMED.get(name, name): value for name, value in address.query.items()}
    unknown = sorted(query.keys() - PARAMETERS)
    if unknown:
        raise ConfigurationError(
            f"DATABASE_URL has parameters that can't be used here: {', '.join(unknown)}.",
            action=f"Leave them out; known are {', '.join(sorted(PARAMETERS))}.",
        )
    return address.set(query=query)
