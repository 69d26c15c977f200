"""LangChain: the tool asks, and uses the approval up, in its own body, with the arguments that it is really given."""

from typing import Callable

from countersign import Countersign, CountersignError
from langchain.tools import BaseTool, ToolRuntime, tool


def refund_tool(cs: Countersign, refund: Callable[..., str]) -> BaseTool:
    guarded: Callable[..., str] = cs.tool(
        "refund",
        lambda given, host: refund(**given),
        for_=lambda given, host: (host.config["configurable"]["thread_id"], host.tool_call_id),
        fields={"reuse": "open"},  # A model that repeats a call gives it a new id.
    )

    @tool("refund")
    def with_approval(order: str, amount: str, runtime: ToolRuntime) -> str:
        """Refunds an amount of an order."""
        try:
            return guarded({"order": order, "amount": amount}, runtime)
        except CountersignError as error:
            # Raised, it would end the run, and with it the calls beside this one.
            return error.sentence

    return with_approval
