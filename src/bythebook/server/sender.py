"""Where a request comes from, as far as that is known."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address

from fastapi import Request

# Whoever has one address of IPv6 has as many as this leaves.
OWN_NETWORK = 64


def address_of(request: Request) -> str:
    """The address to count by; of IPv6 its network."""
    host = request.client.host if request.client else ""
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped:
            return str(address.ipv4_mapped)
        shift = 128 - OWN_NETWORK
        return f"{IPv6Address(int(address) >> shift << shift)}/{OWN_NETWORK}"
    return str(address)


def is_told_apart(request: Request, trusted_proxies: str) -> bool:
    """Whether the address is a reader's own. One of this machine or its network may be a proxy
    that all readers come through, unless the proxies are known."""
    if trusted_proxies:
        return True
    try:
        return ip_address(
            (request.client.host if request.client else "").partition("%")[0]
        ).is_global
    except ValueError:
        return False
