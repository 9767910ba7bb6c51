"""Who may come in: users, service accounts, API tokens, sessions; and the audit of what they did.

Rule 1: nothing that lets somebody in is stored: of passwords, tokens and sessions only what they hash to.
Rule 2: whoever is looked up is looked up in the store: what was revoked is revoked at once, for every server.
Rule 3: nobody gives away what they do not have: who administers a namespace administers those whose roles lie in it.
"""

from petra.accounts.attempts import Attempts, TooManyError
from petra.accounts.audit import Audit
from petra.accounts.register import Register
from petra.accounts.rows import ApiToken, Session, User

__all__ = ["ApiToken", "Attempts", "Audit", "Register", "Session", "TooManyError", "User"]
