"""A client of MCP: every call to a server that you did not write asks first, and uses the approval up before it is sent."""

from typing import Any, Awaitable, Callable

from countersign import AsyncCountersign, CountersignError
from mcp import Client


def with_approval(
    cs: AsyncCountersign, client: Client, run: str
) -> Callable[[str, dict[str, Any], str], Awaitable[Any]]:
    async def call_tool(name: str, arguments: dict[str, Any], call_id: str) -> Any:
        guarded: Callable[..., Awaitable[Any]] = cs.tool(
            name,
            lambda given: client.call_tool(name, given),
            for_=lambda given: (run, call_id),
            fields={"reuse": "open"},  # A model that repeats a call gives it a new id.
        )
        try:
            return await guarded(arguments)
        except CountersignError as error:
            return error.sentence

    return call_tool
