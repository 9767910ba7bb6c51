"""What a server said that went wrong."""

from __future__ import annotations

from typing import Any

import httpx2
import msgspec

from petra.errors import PetraError

UNREACHABLE = "unreachable"
STRANGE = "strange"


class ServerError(PetraError):
    """A server refused, or could not be reached.

    ``code`` stays the same for ever (``no-credentials``, ``refused``, ``unavailable``, …); it is ``unreachable`` where
    no server answered. ``status`` is that of HTTP, ``errors`` are the places of a playbook that is wrong, ``page`` is the
    address of the page that says what the code means.
    """

    def __init__(  # noqa: PLR0913 - all that a program may look at
        self,
        code: str,
        detail: str,
        *,
        status: int = 0,
        hint: str = "",
        errors: tuple[Any, ...] = (),
        page: str = "",
    ) -> None:
        tells_more = hint and "'detail'" not in hint  # which leads to what stands before it
        super().__init__(f"{detail}; {hint}" if tells_more else detail)
        self.code = code
        self.detail = detail
        self.status = status
        self.hint = hint
        self.errors = errors
        self.page = page


async def check(answer: httpx2.Response) -> None:
    """Let an answer pass that is none of a problem.

    Raises:
        ServerError: what the server said that went wrong.
    """
    if answer.status_code >= 300:
        await answer.aread()
        raise refusal(answer)


def said_in(answer: httpx2.Response) -> Any:
    """Return what an answer that is none of a problem says; None where it says nothing.

    Raises:
        ServerError: what answers is no Petra server.
    """
    try:
        return answer.json() if answer.content else None
    except ValueError:
        raise refusal(answer) from None


def refusal(answer: httpx2.Response) -> ServerError:
    """Return what the server said that went wrong; the answer was read."""
    try:
        said = msgspec.json.decode(answer.content)
        code, detail, hint = str(said["code"]), str(said["detail"]), str(said.get("hint", ""))
    except (msgspec.DecodeError, KeyError, TypeError):
        said, code, hint = {}, STRANGE, _strange(answer)
        detail = f"{_origin(answer)} answers with HTTP {answer.status_code}, and not in the words of a Petra server"
    return ServerError(
        code, detail, status=answer.status_code, hint=hint, errors=tuple(said.get("errors", ())),
        page=_page(answer, said),
    )  # fmt: skip


def _strange(answer: httpx2.Response) -> str:
    """Say what to look at where something else answers than a server of Petra."""
    elsewhere = answer.headers.get("location", "") if answer.is_redirect else ""
    return f"it leads to {elsewhere}: name that address" if elsewhere else "check the address"


def _origin(answer: httpx2.Response) -> str:
    asked = answer.request.url
    return f"{asked.scheme}://{asked.netloc.decode()}"


def _page(answer: httpx2.Response, said: dict[str, Any]) -> str:
    """Return where the page of a problem is: ``type`` is an address of the server that answered."""
    kind = str(said.get("type", ""))
    return str(answer.request.url.join(kind)) if kind.startswith("/") else ""
