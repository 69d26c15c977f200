from __future__ import annotations

import asyncio
import functools
import http.client
import socket
import threading
import time
import urllib.parse
from typing import Any, Callable, List

from ._send import Core, Effect, HttpAnswer, HttpCall, NoAnswer, Result, Transport


def over_http(call: HttpCall) -> HttpAnswer:
    """
    The transport of the standard library: one connection for each call, no redirect (it would carry the key elsewhere), and one
    limit for the whole answer, also for one that trickles.
    """
    parts = urllib.parse.urlsplit(call.url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=call.timeout)
    over = threading.Event()
    # The connection forgets its socket once an answer without a length has begun.
    opened: List[socket.socket] = []

    def end() -> None:
        over.set()
        for one in opened:
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # Already closed.

    call.ending.append(end)
    timer = threading.Timer(call.timeout, end)
    timer.daemon = True
    timer.start()
    try:
        connection.connect()
        opened.append(connection.sock)
        if over.is_set():
            raise TimeoutError("the answer took too long")
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        connection.request(call.method, target or "/", call.body, dict(call.headers))
        answer = connection.getresponse()
        body = answer.read()
        # Without a length, an answer that was ended here looks whole.
        if over.is_set():
            raise TimeoutError("the answer took too long")
        headers = {name.lower(): value for name, value in answer.getheaders()}
        return HttpAnswer(answer.status, headers, body)
    finally:
        timer.cancel()
        connection.close()


def drive(core: Core[Result], transport: Transport) -> Result:
    """Runs what the client does, in this thread."""
    got: Any = None
    try:
        while True:
            effect = core.send(got)
            if isinstance(effect, HttpCall):
                got = _exchange(transport, effect)
            else:
                time.sleep(max(0.0, effect.seconds))
                got = None
    except StopIteration as done:
        result: Result = done.value
        return result


async def drive_async(core: Core[Result], transport: Transport) -> Result:
    """Runs the same under asyncio: each call in a thread of its own, which ends when the task is cancelled."""
    got: Any = None
    try:
        while True:
            effect: Effect = core.send(got)
            if isinstance(effect, HttpCall):
                got = await _in_thread(functools.partial(_exchange, transport, effect), effect)
            else:
                await asyncio.sleep(max(0.0, effect.seconds))
                got = None
    except StopIteration as done:
        result: Result = done.value
        return result


def _exchange(transport: Transport, call: HttpCall) -> Any:
    try:
        return transport(call)
    except Exception as cause:
        return NoAnswer(cause)


async def _in_thread(work: Callable[[], Any], call: HttpCall) -> Any:
    # The pool of asyncio has few threads, which waits would fill, and holds up the end of the process.
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def deliver(result: Any) -> None:
        if not future.done():
            future.set_result(result)

    def run() -> None:
        result = work()
        try:
            loop.call_soon_threadsafe(deliver, result)
        except RuntimeError:
            pass  # The loop is closed: nobody waits any more.

    threading.Thread(target=run, name="countersign", daemon=True).start()
    try:
        return await future
    except asyncio.CancelledError:
        for end in call.ending:
            end()
        raise
