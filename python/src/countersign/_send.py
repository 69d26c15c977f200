"""
One call to the service until it is answered. What the client does is written once, as generators that yield an `HttpCall` or a
pause and are given the answer; `_drive.py` runs them with threads or with asyncio.
"""

from __future__ import annotations

import email.utils
import math
import random
import time
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Generator, List, Mapping, Optional, TypeVar, Union

from . import _errors as errors
from ._json import canonical, parse_json


@dataclass(frozen=True)
class HttpCall:
    """One attempt of a call, for a transport of your own. Its headers hold the API key: never log them."""

    method: str
    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: Optional[bytes]
    #: Seconds for the whole answer.
    timeout: float
    #: What ends the call early; a transport may add to it.
    ending: List[Callable[[], None]] = field(default_factory=list, repr=False, compare=False)


@dataclass(frozen=True)
class HttpAnswer:
    """What came back. Header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


#: Sends one call, follows no redirect, and raises any exception for one that was not answered.
Transport = Callable[[HttpCall], HttpAnswer]


@dataclass(frozen=True)
class Pause:
    seconds: float


@dataclass(frozen=True)
class NoAnswer:
    cause: Exception


Effect = Union[HttpCall, Pause]
Result = TypeVar("Result")
#: Yields what is to be done, is sent what came of it, and returns its result.
Core = Generator[Effect, Any, Result]

Body = Dict[str, Any]


@dataclass(frozen=True)
class Peer:
    """The service, as one client knows it."""

    url: str
    key: str = field(repr=False)
    allow_sandbox: bool
    #: Seconds for which a call is repeated while the service is away.
    patience: float
    on_retry: Callable[[str, int], None]


@dataclass(frozen=True)
class Limits:
    """Until when a call may take, by the monotonic clock, and for which request, for errors."""

    end: float
    id: Optional[str] = None


@dataclass(frozen=True)
class Call:
    path: str
    method: str = "POST"
    body: Optional[Mapping[str, Any]] = None
    #: The idempotency key: with one, a repeat does nothing twice.
    once: Optional[str] = None
    headers: Mapping[str, str] = field(default_factory=dict)
    #: What follows `path` and precedes a number of seconds, for which the service then waits: at most 25, within the deadline.
    wait: str = ""
    #: Longest time for one answer besides that wait, in seconds.
    timeout: float = 20


@dataclass(frozen=True)
class Fault:
    """Why a call has to be sent again."""

    why: str
    cause: Optional[Exception] = None
    #: Seconds that the service asked for.
    after: Optional[float] = None
    #: Present when the service itself declined, having done nothing.
    refusal: Optional[errors.Refused] = None
    #: Repeating is of no use.
    final: bool = False


now = time.monotonic


def limits_of(within_seconds: Optional[float], id: Optional[str] = None) -> Limits:
    """:raises Invalid: for what is no number of seconds"""
    seconds = math.inf if within_seconds is None else within_seconds
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not seconds >= 0:
        raise errors.Invalid("within_seconds must be a number of seconds.")
    return Limits(now() + seconds, id)


def send(peer: Peer, limits: Limits, call: Call) -> Core[Body]:
    """
    Sends a call until it is answered: over lost and cut answers, 429, 5xx, and pages of proxies. A call that would do something
    twice is repeated only after the service said that it did nothing.

    :raises Refused, Unreachable:
    """
    give_up = min(limits.end, now() + peer.patience)
    pause = 0.2
    while True:
        got = yield _attempt(peer, limits, call)
        judged = (
            Fault("no answer", got.cause) if isinstance(got, NoAnswer) else _judge(got, limits.id)
        )
        if not isinstance(judged, Fault):
            return judged
        after = pause * (0.5 + random.random()) if judged.after is None else judged.after
        repeatable = not judged.final and bool(judged.refusal or call.once or call.method == "GET")
        if not repeatable or now() + after > give_up:
            raise judged.refusal or errors.unreachable(judged.why, limits.id) from judged.cause
        peer.on_retry(judged.why, math.ceil(after))
        yield Pause(after)
        pause = min(2 * pause, 10)


def _attempt(peer: Peer, limits: Limits, call: Call) -> HttpCall:
    left = max(0.0, limits.end - now())
    wait = math.floor(min(25, left)) if call.wait else 0
    headers = {"authorization": f"Bearer {peer.key}", "accept": "application/json"}
    if call.body is not None:
        headers["content-type"] = "application/json"
    if call.once:
        headers["idempotency-key"] = call.once
    headers.update(call.headers)
    body = None if call.body is None else canonical(call.body).encode("utf-8")
    url = peer.url + call.path + (f"{call.wait}{wait}" if wait else "")
    # The last answer within a deadline may take 2 s beyond it.
    return HttpCall(call.method, url, headers, body, min(call.timeout + wait, left + 2))


def _judge(answer: HttpAnswer, id: Optional[str]) -> Union[Body, Fault]:
    ok = 200 <= answer.status < 300
    body: Body = {}
    try:
        read = parse_json(answer.body or b"{}")
        if isinstance(read, dict):
            body = read
            if ok:
                return body
    except ValueError:
        # A page of a proxy, or half an answer.
        pass
    code = body.get("error")
    asked = answer.headers.get("retry-after", body.get("retry_after"))
    why = f"{answer.status} {code or ''}".strip()
    after = _seconds(asked)
    if answer.status < 400:
        return Fault(why, after=after, final=not ok)
    if answer.status >= 500 or not code:
        return Fault(why, after=after)
    refusal = errors.Refused(
        f"the approval service refused: {body.get('message')} ({code}). Tell the user.",
        id,
        str(code),
        answer.status,
        body,
    )
    # A quota ends in no time worth waiting for; a wait without a place is the waiter's to mend.
    final = answer.status != 429 or code in ("quota_exceeded", "too_many_waits")
    return Fault(why, after=after, refusal=refusal, final=final)


def _seconds(asked: object) -> Optional[float]:
    """Reads a Retry-After: seconds, or a date."""
    if isinstance(asked, bool) or not isinstance(asked, (str, int, float)) or not asked:
        return None
    try:
        seconds = float(asked)
    except ValueError:
        date = email.utils.parsedate_tz(str(asked))
        seconds = email.utils.mktime_tz(date) - time.time() if date else math.nan
    return seconds if 0 <= seconds < math.inf else None
