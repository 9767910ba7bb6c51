"""The scrubber finds a secret in every form that tools bring back."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from petra.keychain import Scrubber
from petra.keychain.scrub import SHORTEST

SECRET = st.text(st.characters(codec="utf-8"), min_size=5, max_size=30).filter(
    lambda text: "*" not in text
)
AROUND = st.binary(max_size=7)


def scrubber(*secrets: str) -> Scrubber:
    made = Scrubber()
    for secret in secrets:
        made.add(secret)
    return made


@pytest.mark.spec("S20")
@given(SECRET, st.text(max_size=5), st.text(max_size=5))
def test_every_spelling_is_found(secret: str, before: str, after: str) -> None:
    made = scrubber(secret)
    for form in (
        secret,
        quote(secret, safe=""),
        quote(secret),
        quote_plus(secret),
        quote(secret, safe="").lower() if secret.isascii() and secret.islower() else secret,
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        json.dumps(json.dumps(secret))[3:-3],
        msgspec.json.encode(secret).decode()[1:-1],
        html.escape(secret),
    ):
        text = before + form + after
        assert made.suspects(text.encode())
        assert made.scrub(text) != text
        assert form not in made.scrub(text) or form in before + after


@pytest.mark.spec("S20")
@given(SECRET, AROUND, AROUND, st.sampled_from([base64.b64encode, base64.urlsafe_b64encode]))
def test_base64_is_found_wherever_it_stands(
    secret: str, before: bytes, after: bytes, encode: Callable[[bytes], bytes]
) -> None:
    text = encode(before + secret.encode() + after).decode()
    made = scrubber(secret)
    assert made.suspects(text.encode())
    assert "***" in made.scrub(text)


@pytest.mark.parametrize("secret", ["pass word", "p@ss/w:rd?&=", "tab\tand\nline", "naïve—🔑key"])
def test_python_shows_of_a_secret_are_found(secret: str) -> None:
    assert scrubber(secret).scrub(f"ValueError: {secret!r}") == "ValueError: '***'"
    assert scrubber(secret).scrub(ascii(secret)) == "'***'" or not secret.isascii()


@given(st.text(max_size=200))
def test_text_without_a_secret_stays_as_it_is(text: str) -> None:
    made = scrubber("xK9-unlikely-value")
    assert made.scrub(text) == text


def test_the_longer_of_two_secrets_goes_first() -> None:
    assert scrubber("abcd", "abcdefgh").scrub("abcdefgh") == "***"


def test_a_line_of_a_long_secret_is_found_alone() -> None:
    key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG\n9w0BAQEFAASCBKcwggSj\n-----END KEY-----"
    assert scrubber(key).scrub("near MIIEvQIBADANBgkqhkiG") == "near ***"


def test_what_is_too_short_is_not_looked_for() -> None:
    assert scrubber("a" * (SHORTEST - 1)).scrub("aaaaaa") == "aaaaaa"


def test_keys_and_values_of_data_are_cleaned_at_any_depth() -> None:
    made = scrubber("s3cret-value")
    data = {"a": [{"s3cret-value": ["x s3cret-value", 1, None]}], "b": True}
    assert made.clean(data) == {"a": [{"***": ["x ***", 1, None]}], "b": True}


@pytest.mark.slow
def test_old_secrets_are_forgotten_before_memory_grows() -> None:
    made = Scrubber()
    for number in range(2_100):
        made.add(f"value-{number:06}")
    assert len(made._values) == 2_000
    assert made.scrub("value-002099") == "***"
