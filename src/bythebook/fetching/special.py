"""Which addresses are public. The lists are IANA's registries of special-purpose addresses for
IPv4 and IPv6, because the `ipaddress` module knows what stood in them when Python was released.
Blocks that are said to be globally reachable (AS112, AMT) are listed too: none holds a book."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_network

SPECIAL_4 = tuple(
    map(
        ip_network,
        "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 "
        "192.0.2.0/24 192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 "
        "192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 "
        "240.0.0.0/4".split(),
    )
)
# Everything else in IPv6 is for one machine, one network, or nobody yet.
UNICAST_6 = ip_network("2000::/3")
SPECIAL_6 = tuple(
    map(
        ip_network,
        "2001::/23 2001:db8::/32 2002::/16 2620:4f:8000::/48 3ffe::/16 3fff::/20".split(),
    )
)
# The two ways to write an IPv4 address that lead to it: mapped, and by a network's translator.
WRITTEN_AS_6 = (ip_network("::ffff:0:0/96"), ip_network("64:ff9b::/96"))


def is_public(address: IPv4Address | IPv6Address) -> bool:
    if isinstance(address, IPv6Address):
        if address not in UNICAST_6:
            return False
        listed = any(address in network for network in SPECIAL_6)
    else:
        listed = any(address in network for network in SPECIAL_4)
    return not listed and address.is_global and not address.is_multicast


def plain(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """The IPv4 address that an IPv6 one is another way to write."""
    if any(address in network for network in WRITTEN_AS_6):
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address
