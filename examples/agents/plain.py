"""Plain Python: your own loop around a model. The tool asks, and uses the approval up, in its own body."""

from typing import Callable, Dict

from countersign import Countersign, CountersignError


def refund_tool(
    cs: Countersign, run: str, refund: Callable[..., str]
) -> Callable[[Dict[str, str], str], str]:
    guarded: Callable[..., str] = cs.tool(
        "refund",
        lambda given, call_id: refund(**given),
        # The run and the call: a run that starts again finds its request.
        for_=lambda given, call_id: (run, call_id),
        # A model that repeats a call gives it a new id: an equal request that is still open is joined.
        fields={"reuse": "open"},
    )

    def tool(given: Dict[str, str], call_id: str) -> str:
        try:
            return guarded(given, call_id)
        except CountersignError as error:
            return error.sentence

    return tool
