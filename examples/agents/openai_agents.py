"""OpenAI Agents: the run pauses before the tool, to be saved; the tool asks, and uses the approval up, in its own body."""

from typing import Any, Awaitable, Callable

from agents import Agent, FunctionTool, Runner, RunResult, RunState, function_tool
from agents.tool_context import ToolContext
from countersign import AsyncCountersign, CountersignError


def refund_tool(cs: AsyncCountersign, run: str, refund: Callable[..., Awaitable[str]]) -> FunctionTool:
    guarded: Callable[..., Awaitable[str]] = cs.tool(
        "refund",
        lambda given, host: refund(**given),
        for_=lambda given, host: (run, host.tool_call_id),
        fields={"reuse": "open"},  # A model that repeats a call gives it a new id.
    )

    @function_tool(name_override="refund", needs_approval=True)
    async def with_approval(host: ToolContext[Any], order: str, amount: str) -> str:
        """Refunds an amount of an order."""
        try:
            return await guarded({"order": order, "amount": amount}, host)
        except CountersignError as error:
            return error.sentence

    return with_approval


async def go_on(agent: Agent[Any], saved: str) -> RunResult:
    """From `result.to_state().to_string()`, which you keep before you call this, also after a crash."""
    state = await RunState.from_string(agent, saved)
    for pause in state.get_interruptions():
        state.approve(pause)  # Decides nothing: the tool asks a person.
    return await Runner.run(agent, state)
