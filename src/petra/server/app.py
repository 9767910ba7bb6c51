"""The application: the resources, who asks, and what every handler may ask for."""

from __future__ import annotations

from litestar import Litestar
from litestar.di import Provide
from litestar.exceptions import HTTPException
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.openapi.spec import Components, SecurityScheme
from litestar.params import FromQuery
from litestar.types import Scope

from petra.desk import Principal
from petra.server.needs import admit
from petra.server.problems import problem_response
from petra.server.resources import (
    accounts,
    act_links,
    acts,
    authoring,
    branches,
    comparing,
    contents,
    definitions,
    docs,
    executions,
    explaining,
    hooks,
    iterations,
    limits,
    listening,
    moments,
    notifications,
    objects,
    oidc,
    operations,
    overview,
    pages,
    people,
    playbooks,
    requests,
    schedules,
    secrets,
    starting,
    stories,
    streams,
    system,
    triggers,
    watching,
    workbench,
    workers,
    writes,
)
from petra.server.resources.filters import which
from petra.server.service import API, AnyHttpRequest, Service
from petra.server.strict_bodies import StrictRequest

_RESOURCES = (
    authoring,
    workbench,
    playbooks,
    schedules,
    limits,
    triggers,
    definitions,
    overview,
    starting,
    executions,
    contents,
    explaining,
    stories,
    writes,
    iterations,
    moments,
    notifications,
    comparing,
    acts,
    operations,
    branches,
    people,
    streams,
    listening,
    workers,
    objects,
    accounts,
    secrets,
    requests,
)


def build(service: Service) -> Litestar:
    """Make the application of a server."""
    app = laid_out(service.prefix, service.version)
    app.state.service = service
    return app


def laid_out(prefix: str, version: str) -> Litestar:
    """Make the application of a server that is yet to come: what it serves is its state."""
    base = f"{prefix}{API}"
    return Litestar(
        route_handlers=[
            *system.routes(prefix),
            *watching.routes(prefix, base),
            oidc.routes(prefix),
            docs.router(prefix),
            *act_links.routes(prefix),
            *hooks.routes(prefix),
            *pages.routes(prefix),
            *(module.router(base) for module in _RESOURCES),
        ],
        dependencies={
            "service": Provide(_service, sync_to_thread=False),
            "who": Provide(_who, sync_to_thread=False),
            "here": Provide(_here, sync_to_thread=False),
            "which": Provide(which),
        },
        exception_handlers={Exception: problem_response, HTTPException: problem_response},
        before_request=admit,
        request_class=StrictRequest,
        request_max_body_size=None,  # the gate bounds bodies
        openapi_config=_openapi(prefix, version),
        logging_config=None,
        debug=False,
    )


def _service(scope: Scope) -> Service:
    """Return what the application serves."""
    service = scope["litestar_app"].state.service
    assert isinstance(service, Service)
    return service


def _who(request: AnyHttpRequest) -> Principal:
    """Return who asks: they were let in before."""
    who = request.state.who
    assert isinstance(who, Principal)
    return who


def _here(request: AnyHttpRequest, namespace: FromQuery[str | None] = None) -> Principal:
    """Return who asks, as they stand in the namespace that the address names."""
    del namespace  # it was looked at when they were let in
    return _who(request)


def _openapi(prefix: str, version: str) -> OpenAPIConfig:
    return OpenAPIConfig(
        title="Petra",
        version=version,
        description="Durable workflows on Petri nets: start, watch, steer, decide. Errors are problem documents.",
        path=f"{prefix}/api/openapi",  # where it is not looked for: our own page fetches nothing from outside
        render_plugins=[JsonRenderPlugin()],
        components=Components(
            security_schemes={"token": SecurityScheme(type="http", scheme="bearer")}
        ),
        security=[{"token": []}],
        use_handler_docstrings=True,
    )
