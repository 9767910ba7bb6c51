"""Triggers: what arrives from outside as events, and what comes of one (S24).

Pure but for those who watch folders and databases: a request becomes events here, a signature is judged, and the
expressions of a trigger say whether an event counts, which one it is, and what is started with it.
"""
