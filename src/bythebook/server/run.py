"""Running the service: it listens, and when it is told to stop it lets running answers finish."""

from __future__ import annotations

import asyncio
import errno
import gc
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn

from bythebook.errors import ConfigurationError
from bythebook.keys import Keys
from bythebook.server.app import make_app
from bythebook.server.auth import is_loopback
from bythebook.server.connection import ConnectionConfig, ConnectionManager, connection_limit
from bythebook.server.logs import configure_logging
from bythebook.server.prometheus import Metrics
from bythebook.server.service import Service, open_service
from bythebook.settings import Settings
from bythebook.tracing import sending_traces

# After running answers were told to end, what is still open is cut.
LAST_SECONDS = 5
# Longer than the proxies and clients that people use keep a connection, so that it is they who
# close it: one closed here at the moment they use it again is a request that fails.
KEEP_ALIVE_SECONDS = 75


async def serve(settings: Settings, when_ready: Callable[[Server], None]) -> None:
    """Listen until told to stop, by a signal or by `should_exit` of what `when_ready` gets."""
    configure_logging(settings)
    with _listening(settings) as listener:
        async with (
            sending_traces(settings.tracing, settings.otlp_endpoint, settings.service_name),
            open_service(settings, Metrics()) as service,
        ):
            await _check_keys(settings, service.keys)
            config = ConnectionConfig(
                make_app(settings, service),
                ConnectionManager(
                    settings, service.metrics, connection_limit(settings.max_connections)
                ),
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=bool(settings.trusted_proxies),
                # Never None, for which uvicorn would look into the environment.
                forwarded_allow_ips=settings.trusted_proxies,
                timeout_keep_alive=KEEP_ALIVE_SECONDS,
                timeout_graceful_shutdown=int(settings.shutdown_seconds) + LAST_SECONDS,
            )
            server = Server(config, service, _address(listener), when_ready)
            await server.serve(sockets=[listener])


def new_event_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop's where there is one, which is faster than Python's own."""
    return uvicorn.Config("").get_loop_factory()


class Server(uvicorn.Server):
    """Tells running answers to end, and exits as one that was asked to, not as one that died."""

    def __init__(
        self,
        config: uvicorn.Config,
        service: Service,
        address: str,
        when_ready: Callable[[Server], None],
    ) -> None:
        super().__init__(config)
        self.service = service
        self.address = address
        self.when_ready = when_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        # Python's collector would look through all that stands now every so often, and hold up
        # everything for 150 ms and more. Nearly all of it is used until the end.
        gc.freeze()
        self.when_ready(self)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        gc.unfreeze()
        seconds = self.service.settings.shutdown_seconds
        ending = asyncio.create_task(self.service.assistant.stop(seconds))
        await super().shutdown(sockets)
        ending.cancel()
        await asyncio.gather(ending, return_exceptions=True)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        handled = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, self.handle_exit) for number in handled}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


async def _check_keys(settings: Settings, keys: Keys) -> None:
    if not is_loopback(settings.host) and not await keys.usable():
        raise ConfigurationError(
            f"The service does not listen on {settings.host} without a key, since anybody could "
            "use it.",
            action="Make one with `bythebook keys create NAME`, or listen on 127.0.0.1.",
        )


@contextmanager
def _listening(settings: Settings) -> Iterator[socket.socket]:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        listener = socket.create_server((settings.host, settings.port), family=family, backlog=2048)
    except OSError as problem:
        if problem.errno == errno.EADDRINUSE:
            raise ConfigurationError(
                f"Another program already listens on {settings.host}, port {settings.port}; it "
                "may be bythebook itself.",
                action="Stop it, or choose another port with --port, such as `--port 8001`.",
            ) from problem
        raise ConfigurationError(
            f"The service can't listen on {settings.host}, port {settings.port}: "
            f"{problem.strerror or problem}.",
            action="Choose another with --host and --port, or stop what listens there.",
        ) from problem
    with listener:
        # Python's own event loop would leave it to the system to hold the second half of each
        # response back for 40 ms; its connections take this over from the listener.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield listener


def _address(listener: socket.socket) -> str:
    host, port, *_ = listener.getsockname()
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
