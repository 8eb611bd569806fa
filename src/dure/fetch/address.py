"""Which addresses may be reached: public ones, and those of networks that the operator allows.

A page can name any host, and a host's name can stand for any address, the one of a cloud's
metadata service or of a neighbour's database included. So the address itself is judged, after
the name was resolved, and the connection goes to that very address.
"""

from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final

from dure.fetch.failure import AddressRefused
from dure.fetch.policy import Network

_NAT64: Final = ip_network("64:ff9b::/96")
_REFUSED: Final = tuple(
    map(
        ip_network,
        (
            "0.0.0.0/8",
            "100.64.0.0/10",
            "168.63.129.16/32",  # a cloud's metadata service, although public
            "192.0.0.0/24",
            "192.88.99.0/24",
            "64:ff9b:1::/48",
            "2001::/23",
            "fec0::/10",
            "5f00::/16",
        ),
    )
)


def check_address(address: str, allowed: tuple[Network, ...], name: str = "") -> None:
    """Raise AddressRefused unless `address` may be reached."""
    if not may_reach(address, allowed):
        of = f" of {name}" if name and name != address else ""
        raise AddressRefused(
            f"The address {address}{of} is private, local or reserved",
            host=name or address,
            hint="Name its network in FetchPolicy(allow=...) if that is meant.",
        )


@lru_cache(maxsize=4096)
def may_reach(address: str, allowed: tuple[Network, ...]) -> bool:
    """Whether a connection to this address is allowed; what is no address at all is not."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    inner = _inner(parsed)
    if any(each in network for each in (parsed, inner) for network in allowed):
        return True
    return _is_public(parsed) and _is_public(inner)


@lru_cache(maxsize=4096)
def is_address(name: str) -> bool:
    """Whether a host's name is an address."""
    try:
        ip_address(name.partition("%")[0])
    except ValueError:
        return False
    return True


def _inner(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """The IPv4 address that an IPv6 one leads to, if it does."""
    if isinstance(address, IPv4Address):
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    if address in _NAT64 or int(address) >> 32 == 0:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    if isinstance(address, IPv6Address) and address in _NAT64:
        return True  # what it leads to is judged by itself
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return True
    return (
        address.is_global
        and not address.is_multicast
        and not address.is_reserved
        and not any(address in network for network in _REFUSED)
    )
