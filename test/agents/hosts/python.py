"""The host programs in Python: `python.py <name>`, by the lines that hostile-table.ts describes. Each runs the adapter of
examples/agents in the real package, with a mock model."""

import asyncio
import ctypes
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from ast import literal_eval
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "python/src"), str(ROOT / "examples/agents")]

from countersign import AsyncCountersign, Countersign  # noqa: E402

printing = threading.Lock()


class Run:
    """One order of the table: what the model does in it, and what is said about it."""

    def __init__(self, order):
        self.id, self.name, self.turns = order["id"], order["run"], order["turns"]
        self.state = Path(order["state"])
        patience = order.get("patience", {})
        self.how = {"within_seconds": patience.get("withinSeconds"), "fields": order.get("fields", {})}
        self.service = order["url"], order["key"]
        self.away = patience.get("unreachableAfterSeconds", 300)
        self.hold = order.get("hold", False)
        self.verdict = order.get("verdict", "approve")
        #: The objects that hold the arguments of the calls under way.
        self.live = [call["arguments"] for turn in self.turns for call in turn]

    def client(self, kind=Countersign):
        """The client, with what the example leaves to its defaults."""
        client = kind(*self.service, unreachable_after_seconds=self.away)
        tool = client.tool

        def patient(name, execute, **how):
            fields = {**how["fields"], **self.how["fields"]}
            return tool(name, execute, **{**self.how, **how, "fields": fields})

        client.tool = patient
        return client

    def refund(self, order, amount):
        self.say("ran", arguments={"order": order, "amount": amount})
        if self.hold:
            threading.Event().wait()
        return f"refunded {order}"

    async def refund_async(self, order, amount):
        return self.refund(order, amount)

    def told(self, call, text):
        self.say("told", call=call, text=text)

    def say(self, event, **more):
        with printing:
            print(json.dumps({"id": self.id, "event": event, **more}), flush=True)

    def save(self, text):
        """In one step: a kill leaves the one before."""
        part = self.state.with_suffix(".part")
        part.write_text(text)
        part.replace(self.state)


def plain():
    from plain import refund_tool

    def play(run):
        tool = refund_tool(run.client(), run.name, run.refund)

        def call(one):
            run.told(one["id"], tool(one["arguments"], one["id"]))

        for turn in run.turns:
            threads = [threading.Thread(target=call, args=(one,), daemon=True) for one in turn]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

    return play


def mcp_client():
    from mcp import Client
    from mcp.server.mcpserver import MCPServer
    from mcp_client import with_approval

    async def play(run):
        server = MCPServer("shop")
        server.tool(name="refund")(server_tool(run))
        async with Client(server) as client:
            call_tool = with_approval(run.client(AsyncCountersign), client, run.name)

            async def call(one):
                said = await call_tool("refund", one["arguments"], one["id"])
                run.told(one["id"], said if isinstance(said, str) else said.content[0].text)

            for turn in run.turns:
                await asyncio.gather(*map(call, turn))

    def server_tool(run):
        def refund(order: str, amount: str) -> str:
            return run.refund(order, amount)

        return refund

    return lambda run: asyncio.run(play(run))


def chat_model(run):
    """LangChain's fake chat model: it calls the tool in each turn, then says goodbye."""
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage

    class Model(GenericFakeChatModel):
        def bind_tools(self, tools, **_):
            return self

        def _generate(self, messages, *_, **__):
            turn = sum(message.type == "ai" for message in messages)
            calls = run.turns[turn] if turn < len(run.turns) else []
            asked = [
                {"type": "tool_call", "name": "refund", "id": one["id"], "args": one["arguments"]} for one in calls
            ]
            self.messages = iter([AIMessage("" if asked else "Goodbye.", tool_calls=asked)])
            made = super()._generate(messages)
            # The host's own objects, whoever copied the arguments that far.
            run.live += [call["args"] for call in made.generations[0].message.tool_calls]
            return made

    return Model(messages=iter([]))


def tell(run, messages):
    for message in messages:
        if message.type == "tool":
            run.told(message.tool_call_id, message.content)


def langchain():
    from langchain.agents import create_agent
    from langchain_tool import refund_tool

    def play(run):
        agent = create_agent(chat_model(run), [refund_tool(run.client(), run.refund)])
        config = {"configurable": {"thread_id": run.name}}
        tell(run, agent.invoke({"messages": [("user", "Refund it.")]}, config)["messages"])

    return play


def langgraph():
    from langchain.agents import create_agent
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.types import Command
    from langgraph_interrupt import refund_tool

    class InFile(InMemorySaver):
        """LangGraph's own saver, with what it holds as text in a file."""

        def __init__(self, run):
            super().__init__()
            self.run, self.lock = run, threading.Lock()
            if run.state.exists():
                storage, writes, blobs = literal_eval(run.state.read_text())
                for thread, spaces in storage.items():
                    self.storage[thread].update(spaces)
                self.writes.update(writes)
                self.blobs.update(blobs)

        def put(self, *given):
            with self.lock:
                config = super().put(*given)
                self.keep()
            return config

        def put_writes(self, *given):
            with self.lock:
                super().put_writes(*given)
                self.keep()

        def keep(self):
            storage = {thread: dict(spaces) for thread, spaces in self.storage.items()}
            self.run.save(repr((storage, dict(self.writes), dict(self.blobs))))

    def play(run):
        agent = create_agent(chat_model(run), [refund_tool(run.client(), run.refund)], checkpointer=InFile(run))
        config = {"configurable": {"thread_id": run.name}}
        given = None if run.state.exists() else {"messages": [("user", "Refund it.")]}
        end = time.monotonic() + run.away
        while True:
            done = agent.invoke(given, config, durability="sync")
            asleep = done.get("__interrupt__", [])
            why = " ".join(one.value["why"] for one in asleep)
            # Whoever wakes it gives up where the service stays away, or something else answers.
            if not asleep or "it answers" in why or ("cannot be reached" in why and time.monotonic() > end):
                break
            time.sleep(0.2)
            given = Command(resume={one.id: run.verdict for one in asleep})
        if asleep:
            run.told("asleep", why)
        tell(run, done["messages"])

    return play


def openai_agents():
    from agents import Agent, Model, ModelResponse, Runner, Usage, set_tracing_disabled
    from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
    from openai_agents import go_on, refund_tool

    set_tracing_disabled(True)

    class Fake(Model):
        def __init__(self, run):
            self.run = run

        async def get_response(self, system_instructions, input, *_, **__):
            done = sum(one.get("type") == "function_call_output" for one in input if isinstance(one, dict))
            turn = 0
            while turn < len(self.run.turns) and done >= len(self.run.turns[turn]):
                done -= len(self.run.turns[turn])
                turn += 1
            output = [
                ResponseFunctionToolCall(
                    type="function_call", name="refund", call_id=one["id"], arguments=json.dumps(one["arguments"])
                )
                for one in (self.run.turns[turn] if turn < len(self.run.turns) else [])
            ]
            text = ResponseOutputText(type="output_text", text="Goodbye.", annotations=[])
            goodbye = ResponseOutputMessage(
                id="msg", type="message", role="assistant", status="completed", content=[text]
            )
            return ModelResponse(output=output or [goodbye], usage=Usage(), response_id=None)

        def stream_response(self, *_, **__):
            raise NotImplementedError

    async def nothing(*_):
        return None

    async def play(run):
        tool = refund_tool(run.client(AsyncCountersign), run.name, run.refund_async)
        if run.verdict == "mistyped":
            tool.needs_approval = nothing
        agent = Agent("Support", model=Fake(run), tools=[tool])
        result = None if run.state.exists() else await Runner.run(agent, "Refund it.")
        while result is None or result.interruptions:
            if result is not None:
                run.save(result.to_state().to_string())
            result = await go_on(agent, run.state.read_text())
        for one in result.to_input_list():
            if one.get("type") == "function_call_output":
                run.told(one["call_id"], one["output"])

    return lambda run: asyncio.run(play(run))


def github_actions():
    """Each call is the step of the action, run as the runner of GitHub does; ACTION is the action's file, as JSON."""
    action = json.loads(os.environ["ACTION"])
    (step,) = action["runs"]["steps"]
    defaults = {name: told.get("default", "") for name, told in action["inputs"].items()}

    def ends_with_the_host():
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)

    def play(run):
        if not run.state.exists():
            # The workflow's file: somebody may change it before the job is run again.
            run.save(json.dumps(run.turns))
        for turn in json.loads(run.state.read_text()):
            threads = [threading.Thread(target=call, args=(run, one), daemon=True) for one in turn]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

    def call(run, one):
        refund = one["arguments"]
        # The same command in every attempt; it hangs while this file is there.
        hold = run.state.with_name("hold")
        hold.touch() if run.hold else hold.unlink(missing_ok=True)
        hangs = f"test ! -e {hold} || exec sleep 1000000"
        given = {
            **defaults,
            "url": run.service[0],
            "key": run.service[1],
            "run": f"echo ran {refund['order']} {refund['amount']}\n{hangs}\necho refunded {refund['order']}",
            "within-seconds": str(run.how["within_seconds"] or min(run.away, 3000)),
        }
        folder = Path(tempfile.mkdtemp(dir=run.state.parent))
        env = dict(
            PATH=os.environ["PATH"],
            PYTHONDONTWRITEBYTECODE="1",
            GITHUB_ACTION_PATH=str(ROOT / "examples/agents/github-actions"),
            GITHUB_ACTION="refund",
            GITHUB_JOB="refunds",
            GITHUB_OUTPUT=str(folder / "output"),
            GITHUB_REPOSITORY="acme/shop",
            GITHUB_RUN_ATTEMPT=one["id"],
            GITHUB_RUN_ID="1",
            GITHUB_SERVER_URL="https://github.example.com",
            GITHUB_STEP_SUMMARY=str(folder / "summary"),
        )
        for name, text in step["env"].items():
            env[name] = re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda found: given[found[1]], text)
        (folder / "script.sh").write_text(step["run"])
        shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(folder / "script.sh")]
        with subprocess.Popen(
            shell,
            env=env,
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            preexec_fn=ends_with_the_host,
        ) as process:
            for line in process.stdout:
                if line.startswith("ran "):
                    _, order, amount = line.split()
                    run.say("ran", arguments={"order": order, "amount": amount})
                elif line.startswith(("refunded", "::error::")):
                    run.told(one["id"], line.strip())
        # The action passes on no fields, so the sandbox decides in its own time.
        while run.how["fields"] and run.client().call("GET /api/v1/approvals")["data"][0]["status"] == "pending":
            time.sleep(0.5)

    return play


def main():
    play = globals()[sys.argv[1]]()
    runs = {}

    def finish(run):
        try:
            play(run)
            run.say("ended")
        except BaseException as error:
            run.say("ended", error=f"{type(error).__name__}: {error}")

    for line in sys.stdin:
        order = json.loads(line)
        if order["do"] == "run":
            run = runs[order["id"]] = Run(order)
            threading.Thread(target=finish, args=(run,), daemon=True).start()
        else:
            for arguments in runs[order["id"]].live:
                arguments["order"] = order["order"]


main()
