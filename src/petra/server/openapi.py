"""The description of the API: what each call takes and answers, from the shapes that its handler names.

The framework knows addresses and parameters; bodies and answers are described by those who write them (``msgspec``), so that
names and required fields are what goes over the wire. A handler whose answer is plain data says of which shape it is
(``answers``); one that reads its body itself says what it takes (``takes``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, Final, NamedTuple

import msgspec
from litestar import Litestar, Response
from litestar.handlers import HTTPRouteHandler
from litestar.routes import HTTPRoute

from petra.server.examples import illustrate
from petra.server.links import METHODS, link
from petra.server.needs import need_of
from petra.server.problem_codes import CODES, page_of
from petra.server.problems import MEDIA_TYPE, document
from petra.server.service import API

ANSWERS, ALSO, TAKES, MESSAGES, FORMS, TRIAL = (
    "answers",
    "also",
    "takes",
    "messages",
    "forms",
    "trial",
)
_JSON, _YAML, _EVENTS = "application/json", "application/yaml", "text/event-stream"
_REF: Final = "#/components/schemas/{name}"
Opt = dict[str, Any]


def answers(shape: Any, *also: int) -> Opt:
    """Return what a handler says that answers plain data of a shape; ``also`` under further statuses."""
    return {ANSWERS: shape, ALSO: also}


def tries(shape: Any, trial: Any, *also: int) -> Opt:
    """Return what a handler says that does something, or with ``dry_run`` answers with a ``trial`` of it."""
    return {ANSWERS: shape, TRIAL: trial, ALSO: also}


def forms(*media: str) -> Opt:
    """Return what a handler says whose answer is JSON of any shape, or a text of other kinds."""
    return {FORMS: media}


def takes(shape: Any, *, yaml: bool = False) -> Opt:
    """Return what a handler says that reads its body itself: JSON of a shape, or with ``yaml`` the bare text too."""
    return {TAKES: (shape, yaml)}


def tells(messages: Any) -> Opt:
    """Return what a handler says that answers a stream of messages."""
    return {MESSAGES: messages}


class ProblemPlace(msgspec.Struct, frozen=True, kw_only=True):
    """A place in what was sent, and what is wrong there: a pointer into JSON, or a line of a text."""

    message: str
    pointer: str = ""
    line: int = 0
    column: int = 0
    code: str = ""
    hint: str = ""
    severity: str = ""


class ProblemDocument(msgspec.Struct, frozen=True, kw_only=True):
    """What went wrong, and the next move. ``code`` stays the same for ever; ``type`` leads to its page, on this server."""

    type: str
    title: str
    status: int
    code: str
    detail: str
    hint: str
    instance: str
    errors: list[ProblemPlace] = []


class _Call(NamedTuple):
    """A handler, and its operation in the description."""

    handler: HTTPRouteHandler
    operation: dict[str, Any]


@lru_cache(2)
def description_of(app: Litestar) -> dict[str, Any]:
    """Return the description of the API, with the problems that every call may answer."""
    schema: dict[str, Any] = app.openapi_schema.to_schema()
    calls = list(_calls(app, schema))
    shapes = _Shapes()
    for call in calls:
        _answers(call, shapes)
        _body(call, shapes)
    problem = shapes.of(ProblemDocument)
    schemas = shapes.written()
    schemas["ProblemDocument"]["properties"]["code"]["enum"] = sorted(CODES)
    told = _problems(problem, app.state.service.prefix)
    refs = {one: {"$ref": f"#/components/responses/Problem{one}"} for one in told}
    for call in calls:
        need = need_of(call.handler)
        if need is not None and not need.known:
            call.operation["security"] = []
        for parameter in call.operation.get("parameters", ()):
            parameter["schema"] = _there(parameter["schema"])
        call.operation["responses"].get("204", {}).pop("content", None)  # there is none
        call.operation["responses"].update(refs)
    link(schema["paths"], app.state.service.base)
    illustrate(schema["paths"], app.state.service.prefix)
    parts = schema.setdefault("components", {})
    parts["schemas"] = schemas
    parts["responses"] = {f"Problem{one}": response for one, response in told.items()}
    return _named(schema)


def _calls(app: Litestar, schema: dict[str, Any]) -> Iterator[_Call]:
    for route in app.routes:
        if isinstance(route, HTTPRoute):
            item = schema["paths"].get(re.sub(r"\{(\w+):\w+\}", r"{\1}", route.path), {})
            for handler in route.route_handlers:
                for method in handler.http_methods:
                    if str(method).lower() in item:
                        yield _Call(handler, item[str(method).lower()])


class _Shapes:
    """The shapes of a description: each is named once, and written when all are known."""

    def __init__(self) -> None:
        self._places: list[tuple[Any, dict[str, Any]]] = []

    def of(self, shape: Any) -> dict[str, Any]:
        """Return where the schema of a shape will stand."""
        place: dict[str, Any] = {}
        self._places.append((shape, place))
        return place

    def written(self) -> dict[str, Any]:
        """Write every schema to its place; return those that others refer to."""
        kinds = [shape for shape, _ in self._places]
        schemas, parts = msgspec.json.schema_components(kinds, ref_template=_REF)
        for (_, place), schema in zip(self._places, schemas, strict=True):
            place.update(schema)
        return dict(parts)


def _answers(call: _Call, shapes: _Shapes) -> None:
    opt, responses = call.handler.opt, call.operation["responses"]
    status = str(call.handler.status_code)
    if MESSAGES in opt:
        responses[status]["content"] = {_EVENTS: {"schema": shapes.of(opt[MESSAGES])}}
        return
    if FORMS in opt:
        texts = {media: {"schema": {"type": "string"}} for media in opt[FORMS]}
        responses[status]["content"] = {_JSON: {"schema": {}}, **texts}
        return
    shape = opt.get(ANSWERS) or _annotated(call.handler)
    if shape is None or "content" not in responses[status]:
        return
    for media in responses[status]["content"].values():
        media["schema"] = shapes.of(shape)
    for also in opt.get(ALSO, ()):
        responses[str(also)] = {**responses[status], "description": "It was there already."}
    if TRIAL in opt:
        said = responses.setdefault("200", {"description": "What would happen."})
        known = [media["schema"] for media in said.get("content", {}).values()]
        said["content"] = {_JSON: {"schema": {"oneOf": [*known, shapes.of(opt[TRIAL])]}}}


def _annotated(handler: HTTPRouteHandler) -> Any:
    """Return what a handler says that it returns, where that is a shape."""
    said = handler.parsed_fn_signature.return_type
    if said.is_subclass_of(Response):
        said = said.inner_types[0] if said.inner_types else said
    raw = said.raw
    return raw if _is_shape(raw) or _is_shape(getattr(raw, "__origin__", None)) else None


def _is_shape(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _body(call: _Call, shapes: _Shapes) -> None:
    if TAKES in call.handler.opt:
        shape, yaml = call.handler.opt[TAKES]
        content = {_JSON: {"schema": shapes.of(shape)}}
        if yaml:
            content[_YAML] = {
                "schema": {}
            }  # what it means as YAML: anything, it is looked at as a text
        call.operation["requestBody"] = {"content": content, "required": True}
        return
    field = call.handler.parsed_fn_signature.parameters.get("data")
    if field is not None:
        body = call.operation["requestBody"]
        body["content"][_JSON]["schema"] = shapes.of(field.annotation)
        body["required"] = not field.has_default


def _there(schema: dict[str, Any]) -> dict[str, Any]:
    """Describe a parameter that is there: one that may be left out is null for its handler only."""
    kinds = [kind for kind in schema.get("oneOf", ()) if kind != {"type": "null"}]
    if len(kinds) != 1:
        return schema
    return {**kinds[0], **{key: value for key, value in schema.items() if key != "oneOf"}}


def _problems(problem: dict[str, Any], prefix: str) -> dict[str, Any]:
    by_status: dict[int, list[str]] = {}
    for name, code in CODES.items():
        by_status.setdefault(code.status, []).append(name)
    return {
        str(status): {
            "description": "; ".join(
                f"[`{name}`]({page_of(name, prefix)}): {CODES[name].title}" for name in names
            ),
            "content": {MEDIA_TYPE: {"schema": problem, "examples": _examples(names, prefix)}},
        }
        for status, names in by_status.items()
    }


def _examples(names: Iterable[str], prefix: str) -> dict[str, Any]:
    """Return an example of each problem, as the documents are that a server sends."""
    instance = f"{prefix}{API}/executions"
    return {name: {"value": document(instance, name, CODES[name].title, prefix)} for name in names}


def _named(schema: dict[str, Any]) -> dict[str, Any]:
    """Call pages ``ExecutionItemPage`` and the like; what leads on is always there."""
    raw = msgspec.json.encode(schema).decode()
    named: dict[str, Any] = msgspec.json.decode(re.sub(r"\bPage_(\w+?)_(?=\")", r"\1Page", raw))
    for name, shape in named["components"]["schemas"].items():
        if name.endswith("Page"):
            shape["required"] = ["items", "next"]
    return named


def operations(schema: dict[str, Any]) -> Iterable[tuple[str, str, dict[str, Any]]]:
    """Yield method, path and operation of every call."""
    for path, item in schema["paths"].items():
        for method in METHODS:
            if method in item:
                yield method, path, item[method]
