"""Large results, kept outside the log (S18).

Rule 1: a reference is returned only when what it leads to is durable.
Rule 2: what is read is verified: size and checksum are part of the reference.
Rule 3: objects are kept under the id of their execution and go away with it.

``LocalObjects`` is a folder; ``petra.objects.bucket`` speaks to S3 and its like, ``open_objects`` knows which it is. ``ExecutionObjects`` is the view of one
execution, which is all that a tool gets.
"""

from petra.objects.address import open_objects
from petra.objects.base import ExecutionObjects, ObjectStore, as_json
from petra.objects.local import LocalObjects
from petra.references import Reference, is_reference, read_reference

__all__ = [
    "ExecutionObjects",
    "LocalObjects",
    "ObjectStore",
    "Reference",
    "as_json",
    "is_reference",
    "open_objects",
    "read_reference",
]
