"""The HTTP API of an engine: what a program, a page or another machine may ask, as resources under ``/api/v1``.

It decides nothing: every call goes to the desk (``petra.desk``), under the name of whoever asks.

Rule 1: who asks is found out once, at the door (``identity``); a handler gets a principal, never a header.
Rule 2: what is wrong is a problem document with a code that stays (``problems``); no traceback leaves the house.
Rule 3: nothing here holds up the engine: bodies and answers are bounded, proofs and replays run beside it.
Rule 4: the web framework is imported by this package alone.

Its modules, by what they do together; ``resources`` has the calls, a file each, and ``answers`` the shapes of what they answer.

- the whole: ``app``, ``service``, ``listen``, ``reach``, ``tls``, ``proxies``
- the door: the ``gate``, ``one_answer`` on its way out, ``identity``, ``needs``, ``request_notes`` for the audit, ``agents_door``
- what a request says: ``parameters``, ``strict_bodies``, ``act_bodies``, ``body_faults``, ``conditions``, ``repeats``, ``business_keys``
- what is answered: ``shapes``, ``json_answers``, ``paging``, ``ranges``, ``stored_objects``, ``documents``, ``problems`` and ``problem_codes``
- what the API says of itself: ``openapi``, ``links``, ``examples``
- waiting and streams: ``waiting``, ``outflow``, ``journal``, ``told_once``, ``shared_counts``, ``staying``, ``store_silence``
- many at once: ``operations``, ``operation_rows``
- work beside the loop: ``long_work``, ``texts``, ``benches``, ``workbench``, ``walk_through``, ``counter_example``
- workers elsewhere: ``worker_socket``, ``worker_items``, ``shared_worker``, ``shared_room``, ``here_link``
- for whoever watches it: ``metrics``, ``http_meters``, ``json_logs``, ``tracing``
"""

from petra.server.app import build
from petra.server.identity import Identity
from petra.server.listen import serving
from petra.server.reach import Reach, networks
from petra.server.service import Service

__all__ = ["Identity", "Reach", "Service", "build", "networks", "serving"]
