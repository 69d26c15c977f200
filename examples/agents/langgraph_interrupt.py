"""LangGraph with a checkpointer: the graph sleeps until a person has decided, and no process stays alive for it."""

from typing import Callable

from countersign import Countersign, CountersignError, Pending, Unreachable
from langchain.tools import BaseTool, ToolRuntime, tool
from langgraph.types import interrupt


def refund_tool(cs: Countersign, refund: Callable[..., str]) -> BaseTool:
    guarded: Callable[..., str] = cs.tool(
        "refund",
        lambda given, host: refund(**given),
        for_=lambda given, host: (host.config["configurable"]["thread_id"], host.tool_call_id),
        fields={"reuse": "open"},  # A model that repeats a call gives it a new id.
        within_seconds=0,
    )

    @tool("refund")
    def with_approval(order: str, amount: str, runtime: ToolRuntime) -> str:
        """Refunds an amount of an order."""
        while True:
            try:
                return guarded({"order": order, "amount": amount}, runtime)
            except (Pending, Unreachable) as why:
                # Whoever resumes the graph decides nothing by it, whatever the value: the next round asks the service.
                interrupt({"request": why.id, "why": why.sentence})
            except CountersignError as error:
                return error.sentence

    return with_approval
