"""The HTTP API of an engine: what a program, a page or another machine may ask, as resources under ``/api/v1``.

It decides nothing: every call goes to the desk (``petra.desk``), under the name of whoever asks.

Rule 1: who asks is found out once, at the door (``identity``); a handler gets a principal, never a header.
Rule 2: what is wrong is a problem document with a code that stays (``problems``); no traceback leaves the house.
Rule 3: nothing here holds up the engine: bodies and answers are bounded, proofs and replays run beside it.
Rule 4: the web framework is imported by this package alone.
"""

from petra.server.app import build
from petra.server.identity import Identity
from petra.server.listen import serving
from petra.server.reach import Reach, networks
from petra.server.service import Service

__all__ = ["Identity", "Reach", "Service", "build", "networks", "serving"]
