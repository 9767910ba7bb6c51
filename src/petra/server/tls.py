"""TLS: the certificate of a server, read again when its files change, without a pause.

Rule 1: every connection that begins looks whether the files are others; those that are open go on with what they have.
Rule 2: files that do not fit together, as halfway through a change, leave the certificate that is there.
"""

from __future__ import annotations

import logging
import ssl
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.x509 import DNSName, ExtensionNotFound, IPAddress, SubjectAlternativeName

from petra.errors import UsageError

_log = logging.getLogger(__name__)
_Stamp = tuple[tuple[int, int, int], ...]
_BROKEN: Final = (OSError, ssl.SSLError, ValueError)


class Certificate:
    """A certificate with its key, as it is in its files now."""

    def __init__(self, certificate: Path, key: Path) -> None:
        """Read it.

        Raises:
            UsageError: it cannot be read, or the key is not its own.
        """
        self._files = certificate, key
        try:
            self._stamp = self._look()
            self._newest = self._read()
            self.names = names_of(certificate)
        except _BROKEN as error:
            raise UsageError(f"{certificate} and {key} cannot be used: {error}") from None
        self.context = self._read()
        self.context.sni_callback = self._renew

    def _look(self) -> _Stamp:
        stats = [file.stat() for file in self._files]
        return tuple((stat.st_mtime_ns, stat.st_size, stat.st_ino) for stat in stats)

    def _read(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        context.load_cert_chain(*self._files)
        return context

    def _renew(self, connection: ssl.SSLObject, name: str, context: ssl.SSLContext) -> None:
        """Give a connection that begins what is in the files now."""
        del name, context
        try:
            stamp = self._look()
            if stamp != self._stamp:
                self._newest = self._read()
                self._stamp = stamp
                self.names = names_of(self._files[0])
                _log.info("the certificate of %s is used from now on", self._files[0])
        except _BROKEN as error:
            _log.warning(
                "%s changed and cannot be used, the one before is: %s", self._files[0], error
            )
        connection.context = self._newest


def names_of(certificate: Path) -> frozenset[str]:
    """Return the names and addresses that a certificate is for."""
    read = x509.load_pem_x509_certificate(certificate.read_bytes())
    try:
        names = read.extensions.get_extension_for_class(SubjectAlternativeName).value
    except ExtensionNotFound:
        return frozenset()
    addresses = {str(address) for address in names.get_values_for_type(IPAddress)}
    return frozenset(names.get_values_for_type(DNSName)) | addresses
