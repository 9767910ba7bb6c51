"""A real SMTP server of a few lines over asyncio: takes mail, with or without TLS, well or badly."""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import Message

from support.listening import listening


@dataclass
class Mailbox:
    """A running server, and what it took. ``behaves`` is one of well, silent, closes, refuses, hangs-up-after, drips."""

    behaves: str = "well"
    port: int = 0
    users: dict[str, str] = field(default_factory=dict)
    tls: ssl.SSLContext | None = None
    taken: list[Message] = field(default_factory=list)
    to: list[list[str]] = field(default_factory=list)
    log_ins: list[str] = field(default_factory=list)
    encrypted: list[bool] = field(default_factory=list)
    connections: int = 0


class _Talk:
    """One client."""

    def __init__(
        self, box: Mailbox, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.box, self.reader, self.writer = box, reader, writer
        self.recipients: list[str] = []
        self.encrypted = False
        self.known = not box.users

    async def say(self, *lines: str) -> None:
        self.writer.write("".join(f"{line}\r\n" for line in lines).encode())
        await self.writer.drain()

    async def run(self) -> None:
        if self.box.behaves == "silent":
            await asyncio.Event().wait()
        if self.box.behaves == "drips":
            while True:
                self.writer.write(b"2")
                await self.writer.drain()
                await asyncio.sleep(0.01)
        await self.say("220 here")
        while line := (await self.reader.readline()).decode().strip():
            if not await self.heard(line):
                return

    async def heard(self, line: str) -> bool:
        word, _, rest = line.partition(" ")
        match word.upper():
            case "EHLO" | "HELO":
                more = ["250-STARTTLS"] if self.box.tls and not self.encrypted else []
                more += ["250-AUTH PLAIN"] if self.box.users else []
                await self.say(*(["250-here", *more, "250 OK"]))
            case "STARTTLS":
                await self.say("220 go on")
                assert self.box.tls is not None
                await self.writer.start_tls(self.box.tls)
                self.encrypted = True
            case "AUTH":
                await self.auth(rest)
            case "MAIL":
                await self.say("250 OK" if self.known else "530 who are you?")
            case "RCPT":
                self.recipients.append(rest.partition("<")[2].rstrip(">"))
                await self.say("550 nobody here" if self.box.behaves == "refuses" else "250 OK")
            case "DATA":
                return await self.data()
            case "QUIT":
                await self.say("221 bye")
                return False
            case _:
                await self.say("250 OK")
        return True

    async def auth(self, rest: str) -> None:
        _, user, password = base64.b64decode(rest.split()[1]).decode().split("\0")
        self.known = self.box.users.get(user) == password
        self.box.log_ins.append(user)
        await self.say("235 welcome" if self.known else "535 no")

    async def data(self) -> bool:
        await self.say("354 go on")
        raw = await self.reader.readuntil(b"\r\n.\r\n")
        if self.box.behaves == "closes":  # half-way: nobody knows whether it was taken
            return False
        self.box.taken.append(message_from_bytes(raw.removesuffix(b".\r\n")))
        self.box.to.append(self.recipients)
        self.box.encrypted.append(self.encrypted)
        await self.say("250 taken")
        return self.box.behaves != "hangs-up-after"


@asynccontextmanager
async def mailbox(box: Mailbox) -> AsyncIterator[Mailbox]:
    """Take mail until the block ends."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        box.connections += 1
        await _Talk(box, reader, writer).run()

    async with listening(talk) as box.port:
        yield box
