"""What other processes ask, carried out at the desk: the same here and for a process that called."""

from __future__ import annotations

from typing import assert_never

from petra.desk.desk import Desk
from petra.desk.principal import Principal
from petra.desk.requests import (
    AnyRequest,
    Apply,
    Ask,
    Begin,
    ForkRequest,
    Look,
    Move,
    OnResources,
    OnSchedules,
    OnTriggers,
    Remove,
    Reply,
    Request,
)
from petra.desk.result import Result, refused, result_data
from petra.desk.starting import gathered


async def carry_out(desk: Desk, who: Principal, request: AnyRequest) -> Reply:
    """Do what a request asks for."""
    reader = desk.engine.catalogue.read
    match request:
        case Begin():
            playbook = await reader(request.playbook, "the playbook")
            answered = await desk.begin(
                who, playbook, request.workload, execution=request.execution, command=request.id,
                allow_unsound=request.allow_unsound, labels=request.labels, beside=await gathered(request.beside, reader),
                priority=request.priority,
            )  # fmt: skip
            if answered.refused:
                return refused(request, playbook.metadata.name, answered.refused)
        case ForkRequest():
            from petra.desk.branching import branch  # noqa: PLC0415 - rare

            answered = await branch(desk.engine, who, request)
            if answered.refused:
                return refused(request, "", answered.refused)
        case Move():
            from petra.desk.moving import move  # noqa: PLC0415 - rare

            answered = await move(desk.engine, who, request)
        case Ask():
            answered = await desk.ask(who, request.execution, request.command, request=request.id)
        case Apply() | Remove() | Look() | OnSchedules() | OnTriggers() | OnResources():
            return Reply(result=await _answer(desk, who, request))
        case _:
            assert_never(request)
    result = await _come_to(desk, who, request)
    return Reply(refused=answered.refused, result=result_data(result))


async def _answer(
    desk: Desk,
    who: Principal,
    request: Apply | Remove | Look | OnSchedules | OnTriggers | OnResources,
) -> dict[str, object]:
    """Do what concerns the store, or nothing at all."""
    match request:
        case Apply():
            reader = desk.engine.catalogue.read
            playbooks = [await reader(text, "the playbook") for text in request.playbooks]
            own = desk.engine.catalogue.own_text
            written = zip(playbooks, request.playbooks, request.texts, strict=False)
            texts = [await own(book, text or itself) for book, itself, text in written]
            done = await desk.apply(
                who, playbooks, texts=texts, allow_unsound=request.allow_unsound
            )
            return {"applied": done}
        case OnSchedules():
            from petra.desk.schedules import Schedules, on_schedules  # noqa: PLC0415 - rare

            return await on_schedules(Schedules(desk.engine), who, request)
        case OnResources():
            from petra.desk.resources import Resources, on_resources  # noqa: PLC0415 - rare

            return await on_resources(Resources(desk.engine), who, request)
        case OnTriggers():
            from petra.desk.triggers import DeskTriggers, on_triggers  # noqa: PLC0415 - rare

            return await on_triggers(DeskTriggers(desk.engine), who, request)
        case Remove():
            return {"removed": await desk.remove(who, request.executions, force=request.force)}
        case Look():
            from petra.desk.looking import looked  # noqa: PLC0415 - rare

            if request.execution:
                await desk.get(who, request.execution)  # who may not see it is told so
            return await looked(desk.engine, request.execution)
        case _:
            assert_never(request)


async def _come_to(desk: Desk, who: Principal, request: Request) -> Result:
    """Return what an execution has come to, and its parents with it."""
    if not request.rest:
        return await desk.get(who, request.execution)
    result = await desk.rest_for_long(who, request.execution)
    await desk.rest_above(who, result)
    return result
