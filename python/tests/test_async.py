from __future__ import annotations

import asyncio
from typing import Any, Awaitable, Coroutine, List, TypeVar

from countersign import AsyncCountersign, Rejected, Used

from .setting import CONSUME, CREATE, NETWORK, WAIT, Hostile, order

Result = TypeVar("Result")


async def aside(work: Any, *args: Any) -> Any:
    return await asyncio.get_running_loop().run_in_executor(None, work, *args)


class Async(Hostile):
    def cs(self) -> AsyncCountersign:
        return AsyncCountersign(NETWORK, self.key)

    def run_(self, work: Coroutine[Any, Any, Result]) -> Result:
        return asyncio.run(work)

    def test_a_guarded_call_survives_lost_answers_and_a_restart(self) -> None:
        paid: List[str] = []

        async def main() -> None:
            for path in (CREATE, WAIT, CONSUME):
                await aside(self.spoil, path, "lose", "cut")

            @self.cs().requires_approval(action="Pay {amount}", run="run", call="call")
            async def pay(amount: str) -> None:
                paid.append(amount)

            both = [asyncio.ensure_future(pay("1")), asyncio.ensure_future(pay(amount="1"))]
            id = await aside(self.asked)
            await aside(self.waiting)
            await aside(lambda: order("restart", signal="SIGKILL"))
            await aside(self.decide, id)
            done = await asyncio.gather(*both, return_exceptions=True)
            self.assertEqual(sorted(type(one) for one in done if one) or [Used], [Used])

        self.run_(main())
        self.assertEqual((paid, len(self.requests())), (["1"], 1))

    def test_9_waits_and_a_cancelled_one_hold_nobody_up(self) -> None:
        async def main() -> None:
            cs = self.cs()
            left = asyncio.ensure_future(cs.ask("Deploy", for_=("r", "left")))
            await aside(self.asked)
            await aside(self.waiting)
            left.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await left
            asked: List[Awaitable[Any]] = [
                asyncio.ensure_future(cs.ask("Deploy", for_=("r", f"c{n}"))) for n in range(9)
            ]
            await aside(self.asked, 10)
            for request in await aside(self.requests):
                await aside(self.decide, request["id"])
            for outcome in await asyncio.gather(*asked):
                assert outcome.status == "approved"
                self.assertEqual((await outcome.use()).id, outcome.id)

        self.run_(main())

    def test_a_rejection_and_a_tool(self) -> None:
        async def main() -> None:
            async def execute(given: Any, host: object) -> None:
                raise AssertionError("rejected")

            tool = self.cs().tool("refund", execute, for_=lambda given, host: ("r", given["id"]))
            done = asyncio.ensure_future(tool({"id": "1"}, object()))
            await aside(self.decide, await aside(self.asked), "rejected", "No.")
            with self.assertRaisesRegex(Rejected, "No."):
                await done

        self.run_(main())
