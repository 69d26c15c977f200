from __future__ import annotations

import functools
import inspect
import re
import urllib.parse
from typing import Any, Awaitable, Callable, Mapping, Optional, Sequence, TypeVar, cast

from . import _ask
from ._ask import Approval, Approved, Asked, AsyncApproved, AsyncOutcome, For, Found, Outcome, Question
from ._attachments import Attachment
from ._drive import drive, drive_async, over_http
from ._errors import Invalid
from ._guard import Attachments, Context, ForWords, Guard, Words
from ._send import Body, Call, Core, Peer, Transport, limits_of, send

Run = TypeVar("Run", bound=Callable[..., Any])
AsyncRun = TypeVar("AsyncRun", bound=Callable[..., Awaitable[Any]])


class _Client:
    """What both clients are made of. Opens no connection."""

    def __init__(
        self,
        url: str,
        key: str,
        *,
        allow_sandbox: bool = False,
        transport: Optional[Transport] = None,
        unreachable_after_seconds: float = 300,
        on_retry: Optional[Callable[[str, int], object]] = None,
    ) -> None:
        """
        :param url: the service's address, with its path if it has one
        :param key: an API key (``sa_…``)
        :param allow_sandbox: let the sandbox's decisions count. For tests only
        :param transport: your own, for a proxy or certificates; it follows no redirect
        :param unreachable_after_seconds: how long a call is repeated while the service is away
        :param on_retry: hears why a call is repeated, and in how many seconds
        :raises Invalid: for an address or a key that cannot be one
        """
        # A key with other characters cannot stand in a header, and the error would repeat it.
        address = isinstance(url, str) and re.fullmatch(r"https?://[^\s?#@]+", url)
        if not address or not isinstance(key, str) or not re.fullmatch(r"[\x21-\x7e]+", key):
            raise Invalid("the client needs `url`, like https://approvals.example.com, and `key`, an API key.")

        def heard(why: str, seconds: int) -> None:
            if on_retry:
                on_retry(why, seconds)

        self._peer = Peer(url.rstrip("/"), key, allow_sandbox is True, unreachable_after_seconds, heard)
        self._transport = transport or over_http

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._peer.url!r})"

    def _operation(
        self,
        operation: str,
        path: Optional[Mapping[str, object]],
        query: Optional[Mapping[str, object]],
        body: Optional[Mapping[str, Any]],
        idempotency_key: Optional[str],
        headers: Optional[Mapping[str, str]],
        within_seconds: Optional[float],
    ) -> Core[Body]:
        method, _, template = operation.partition(" ")
        values = {name: urllib.parse.quote(str(value), safe="") for name, value in (path or {}).items()}
        try:
            where = template.format_map(values)
        except (KeyError, ValueError, IndexError) as error:
            raise Invalid(f"the path of {operation!r} needs {error}.") from error
        given = {name: _spelt(value) for name, value in (query or {}).items() if value is not None}
        if given:
            where += "?" + urllib.parse.urlencode(given)
        call = Call(where, method, body, idempotency_key, headers or {}, timeout=75)
        return (yield from send(self._peer, limits_of(within_seconds), call))


def _spelt(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


class Countersign(_Client):
    """
    Lets a person approve what your agent is about to do. For asyncio, take `AsyncCountersign`.

    Every method raises the errors of this package (`CountersignError`); Ctrl-C ends a wait, and the request stays.
    """

    def ask(
        self,
        action: str,
        context: Optional[Mapping[str, Any]] = None,
        *,
        for_: For,
        attachments: Sequence[Attachment] = (),
        within_seconds: Optional[float] = None,
        ttl_seconds: Optional[int] = None,
        fields: Optional[Mapping[str, Any]] = None,
        on_asked: Optional[Callable[[Asked], object]] = None,
    ) -> Outcome:
        """
        Asks a person and waits for the outcome. Two asks of the same run, call, action and context are one request, also after a
        crash.

        :param action: in words, at most 500 characters: what a person approves
        :param context: the particulars; shown in full, and compared when the approval is used
        :param for_: the run and the call in it, as your program names them
        :param attachments: what is too long for the context; compared by hash when the approval is used
        :param within_seconds: how long to wait; then the outcome is `pending`. Without it, until the request is closed
        :param ttl_seconds: until the request expires, 60 to 604,800; the same for every ask of one run and call
        :param fields: further fields of the request, as in the service's reference
        :param on_asked: called once the request is there, before the wait: for which it costs a call more
        :raises Invalid, Sandbox, Refused, Unreachable, Mismatch:
        """
        question = Question(
            action,
            for_,
            {} if context is None else context,
            within_seconds,
            ttl_seconds,
            fields,
            on_asked,
            attachments,
        )
        return self._given(self._drive(_ask.ask(self._peer, question)))

    def resume(self, handle: str, *, within_seconds: Optional[float] = None) -> Outcome:
        """Waits for a request made earlier, by the ``resume`` of a pending outcome, by which a change is noticed, or by its id."""
        return self._given(self._drive(_ask.resume(self._peer, handle, within_seconds)))

    def guard(
        self,
        run: Run,
        *,
        action: Words,
        for_: ForWords,
        context: Optional[Context] = None,
        attachments: Optional[Attachments] = None,
        within_seconds: Optional[float] = None,
        ttl_seconds: Optional[int] = None,
        fields: Optional[Mapping[str, Any]] = None,
        on_asked: Optional[Callable[[Asked], object]] = None,
    ) -> Run:
        """
        Wraps a function so that it runs only after a person approved exactly these arguments, and once for each approval. The
        arguments are bound to the parameters and copied at the call; the copy is asked about, compared and passed on.

        :param action: ``"Refund {amount} to {customer}"``, or a function of the arguments
        :param for_: (run, call), each in such words or by a function; or one function that returns both
        :param context: the particulars shown instead of the arguments; the hash of the arguments goes along
        :param attachments: what is too long for the context; called before the question, and again before the use: what differs by
            then does not run
        """
        how = Question("", ("", ""), {}, within_seconds, ttl_seconds, fields, on_asked)
        return self._guarded(run, Guard(run, action, for_, context, attachments, how))

    def requires_approval(
        self,
        *,
        action: Words,
        run: Words,
        call: Words,
        context: Optional[Context] = None,
        attachments: Optional[Attachments] = None,
        within_seconds: Optional[float] = None,
        ttl_seconds: Optional[int] = None,
        fields: Optional[Mapping[str, Any]] = None,
        on_asked: Optional[Callable[[Asked], object]] = None,
    ) -> Callable[[Run], Run]:
        """``guard`` as a decorator, with ``for_=(run, call)``."""
        how = Question("", ("", ""), {}, within_seconds, ttl_seconds, fields, on_asked)
        return lambda function: self._guarded(
            function, Guard(function, action, (run, call), context, attachments, how)
        )

    def tool(
        self,
        name: str,
        execute: Run,
        *,
        for_: Callable[..., For],
        action: Optional[Callable[..., str]] = None,
        context: Optional[Context] = None,
        attachments: Optional[Attachments] = None,
        within_seconds: Optional[float] = None,
        ttl_seconds: Optional[int] = None,
        fields: Optional[Mapping[str, Any]] = None,
        on_asked: Optional[Callable[[Asked], object]] = None,
    ) -> Run:
        """The same for the tool of a model's host: ``execute(input, …)``. Only the input is the model's; the rest is passed on."""
        how = Question("", ("", ""), {}, within_seconds, ttl_seconds, fields, on_asked)
        return self._guarded(execute, Guard(execute, action, for_, context, attachments, how, name))

    def call(
        self,
        operation: str,
        *,
        path: Optional[Mapping[str, object]] = None,
        query: Optional[Mapping[str, object]] = None,
        body: Optional[Mapping[str, Any]] = None,
        idempotency_key: Optional[str] = None,
        headers: Optional[Mapping[str, str]] = None,
        within_seconds: Optional[float] = 60,
    ) -> Body:
        """Any other call of the service, by method and path as in its reference: ``"GET /api/v1/approvals"``."""
        core = self._operation(operation, path, query, body, idempotency_key, headers, within_seconds)
        answer: Body = self._drive(core)
        return answer

    def _drive(self, core: Core[Any]) -> Any:
        return drive(core, self._transport)

    def _given(self, found: Found) -> Outcome:
        if not isinstance(found, Approval):
            return found
        use = found.use
        return Approved(
            found.id,
            found.action,
            found.context,
            found.receipt,
            lambda within, attachments: self._drive(use(within, attachments)),
        )

    def _guarded(self, run: Run, guard: Guard) -> Run:
        if inspect.iscoroutinefunction(run):
            raise Invalid("an async function needs AsyncCountersign.")

        @functools.wraps(run)
        def guarded(*args: Any, **kwargs: Any) -> Any:
            held = guard.hold(args, kwargs)
            approval = _ask.insist(self._drive(_ask.ask(self._peer, guard.question(held))))
            self._drive(approval.use(None, guard.attachments(held)))
            given, named = held.arguments()
            return run(*given, **named)

        return cast(Run, guarded)


class AsyncCountersign(_Client):
    """`Countersign` for asyncio. Each call to the service has a thread of its own; a cancelled task ends it, and the request stays."""

    async def ask(
        self,
        action: str,
        context: Optional[Mapping[str, Any]] = None,
        *,
        for_: For,
        attachments: Sequence[Attachment] = (),
        within_seconds: Optional[float] = None,
        ttl_seconds: Optional[int] = None,
        fields: Optional[Mapping[str, Any]] = None,
        on_asked: Optional[Callable[[Asked], object]] = None,
    ) -> AsyncOutcome:
        """See `Countersign.ask`."""
        question = Question(
            action,
            for_,
            {} if context is None else context,
            within_seconds,
            ttl_seconds,
            fields,
            on_asked,
            attachments,
        )
        return self._given(await self._drive(_ask.ask(self._peer, question)))

    async def resume(self, handle: str, *, within_seconds: Optional[float] = None) -> AsyncOutcome:
        """See `Countersign.resume`."""
        return self._given(await self._drive(_ask.resume(self._peer, handle, within_seconds)))

    def guard(
        self,
        run: AsyncRun,
        *,
        action: Words,
        for_: ForWords,
        context: Optional[Context] = None,
        attachments: Optional[Attachments] = None,
        within_seconds: Optional[float] = None,
        ttl_seconds: Optional[int] = None,
        fields: Optional[Mapping[str, Any]] = None,
        on_asked: Optional[Callable[[Asked], object]] = None,
    ) -> AsyncRun:
        """See `Countersign.guard`."""
        how = Question("", ("", ""), {}, within_seconds, ttl_seconds, fields, on_asked)
        return self._guarded(run, Guard(run, action, for_, context, attachments, how))

    def requires_approval(
        self,
        *,
        action: Words,
        run: Words,
        call: Words,
        context: Optional[Context] = None,
        attachments: Optional[Attachments] = None,
        within_seconds: Optional[float] = None,
        ttl_seconds: Optional[int] = None,
        fields: Optional[Mapping[str, Any]] = None,
        on_asked: Optional[Callable[[Asked], object]] = None,
    ) -> Callable[[AsyncRun], AsyncRun]:
        """See `Countersign.requires_approval`."""
        how = Question("", ("", ""), {}, within_seconds, ttl_seconds, fields, on_asked)
        return lambda function: self._guarded(
            function, Guard(function, action, (run, call), context, attachments, how)
        )

    def tool(
        self,
        name: str,
        execute: AsyncRun,
        *,
        for_: Callable[..., For],
        action: Optional[Callable[..., str]] = None,
        context: Optional[Context] = None,
        attachments: Optional[Attachments] = None,
        within_seconds: Optional[float] = None,
        ttl_seconds: Optional[int] = None,
        fields: Optional[Mapping[str, Any]] = None,
        on_asked: Optional[Callable[[Asked], object]] = None,
    ) -> AsyncRun:
        """See `Countersign.tool`."""
        how = Question("", ("", ""), {}, within_seconds, ttl_seconds, fields, on_asked)
        return self._guarded(execute, Guard(execute, action, for_, context, attachments, how, name))

    async def call(
        self,
        operation: str,
        *,
        path: Optional[Mapping[str, object]] = None,
        query: Optional[Mapping[str, object]] = None,
        body: Optional[Mapping[str, Any]] = None,
        idempotency_key: Optional[str] = None,
        headers: Optional[Mapping[str, str]] = None,
        within_seconds: Optional[float] = 60,
    ) -> Body:
        """See `Countersign.call`."""
        core = self._operation(operation, path, query, body, idempotency_key, headers, within_seconds)
        answer: Body = await self._drive(core)
        return answer

    async def _drive(self, core: Core[Any]) -> Any:
        return await drive_async(core, self._transport)

    def _given(self, found: Found) -> AsyncOutcome:
        if not isinstance(found, Approval):
            return found
        use = found.use
        return AsyncApproved(
            found.id,
            found.action,
            found.context,
            found.receipt,
            lambda within, attachments: self._drive(use(within, attachments)),
        )

    def _guarded(self, run: AsyncRun, guard: Guard) -> AsyncRun:
        @functools.wraps(run)
        async def guarded(*args: Any, **kwargs: Any) -> Any:
            held = guard.hold(args, kwargs)
            approval = _ask.insist(await self._drive(_ask.ask(self._peer, guard.question(held))))
            await self._drive(approval.use(None, guard.attachments(held)))
            given, named = held.arguments()
            result = run(*given, **named)
            return await result if inspect.isawaitable(result) else result

        return cast(AsyncRun, guarded)
