"""Python's official client asks, waits for a person over whatever breaks, and uses the approval. A line of JSON for each answer.

Usage: mcp-client.py HTTP|stdio auto|legacy, with COUNTERSIGN_URL, COUNTERSIGN_KEY and COMMAND, the path of the client's bin."""

import asyncio
import json
import os
import sys

from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client

DOOR, MODE = sys.argv[1:]
URL, KEY = os.environ["COUNTERSIGN_URL"], os.environ["COUNTERSIGN_KEY"]
PAY = {"action": "Pay ACME 120", "context": {"amount": "120", "to": "ACME"}}


def server():
    if DOOR == "stdio":
        env = {"PATH": os.environ["PATH"], "COUNTERSIGN_URL": URL, "COUNTERSIGN_KEY": KEY}
        return StdioServerParameters(command="node", args=[os.environ["COMMAND"], "mcp"], env=env)
    http = create_mcp_http_client(headers={"Authorization": f"Bearer {KEY}"})
    return streamable_http_client(f"{URL}/mcp", http_client=http)


def connect():
    return Client(server(), mode=MODE, read_timeout_seconds=60)


def show(value):
    print(json.dumps(value), flush=True)


async def call(client, tool, **arguments):
    answer = await client.call_tool(tool, arguments)
    return {"isError": answer.is_error, **json.loads(answer.content[0].text)}


async def decision():
    """Over HTTP the session ends with its connection: as a host does, connects anew and asks the same again."""
    for _ in range(20):
        try:
            async with connect() as client:
                while (said := await call(client, "request_approval", **PAY, wait_seconds=1))["status"] == "pending":
                    pass
                return said
        except Exception:
            await asyncio.sleep(1)


async def main():
    async with connect() as client:
        show(sorted(tool.name for tool in (await client.list_tools()).tools))
        for _ in range(2):
            show(asked := await call(client, "request_approval", **PAY, wait_seconds=0))
    show(await decision())
    async with connect() as client:
        request = {"request_id": asked["request_id"]}
        for use in ({**PAY, "context": {"amount": "9120", "to": "ACME"}}, PAY, PAY):
            show(await call(client, "consume_approval", **request, **use))
        show(await call(client, "get_receipt", **request))


asyncio.run(main())
