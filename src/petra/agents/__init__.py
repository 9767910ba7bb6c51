"""What agents may do here, over the Model Context Protocol: look, act where that is allowed, run playbooks as tools.

It is a client of the API and nothing more: every tool is one or two calls under the name of whoever asks, so roles,
namespaces, audit and problems are those of the API, whether an agent came over a pipe or over HTTP.

Rule 1: reading is always offered; what starts, acts or approves only where ``--allow`` or the token's role says so.
Rule 2: what is wrong comes back as an error of the tool, with the problem's code and the next move; no traceback.
Rule 3: an answer is bounded: what is longer is cut, and says how to ask for the rest.
Rule 4: the ``mcp`` library is imported by ``speaking`` and ``door`` alone, when somebody wants it.
"""
