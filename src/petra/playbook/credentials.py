"""The keychain kinds that Petra knows (S20)."""

from __future__ import annotations

from types import MappingProxyType

CREDENTIAL_KINDS = MappingProxyType(
    {
        "env": ("var",), "file": ("path",), "credential": ("credential", "ref"),
        "secret_manager": ("provider", "path", "map", "auth", "region"),
        "oauth2": (
            "endpoint", "token_url", "client_id", "client_secret", "scope", "method", "headers",
            "data", "token_field", "ttl_field", "auth",
        ),
        "bearer": ("token", "credential", "ref"),
        "basic": ("username", "password", "credential", "ref"),
        "api_key": ("header", "key", "query", "credential", "ref"),
        "postgres_credential": ("credential", "ref", "url"),
    }
)  # fmt: skip
"""The keychain kinds Petra knows, and the keys each takes beside name and kind."""
