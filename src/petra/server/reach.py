"""How far a server can be reached: where it listens, under which names, with which certificate, behind which proxies.

Rule 1: beyond this machine nobody listens without users, nor without TLS, unless trusted proxies stand in between.
Rule 2: a server answers to its own names: those of this machine, and those of its certificate. Behind proxies it is they
who know the names; whoever comes past them is turned away.
Rule 3: what a proxy says about where a request came from is believed of those that are named, and of nobody else.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import Final

from petra.errors import UsageError

LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})
_ANYWHERE: Final = frozenset({"0.0.0.0", "::", ""})  # noqa: S104 - to be recognized, not to listen there
_USUAL: Final = {"https": 443, "http": 80}

Network = IPv4Network | IPv6Network


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What somebody wants of the address of a server."""

    host: str = "127.0.0.1"
    port: int = 7777
    certificate: Path | None = None
    key: Path | None = None
    proxies: tuple[Network, ...] = ()

    @property
    def scheme(self) -> str:
        """How it is spoken to."""
        return "https" if self.certificate is not None else "http"

    def url(self, port: int, names: Collection[str] = ()) -> str:
        """Return its address for a browser; ``names`` are those of its certificate."""
        host = self.host
        if host in _ANYWHERE:
            host = next((name for name in sorted(names) if "*" not in name), "127.0.0.1")
        host = f"[{host}]" if ":" in host else host
        return f"{self.scheme}://{host}:{port}"


def networks(texts: Iterable[str]) -> tuple[Network, ...]:
    """Read the addresses of proxies, single ones or networks.

    Raises:
        UsageError: one is none.
    """
    trusted: list[Network] = []
    for name in (part.strip() for text in texts for part in text.split(",")):
        try:
            trusted.append(ip_network(name))
        except ValueError as error:
            raise UsageError(
                f"--behind-proxy {name[:60]}: {error}; write an address, or a network such as 10.0.0.0/8"
            ) from None
    return tuple(trusted)


def refuse(reach: Reach, *, has_users: bool) -> None:
    """Refuse to listen where that is not safe.

    Raises:
        UsageError: it is not, and what would make it so.
    """
    if (reach.certificate is None) != (reach.key is None):
        raise UsageError("give both --tls-cert and --tls-key, or none of them")
    if reach.host in LOOPBACK:
        return
    where = f"{reach.host or 'every address'} can be reached by others"
    if not has_users:
        raise UsageError(
            f"{where}, and this server knows no users; first 'petra user add NAME --role admin@*', or log in at a provider (--oidc-issuer)"
        )
    if reach.certificate is None and not reach.proxies:
        raise UsageError(
            f"{where}, who could read along; give --tls-cert and --tls-key, or name the proxies that have TLS: "
            "--behind-proxy CIDR"
        )


class Names:
    """The names that a server answers to, each with its port."""

    def __init__(
        self, reach: Reach, port: int, certified: Callable[[], Collection[str]] = tuple
    ) -> None:
        """Note them; ``certified`` gives those of the certificate, which may change."""
        self._own = {"localhost", "127.0.0.1", "::1", reach.host.lower()} - _ANYWHERE
        self._certified = certified
        self._port = port
        self._usual = _USUAL[reach.scheme]

    def __contains__(self, host: object) -> bool:
        """Tell whether what a request says it wants is this server."""
        if not isinstance(host, str):
            return False
        name, port = _split(host.lower())
        if port is None:
            port = str(self._usual)
        if port != str(self._port):
            return False
        if name in self._own:
            return True
        meant = {name, "*." + name.partition(".")[2]}
        return any(certified.lower() in meant for certified in self._certified())


def _split(host: str) -> tuple[str, str | None]:
    if host.startswith("["):
        name, _, port = host[1:].partition("]")
        return name, port.removeprefix(":") if port else None
    name, colon, port = host.partition(":")
    return name, port if colon else None


def is_trusted(address: str, proxies: Iterable[Network]) -> bool:
    """Tell whether an address is one of the proxies."""
    try:
        ip = ip_address(address)
    except ValueError:
        return False
    return any(ip in network for network in proxies)


def is_here(address: str) -> bool:
    """Tell whether an address is of this machine."""
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False


def origin_of(peer: str, forwarded: str, proxies: Collection[Network]) -> str:
    """Return where a request came from that went through proxies: the last address that is none of them.

    What stands before that one, its sender may have made up.
    """
    for hop in reversed([part.strip() for part in forwarded.split(",") if part.strip()]):
        try:
            peer = str(ip_address(hop.strip("[]")))
        except ValueError:
            return peer
        if not is_trusted(peer, proxies):
            return peer
    return peer
