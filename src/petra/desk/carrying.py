"""What other processes ask, carried out at the desk: the same here and for a process that called."""

from __future__ import annotations

from typing import assert_never

from petra.desk.branching import branch
from petra.desk.desk import Desk
from petra.desk.looking import looked
from petra.desk.moving import move
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
    Remove,
    Reply,
    Request,
)
from petra.desk.resources import Resources, done_with
from petra.desk.result import Result, refused, result_data
from petra.desk.schedules import Schedules, carried_out
from petra.desk.starting import gathered
from petra.playbook import read


async def carry_out(desk: Desk, who: Principal, request: AnyRequest) -> Reply:
    """Do what a request asks for."""
    match request:
        case Begin():
            playbook = read(request.playbook, "the playbook").checked()
            answered = await desk.begin(
                who, playbook, request.workload, execution=request.execution, command=request.id,
                allow_unsound=request.allow_unsound, labels=request.labels, beside=gathered(request.beside),
                priority=request.priority,
            )  # fmt: skip
            if answered.refused:
                return refused(request, playbook.metadata.name, answered.refused)
        case ForkRequest():
            answered = await branch(desk.engine, who, request)
            if answered.refused:
                return refused(request, "", answered.refused)
        case Move():
            answered = await move(desk.engine, who, request)
        case Ask():
            answered = await desk.ask(who, request.execution, request.command, request=request.id)
        case Apply() | Remove() | Look() | OnSchedules() | OnResources():
            return Reply(result=await _told(desk, who, request))
        case _:
            assert_never(request)
    result = await _come_to(desk, who, request)
    return Reply(refused=answered.refused, result=result_data(result))


async def _told(
    desk: Desk, who: Principal, request: Apply | Remove | Look | OnSchedules | OnResources
) -> dict[str, object]:
    """Do what concerns the store, or nothing at all."""
    match request:
        case Apply():
            playbooks = [read(text, "the playbook").checked() for text in request.playbooks]
            done = await desk.apply(who, playbooks, allow_unsound=request.allow_unsound)
            return {"applied": done}
        case OnSchedules():
            return await carried_out(Schedules(desk.engine), who, request)
        case OnResources():
            return await done_with(Resources(desk.engine), who, request)
        case Remove():
            return {"removed": await desk.remove(who, request.executions, force=request.force)}
        case Look():
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
