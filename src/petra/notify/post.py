"""Mail, by SMTP, in a thread: loaded where there is a channel for it."""

from __future__ import annotations

import contextlib
import smtplib
import socket
import ssl
from collections.abc import Callable
from email.message import EmailMessage

from petra.notify.channels import ChannelSpec
from petra.notify.tries import Try


class Post:
    """One mail on its way."""

    def __init__(
        self, channel: ChannelSpec, host: str, port: int, address: str, password: str
    ) -> None:
        self._channel = channel
        self._host, self._port, self._address = host, port, address
        self._password = password
        self._socket: socket.socket | None = None

    def cut(self) -> None:
        """Cut the connection, from another thread."""
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    def opened(self) -> socket.socket:
        """Connect to the address that was looked at."""
        connection = socket.create_connection((self._address, self._port), self._channel.timeout_s)
        self._socket = connection
        return connection

    def send(self, letter: EmailMessage) -> Try:
        """Send it; only what the server took is sent."""
        try:
            refused = self._taken(self._connected(), letter)
        except smtplib.SMTPAuthenticationError:
            return Try("it refused the log-in")
        except smtplib.SMTPRecipientsRefused as error:
            codes = sorted({code for code, _ in error.recipients.values()})
            return Try(f"it refused every recipient ({', '.join(map(str, codes))})")
        except smtplib.SMTPResponseException as error:
            return Try(f"it answered {error.smtp_code}")
        except (smtplib.SMTPException, OSError) as error:
            return Try(f"it cannot be reached: {type(error).__name__}", away=True)
        return Try(f"it refused {len(refused)} of the recipients", final=True) if refused else Try()

    def _taken(self, server: smtplib.SMTP, letter: EmailMessage) -> dict[str, tuple[int, bytes]]:
        """Have a mail taken; a server that hangs up after it took one has it nevertheless."""
        try:
            if self._channel.tls == "starttls":
                server.starttls(context=ssl.create_default_context())
            if self._channel.username:
                server.login(self._channel.username, self._password)
            refused = server.send_message(letter)
            with contextlib.suppress(smtplib.SMTPException, OSError):
                server.quit()
        finally:
            server.close()
        return refused

    def _connected(self) -> smtplib.SMTP:
        kind = _SmtpsTo if self._channel.tls == "tls" else _SmtpTo
        return kind(self.opened, self._host, self._port, self._channel.timeout_s)


class _SmtpTo(smtplib.SMTP):
    """Speaks through a connection that somebody else opens, under the name of the server."""

    def __init__(
        self, opened: Callable[[], socket.socket], host: str, port: int, seconds: float
    ) -> None:
        self._opened = opened
        super().__init__(host, port, timeout=seconds)

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:  # noqa: ARG002
        return self._opened()


class _SmtpsTo(_SmtpTo):
    """The same, encrypted from the start."""

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        connection = super()._get_socket(host, port, timeout)
        return ssl.create_default_context().wrap_socket(connection, server_hostname=host)
