"""Secrets on a worker: resolved when used, resolved again after an auth error, and never in what leaves it."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from support.clocks import FakeClock
from worker.desk import Desk, ProbeTools, digest_of, ok, playbook, scenario, with_worker

from petra.keychain import Keychain, KeychainError
from petra.kinds import Http
from petra.objects import LocalObjects
from petra.playbook import to_yaml
from petra.tools.base import ToolContext, ToolError, secret_of
from petra.tools.registry import Registry
from petra.wire import Error, Outcome, Report, Write
from petra.wire import frames as f
from petra.worker import Worker
from petra.worker.playbooks import Playbooks
from petra.worker.results import finish

CANARY = 'c4n@ry/s3cret+välue "q"&7'
HEAD = "keychain: [{name: k, kind: env, var: K}, {name: b, kind: bearer, token: k}]"
CALL = """
- step: s
  tool:
    name: t
    kind: http
    url: call
    auth: b
    args: {id: "{{ keychain.k }}-id"}
    headers: {X-Key: "{{ keychain.k }}", X-Id: "{{ args.id }}", X-Token: "T {{ keychain.b.token }}"}
"""


@pytest.mark.spec("S20")
def test_templates_get_the_value_inside_the_worker_and_tools_by_name() -> None:
    seen: list[Any] = []

    async def call(fields: Http, context: ToolContext) -> Outcome:
        seen.append((fields.headers, await secret_of(context, "b"), "keychain" in context.scope))
        return ok()

    async def play(desk: Desk, _worker: Worker, _clock: FakeClock) -> None:
        desk.assign(playbook(CALL, head=HEAD))
        await desk.single()

    scenario(play, ProbeTools(call=call), keychain=Keychain(environ={"K": "v4lue"}))
    headers = {"X-Key": "v4lue", "X-Id": "v4lue-id", "X-Token": "T v4lue"}
    assert seen == [(headers, {"token": "v4lue"}, False)]


@pytest.mark.spec("S20")
def test_after_an_auth_error_a_changed_secret_is_tried_once_more() -> None:
    environ = {"K": "old-value"}
    seen: list[Any] = []

    async def call(fields: Http, context: ToolContext) -> Outcome:
        seen.append((fields.headers, await secret_of(context, "b")))
        if fields.headers["X-Key"] == "old-value":  # type: ignore[index]
            environ["K"] = "new-value"
            raise ToolError("auth", "expired")
        return ok("in")

    async def play(desk: Desk, _worker: Worker, _clock: FakeClock) -> None:
        desk.assign(playbook(CALL, head=HEAD))
        report = await desk.single()
        assert report.result == "in"
        assert len(report.attempts) == 1

    scenario(play, ProbeTools(call=call), keychain=Keychain(environ=environ))
    new = {"X-Key": "new-value", "X-Id": "new-value-id", "X-Token": "T new-value"}
    assert seen[1:] == [(new, {"token": "new-value"})]


@pytest.mark.spec("S20", "S22")
def test_after_an_auth_error_with_the_same_secret_nothing_is_tried_again() -> None:
    tries: list[int] = []

    async def call(_fields: Http, _context: ToolContext) -> Outcome:
        tries.append(1)
        raise ToolError("auth", "no")

    async def play(desk: Desk, _worker: Worker, _clock: FakeClock) -> None:
        desk.assign(playbook(CALL, head=HEAD))
        report = await desk.single()
        assert report.error is not None
        assert report.error.kind == "auth"

    scenario(play, ProbeTools(call=call), keychain=Keychain(environ={"K": "value"}))
    assert tries == [1]


@pytest.mark.spec("S6", "S20")
def test_a_run_whose_secret_is_not_here_is_not_begun() -> None:
    began: list[str] = []

    async def call(fields: Http, _context: ToolContext) -> Outcome:
        began.append(fields.url)
        return ok()

    async def play(desk: Desk, _worker: Worker, _clock: FakeClock) -> None:
        desk.assign(playbook(CALL, head=HEAD))
        await desk.until(lambda: desk.all(f.Reports))
        ((report,),) = (frame.reports for frame in desk.all(f.Reports))
        assert "the variable K is not set" in report.refused

    scenario(play, ProbeTools(call=call), keychain=Keychain(environ={}))
    assert began == []


class Kept:
    """A secret manager that goes through its answers; the last one repeats."""

    def __init__(self, *answers: Any) -> None:
        self.answers, self.asked = list(answers), 0

    async def read(self, path: str, **_: str | None) -> Any:
        assert path == "x"
        self.asked += 1
        answer = self.answers[min(self.asked, len(self.answers)) - 1]
        if isinstance(answer, Exception):
            raise answer
        return answer


MANAGED = "keychain: [{name: k, kind: secret_manager, provider: kept, path: x}]"
READS = {
    "a template": "headers: {X-Key: '{{ keychain.k.v }}'}",
    "a tool": "auth: k",
}
RETRY = "spec: {policy: {rules: [{when: '{{ outcome.error.retryable }}', then: {do: retry, delay: 5}}, {when: '{{ outcome.error }}', then: {do: fail}}]}}"


def managed(kept: Kept, reads: str) -> tuple[Report, float]:
    """Run a task that needs a secret of a secret manager; return the report and the time it took."""

    async def call(fields: Http, context: ToolContext) -> Outcome:
        return ok("in" if fields.headers or await secret_of(context, "k") else "out")

    async def play(desk: Desk, _worker: Worker, clock: FakeClock) -> None:
        tool = f"{{name: t, kind: http, url: call, {READS[reads]}, {RETRY}}}"
        desk.assign(playbook(f"- step: s\n  tool: {tool}\n", head=MANAGED))
        found.append((await clock.run(desk.single()), clock.monotonic()))

    found: list[tuple[Report, float]] = []
    keychain = Keychain(environ={}, providers={"kept": kept})
    scenario(play, ProbeTools(call=call), keychain=keychain)
    return found[0]


@pytest.mark.spec("S20")
@pytest.mark.parametrize("reads", READS)
@pytest.mark.parametrize("error", [KeychainError("no answer", "connection"), OSError("down")])
def test_a_secret_manager_that_is_down_is_asked_again_as_the_policy_says(
    reads: str, error: Exception
) -> None:
    kept = Kept(error, error, {"v": "value"})
    report, took_s = managed(kept, reads)
    assert report.status == "ok"
    errors = [one.error for one in report.attempts]
    assert [one.kind for one in errors if one is not None] == ["connection", "connection"]
    assert all(one.retryable for one in errors if one is not None)
    assert (kept.asked, took_s) == (3, 10.0)


@pytest.mark.spec("S20")
@pytest.mark.parametrize("reads", READS)
@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (KeychainError("the token may not read it", "auth"), "auth"),
        (KeychainError("there is no such secret", "not_found"), "not_found"),
    ],
)
def test_a_secret_that_is_refused_or_not_there_keeps_its_kind_and_is_not_retried(
    reads: str, answer: Exception, kind: str
) -> None:
    report, took_s = managed(Kept(answer), reads)
    assert report.error is not None
    assert (report.error.kind, report.error.retryable, took_s) == (kind, False, 0.0)
    assert "keychain 'k'" in report.error.message
    assert len(report.attempts) == 1


@pytest.mark.spec("S20")
def test_a_tool_that_names_an_entry_nobody_declared_is_told_so() -> None:
    async def call(_fields: Http, context: ToolContext) -> Outcome:
        return ok(await secret_of(context, "nobody"))

    async def play(desk: Desk, _worker: Worker, _clock: FakeClock) -> None:
        desk.assign(playbook(CALL, head=HEAD))
        report = await desk.single()
        assert report.error is not None
        assert report.error.kind == "not_found"
        assert report.error.message == "the keychain does not declare 'nobody'"

    scenario(play, ProbeTools(call=call), keychain=Keychain(environ={"K": "value"}))


@pytest.mark.spec("S20")
def test_a_policy_cannot_cut_a_secret_out_of_an_echo() -> None:
    async def call(fields: Http, _context: ToolContext) -> Outcome:
        return ok({"data": fields.headers})

    rule = "{else: {then: {do: continue, set_ctx: {half: \"{{ outcome.result.data['X-Key'][:9] }}\"}}}}"
    book = playbook(CALL + f"    spec: {{policy: {{rules: [{rule}]}}}}\n", head=HEAD)

    async def play(desk: Desk, _worker: Worker, _clock: FakeClock) -> None:
        desk.assign(book)
        report = await desk.single()
        assert [write.value for write in report.writes] == ["***"]

    scenario(
        play, ProbeTools(call=call), keychain=Keychain(environ={"K": "first-half-second-half"})
    )


@pytest.mark.spec("S20")
def test_a_report_is_scrubbed_whatever_put_a_secret_there() -> None:
    async def scrubbed() -> Report:
        keychain = Keychain(environ={"K": CANARY})
        playbooks = Playbooks(keychain, {})
        book = playbook(CALL, head=HEAD)
        playbooks.add(digest_of(book), to_yaml(book))
        ready = playbooks.ready(digest_of(book), "s", compensate=False)
        await ready.secrets.prepare(["k"])
        error = Error(kind="transform", message=f"'{CANARY}' is no number", details=[CANARY])
        report = Report(status="error", error=error, writes=[Write(key=CANARY, value=1)])
        return (await finish(report, ready, None, keychain.scrubber))[0]

    error = Error(kind="transform", message="'***' is no number", details=["***"])
    expected = Report(status="error", error=error, writes=[Write(key="***", value=1)])
    assert asyncio.run(scrubbed()) == expected


def forms(secret: str) -> list[str]:
    """Every form of the canary that is looked for, base64 at all three alignments."""
    found = [
        secret, quote(secret, safe=""), quote(secret), quote_plus(secret), json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1], repr(secret)[1:-1], quote(secret).lower(),
    ]  # fmt: skip
    for before in range(3):
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            text = encode(b"\0" * before + secret.encode()).decode().rstrip("=")
            found.append(text[4 if before else 0 : -2])
    return found


LEAKS = {
    "echo": "def main(secret): return {'echo': secret, 'deep': [{secret: [secret]}]}",
    "shout": "def main(secret): raise ValueError('bad token ' + secret)",
    "print": "def main(secret):\n  print('token', repr(secret))\n  return 1",
    "log": "import logging\ndef main(secret):\n  logging.getLogger('x').warning('logs %s', secret)\n  return 1",
    "url": "from urllib.parse import quote\ndef main(secret): return 'http://h/?k=' + quote(secret)",
    "json": "import json\ndef main(secret): return json.dumps({'t': secret})",
    "twice": "import json\ndef main(secret): return json.dumps(json.dumps({'t': secret}))",
    "basic": "import base64\ndef main(secret): return base64.b64encode(('ada:' + secret + '!').encode()).decode()",
    "safe": "import base64\ndef main(secret): raise OSError(base64.urlsafe_b64encode(('x' + secret).encode()).decode())",
    "large": "def main(secret): return [secret + str(n) for n in range(5000)]",
    "deep": "def f(s):\n  return 1 / (len(s) * 0)\ndef main(secret): return f(secret)",
}
POLICY = (
    "{policy: {rules: [{when: \"{{ outcome.status == 'error' }}\", then: {do: continue, set_ctx: "
    '{why: "{{ outcome.error.message }}", more: "{{ outcome.py }}"}}}, '
    '{else: {then: {do: continue, set_ctx: {cut: "{{ (outcome.result | string)[:90] }}"}}}}]}}'
)


def leaking_steps() -> str:
    ways = {"plain": "{}", "patched": POLICY, "isolated": "{isolation: process}"}
    steps = [
        f"- step: {name}_{way}\n  tool:\n    name: t\n    kind: python\n    spec: {spec}\n"
        f'    args: {{secret: "{{{{ keychain.k }}}}"}}\n    code: {json.dumps(code)}\n'
        for name, code in LEAKS.items()
        for way, spec in ways.items()
    ]
    steps.append(
        "- step: shell\n  tool: {kind: shell, argv: [sh, -c, 'echo $S; echo $S >&2; exit 3'], "
        'env: {S: "{{ keychain.k }}"}}\n'
    )
    steps.append(
        '- step: field\n  tool: {kind: python, args: {n: "{{ keychain.k | int }}"}, code: "result = 1"}\n'
    )
    steps.append(
        '- step: http\n  tool: {kind: http, url: "http://127.0.0.1:1/{{ keychain.k | urlencode }}", auth: b}\n'
    )
    steps.append(
        '- step: put\n  tool: {kind: artifact, action: put, value: {a: "{{ keychain.k }}"}}\n'
    )
    return "".join(steps)


@pytest.mark.slow
@pytest.mark.spec("S20")
def test_no_surface_ever_shows_the_canary(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    book = playbook(leaking_steps(), head=HEAD)
    surfaces: list[bytes] = []

    async def play(desk: Desk, _worker: Worker) -> None:
        desk.teach(book)
        given = [
            desk.assignment(book, step=step.step, scope={"args": {"a": 1}})
            for step in book.workflow
        ]
        desk.send(f.Assignments(assignments=given))
        await desk.report(len(given))
        surfaces.extend(f.encode(frame) for frame in desk.received)
        failed = {
            one.run: one.report.error.message
            for one in desk.reports
            if one.report is not None and one.report.error is not None
        }
        assert len(failed) >= 8, "the failing tasks must have failed"
        lines = [line.text for frame in desk.all(f.Log) for line in frame.lines]
        assert "token '***'" in lines
        assert "WARNING x: logs ***" in lines
        assert {line.stream for frame in desk.all(f.Log) for line in frame.lines} == {
            "stdout", "stderr", "log",
        }  # fmt: skip

    async def run() -> None:
        registry = Registry(plug_ins=False)
        try:
            await with_worker(
                play,
                registry,
                keychain=Keychain(environ={"K": CANARY}),
                objects=LocalObjects(tmp_path),
            )
        finally:
            await registry.close()

    asyncio.run(asyncio.wait_for(run(), 300))
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files, "the large results must have been stored"
    surfaces += [path.read_bytes() for path in files]
    surfaces += [str(path).encode() for path in files]
    captured = capfd.readouterr()
    surfaces += [caplog.text.encode(), captured.out.encode(), captured.err.encode()]
    assert b"***" in b"".join(surfaces)
    for surface in surfaces:
        for form in forms(CANARY):
            assert form.encode() not in surface, f"{form} in {surface[:2000]!r}"
