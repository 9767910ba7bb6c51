"""The keychain: declarations of a playbook to secrets, on the worker only (S20).

``Keychain`` finds them, ``Secret`` keeps them from being shown, ``Scrubber`` takes them out of what tools bring
back, ``FileCredentials`` keeps them sealed at rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from petra.lazy_names import lazy

if TYPE_CHECKING:
    from petra.keychain.credentials import Credentials, FileCredentials, NoCredentials
    from petra.keychain.keychain import Keychain, Secrets
    from petra.keychain.scrub import Scrubber
    from petra.keychain.seal import KeychainError, KeyFile, Sealed
    from petra.keychain.secret import Secret

__all__ = [
    "Credentials",
    "FileCredentials",
    "KeyFile",
    "Keychain",
    "KeychainError",
    "NoCredentials",
    "Scrubber",
    "Sealed",
    "Secret",
    "Secrets",
]

if not TYPE_CHECKING:  # an engine asks for little of it
    __getattr__, __dir__ = lazy(
        __name__,
        {
            **dict.fromkeys(
                ("Credentials", "FileCredentials", "NoCredentials"), "petra.keychain.credentials"
            ),
            **dict.fromkeys(("Keychain", "Secrets"), "petra.keychain.keychain"),
            "Scrubber": "petra.keychain.scrub",
            **dict.fromkeys(("KeyFile", "KeychainError", "Sealed"), "petra.keychain.seal"),
            "Secret": "petra.keychain.secret",
        },
    )
