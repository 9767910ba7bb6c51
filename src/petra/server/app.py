"""The application: the resources, who asks, and what every handler may ask for."""

from __future__ import annotations

from typing import Any

from litestar import Litestar, Router
from litestar.di import Provide
from litestar.exceptions import HTTPException
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.openapi.spec import Components, SecurityScheme
from litestar.params import FromQuery
from litestar.plugins import PluginProtocol
from litestar.plugins.core import MsgspecDIPlugin

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
    problem_pages,
    requests,
    schedules,
    secrets,
    starting,
    stories,
    streams,
    system,
    triggers,
    users,
    watching,
    whole_execution,
    workbench,
    workers,
    writes,
)
from petra.server.resources.filters import which
from petra.server.service import API, AnyHttpRequest, Service, TheService
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
    whole_execution,
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
    users,
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
    """Make the application of a server that is yet to come: its service is put into its state."""
    base = f"{prefix}{API}"
    app = _Application(
        route_handlers=[
            *system.routes(prefix),
            *watching.routes(prefix, base),
            oidc.routes(prefix),
            docs.router(prefix),
            problem_pages.router(prefix),
            *act_links.routes(prefix),
            *hooks.routes(prefix),
            *pages.routes(prefix),
            *(module.router(base) for module in _RESOURCES),
        ],
        dependencies={
            "service": Provide(lambda: app.state.service, sync_to_thread=False),
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
    return app


class _Application(Litestar):
    """The framework's, made in half the time: the routers are made for it, and nothing of what it sends is pydantic's."""

    def _validate_registration_value(self, value: Any) -> Any:
        if isinstance(
            value, Router
        ):  # which is copied otherwise, to the last example of its description
            value.owner = self
            return value
        return super()._validate_registration_value(value)

    @staticmethod
    def _get_default_plugins(plugins: list[PluginProtocol]) -> list[PluginProtocol]:
        return [*plugins, MsgspecDIPlugin()]


# Each of these asks for the one before it, so that they are found one after the other, which is at once: of those
# that do not need each other, the framework begins a task for each.


def _who(service: TheService, request: AnyHttpRequest) -> Principal:
    """Return who asks: they were let in before."""
    del service
    who = request.scope["state"]["who"]
    assert isinstance(who, Principal)
    return who


def _here(
    service: TheService, request: AnyHttpRequest, namespace: FromQuery[str | None] = None
) -> Principal:
    """Return who asks, as they stand in the namespace that the address names."""
    del namespace  # it was looked at when they were let in
    return _who(service, request)


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
