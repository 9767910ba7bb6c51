"""Who may come in: users, service accounts, API tokens, sessions; and the audit of what they did.

Rule 1: nothing that lets somebody in is stored: of passwords, tokens and sessions only what they hash to.
Rule 2: whoever is looked up is looked up in the store: what was revoked is revoked at once, for every server.
Rule 3: nobody gives away what they do not have: whoever administers a namespace administers those whose roles lie in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from petra.lazy_names import lazy

if TYPE_CHECKING:
    from petra.accounts.attempts import Attempts, TooManyError
    from petra.accounts.audit import Audit
    from petra.accounts.register import Register
    from petra.accounts.rows import Session, User

__all__ = ["Attempts", "Audit", "Register", "Session", "TooManyError", "User"]

if not TYPE_CHECKING:  # whoever opens a folder asks for its safe only
    __getattr__, __dir__ = lazy(
        __name__,
        {
            "Attempts": "petra.accounts.attempts",
            "TooManyError": "petra.accounts.attempts",
            "Audit": "petra.accounts.audit",
            "Register": "petra.accounts.register",
            "Session": "petra.accounts.rows",
            "User": "petra.accounts.rows",
        },
    )
