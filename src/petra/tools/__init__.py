"""Tools: what a worker runs for a task, chosen by ``kind`` (S22).

``base`` has the protocol and ``attempt``, which runs a tool so that nothing but an outcome comes out;
``registry`` finds the built-in kinds and plug-ins; each kind is one file. Nothing is imported here, so that
a child process of ``python`` starts fast.
"""
