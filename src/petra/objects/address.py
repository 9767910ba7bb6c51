"""The address of a store of objects: a folder, or a bucket of S3, Google Cloud or Azure. Only what is used is imported.

What opens a bucket stands in the environment, as its vendor names it: ``AWS_ACCESS_KEY_ID``, ``AWS_ENDPOINT_URL``,
``GOOGLE_SERVICE_ACCOUNT``, ``AZURE_STORAGE_ACCOUNT_NAME`` and so on.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from petra.errors import UsageError
from petra.objects.base import ObjectStore
from petra.objects.local import LocalObjects

_ELSEWHERE = (
    "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT", "AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ENDPOINT",
    "GOOGLE_ENDPOINT_URL",
)  # fmt: skip
"""What makes the same address another bucket."""
BUCKETS = ("s3", "gs", "az")
"""The schemes of buckets. References name them, so a log says which kind of store has its objects."""


def open_objects(where: Path | str) -> ObjectStore:
    """Return the store of objects at an address: a folder, or ``s3://bucket/prefix``.

    Raises:
        UsageError: the address is none.
    """
    scheme, sign, _ = str(where).partition("://")
    if isinstance(where, Path) or not sign:
        return LocalObjects(Path(where))
    if scheme not in BUCKETS:
        raise UsageError(
            f"'{where}' is no place for objects; use a folder, s3://bucket, gs://bucket or az://container"
        )
    try:
        from petra.objects.bucket import open_bucket  # noqa: PLC0415
    except ImportError:
        raise UsageError(
            "a bucket needs 'obstore'; install it with pip install 'petra[s3]'"
        ) from None
    return open_bucket(where, scheme, place_of(where))


def place_of(where: str) -> str:
    """Return what two programs that were given the same bucket alike agree on, and others do not; it tells nobody which it is."""
    said = [where.rstrip("/"), *(f"{name}={os.environ.get(name, '')}" for name in _ELSEWHERE)]
    return hashlib.sha256("\n".join(said).encode()).hexdigest()
