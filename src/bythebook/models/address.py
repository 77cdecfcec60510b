"""Addresses as people may see them."""

from __future__ import annotations

import re

# All before the last @ of what stands between the slashes: names, passwords, tokens.
SIGNED_IN = re.compile(r"(?<=//)[^/\s]*@")


def shown_address(address: str) -> str:
    """Without the name and password that it may hold."""
    return SIGNED_IN.sub("", address)
