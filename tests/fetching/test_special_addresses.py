"""No address of the special-purpose registries is asked."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network

import pytest

from bythebook.errors import SourceError
from bythebook.fetching.guard import Guard
from bythebook.fetching.web import Web

# iana-ipv4-special-registry, and multicast.
BLOCKS_4 = (
    "0.0.0.0/8 0.0.0.0/32 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 "
    "192.0.0.0/24 192.0.0.0/29 192.0.0.8/32 192.0.0.9/32 192.0.0.10/32 192.0.0.170/32 "
    "192.0.0.171/32 192.0.2.0/24 192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.88.99.2/32 "
    "192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 240.0.0.0/4 "
    "255.255.255.255/32 224.0.0.0/4"
).split()
# iana-ipv6-special-registry; then what the address space keeps for itself: IPv4-compatible and
# IPv4-translated addresses, site-local, multicast, 6bone, and blocks nobody was given.
BLOCKS_6 = (
    "::1/128 ::/128 ::ffff:0:0:0/96 64:ff9b:1::/48 100::/64 100:0:0:1::/64 2001::/23 2001::/32 "
    "2001:1::1/128 2001:1::2/128 2001:1::3/128 2001:2::/48 2001:3::/32 2001:4:112::/48 "
    "2001:10::/28 2001:20::/28 2001:30::/28 2001:db8::/32 2002::/16 2620:4f:8000::/48 3fff::/20 "
    "5f00::/16 fc00::/7 fe80::/10 "
    "::/96 ::/8 200::/7 400::/6 800::/5 1000::/4 3ffe::/16 4000::/3 6000::/3 8000::/3 a000::/3 "
    "c000::/3 e000::/4 f000::/5 f800::/6 fe00::/9 fec0::/10 ff00::/8"
).split()


# Inside ::/8, but only another way to write an address of IPv4.
WRITTEN = ("::ffff:0:0/96", "64:ff9b::/96")


def samples(block: str) -> list[IPv4Address | IPv6Address]:
    network = ip_network(block)
    first, last = int(network.network_address), int(network.broadcast_address)
    kind = IPv6Address if isinstance(network, IPv6Network) else IPv4Address
    return [kind(each) for each in {first, min(first + 1, last), (first + last) // 2, last}]


@pytest.mark.parametrize("block", [*BLOCKS_4, *BLOCKS_6])
def test_no_address_of_a_special_block_is_asked(block: str) -> None:
    for address in samples(block):
        assert not Guard().permits(address, 80), address
        # Unless the operator names the block.
        assert Guard.from_setting(block).permits(address, 80), address


@pytest.mark.parametrize("block", BLOCKS_4)
@pytest.mark.parametrize("written", [*WRITTEN, "::ffff:0:0:0/96", "64:ff9b:1::/96", "::/96"])
def test_nor_when_it_is_written_as_one_of_ipv6(block: str, written: str) -> None:
    for address in samples(block):
        inside = IPv6Address(int(ip_network(written).network_address) | int(address))
        assert not Guard().permits(inside, 80), inside


@pytest.mark.parametrize(
    "address",
    "8.8.8.8 1.1.1.1 100.63.255.255 100.128.0.0 172.32.0.0 191.255.255.255 192.0.1.0 198.20.0.0 "
    "223.255.255.255 2001:200::1 2606:4700::1111 2a00:1450::1 3ffd:ffff::1 ::ffff:8.8.8.8 "
    "64:ff9b::808:808".split(),
)
def test_their_neighbours_are(address: str) -> None:
    assert Guard().permits(ip_address(address), 443)


@pytest.mark.parametrize(
    "host",
    "[::ffff:0:127.0.0.1] [3fff::1] [5f00::1] [64:ff9b:1::7f00:1] [2002:7f00:1::] 0x7f000001 "
    "2130706433 017700000001 127.1 0".split(),
)
async def test_an_address_of_a_page_is_refused_before_it_is_connected(host: str) -> None:
    async with Web(Guard(), 5, 0) as web:
        with pytest.raises(SourceError, match="is not a public address"):
            await web.get(f"http://{host}/", 1000)
